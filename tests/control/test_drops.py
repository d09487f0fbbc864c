"""Dropping a table: refused while somebody needs it, one transaction, and its topic begins anew if its file comes back."""

from __future__ import annotations

import pytest

from dwh_assets.control.database import Database
from dwh_assets.control.drops import DropStore
from dwh_assets.model.errors import ActRefused, LeaseLost
from dwh_assets.model.module import Module
from tests.control.small import MODULE, TOPIC, Store, changed, ready

READER = Module(name="mart.a", table="mart.a", depends_on=(TOPIC,), transforms=("a.sql",))


@pytest.fixture
def loaded(database: Database) -> Store:
    store = ready(database, 1, 2, 3)
    store.load()
    store.load()
    database.execute("insert into iceberg.iceberg_tables values ('dwh', 'fact', 'sales', 'm', null, 'TABLE')")
    return store


def dropped(store: Store, reason: str = "not needed") -> list[str]:
    return DropStore(store.database).drop(TOPIC, [TOPIC], "ann", reason)


def test_a_table_that_is_built_or_read_is_refused_and_whoever_stands_in_the_way_is_named(loaded: Store) -> None:
    with pytest.raises(ActRefused, match=r"still built by fact\.sales"):
        dropped(loaded)
    loaded.apply(changed(active=False), READER)
    with pytest.raises(ActRefused, match=r"mart\.a depends on fact\.sales"):
        dropped(loaded)
    loaded.apply(changed(active=False), changed(name="mart.b", table="mart.b", reads=(TOPIC,)))
    with pytest.raises(ActRefused, match=r"mart\.b depends on fact\.sales"):
        dropped(loaded)
    with pytest.raises(ActRefused, match="say why"):
        dropped(loaded, " ")
    assert loaded.blocks()[1:3] == [(1, "committed"), (2, "committed")]
    assert loaded.events("DROP") == []


def test_a_topic_that_is_being_loaded_is_refused_until_its_worker_is_gone_and_that_one_changes_nothing(loaded: Store) -> None:
    held = loaded.claims().claim(TOPIC)
    loaded.apply()
    with pytest.raises(ActRefused, match="is being loaded by worker w1"):
        dropped(loaded)
    loaded.expire()
    assert dropped(loaded) == [TOPIC]
    with pytest.raises(LeaseLost):
        loaded.commit(held)


def test_a_dropped_table_is_out_of_the_catalog_its_blocks_are_history_and_its_topic_begins_anew(loaded: Store) -> None:
    loaded.apply()
    assert dropped(loaded) == [TOPIC]
    assert {status for _, status in loaded.blocks()} == {"void"}
    (event,) = loaded.events("DROP")
    assert (event["kind"], event["who"]) == ("act", "ann")
    assert event["text"].endswith("with 2 blocks: not needed")
    assert loaded.database.fetch("select * from iceberg.iceberg_tables") == []
    assert loaded.topic()["last_pos"] is None
    assert dropped(loaded, "again") == []
    loaded.apply(MODULE)
    assert loaded.plan(1, 2)
    assert loaded.load().block.seq == 1
