"""The Lineage in force: applied as a whole, versioned; what an open block was cut by does not change under it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from dwh_assets.control.claim_set import ClaimSet, KnownModules
from dwh_assets.control.database import Database
from dwh_assets.model.errors import LineageError
from dwh_assets.model.module import Lineage, SourceTable
from dwh_assets.model.parameter import Parameter
from tests.control.small import MODULE, SOURCE, TOPIC, Store, at, changed, ready, wait_for_a_waiter


def test_each_change_is_a_version_with_who_and_what(database: Database) -> None:
    store = ready(database)
    changes = store.apply(changed(maxstep=5, comment="smaller"))
    assert [(c.kind, c.name, [field for field, _, _ in c.fields]) for c in changes] == [("change", TOPIC, ["comment", "maxstep"])]
    assert store.apply(changed(maxstep=5, comment="smaller")) == []
    history = store.lineage.history(TOPIC)
    assert [(h["version"], h["changed_by"], h["spec"]["maxstep"]) for h in history] == [(2, "ann", 5), (1, "ann", 1_000_000)]
    assert store.lineage.active().module(TOPIC).maxstep == 5
    assert store.events("LINEAGE")[-1]["text"] == "change module fact.sales; comment; maxstep"


def test_parameters_are_put_in_force_with_the_modules_and_each_value_is_kept(database: Database) -> None:
    store = ready(database)
    own = changed(parameters=(Parameter("least", "integer", "3"),))
    version = store.lineage.version()
    for value in ("EU", "US"):
        everywhere = (Parameter("region", "text", value, "where we sell"),)
        changes = store.lineage.apply(Lineage((own,), (SOURCE,), parameters=everywhere), "ann")
        assert store.lineage.active().parameters == everywhere
    assert [(c.kind, c.what, c.name, c.fields) for c in changes] == [("change", "parameter", "region", (("value", "EU", "US"),))]
    assert store.lineage.active().module(TOPIC).parameters == own.parameters
    kept = database.fetch("select name, module, value from dwh.parameter order by name")
    assert [(row["name"], row["module"], row["value"]) for row in kept] == [("least", TOPIC, "3"), ("region", None, "US")]
    store.apply(own)
    assert store.lineage.active().parameters == ()
    values = database.fetch("select value, changed_by from dwh.parameter_version order by id")
    assert [(row["value"], row["changed_by"]) for row in values] == [("EU", "ann"), ("US", "ann"), (None, "ann")]
    assert store.lineage.version() == version + 4
    assert store.events("LINEAGE")[-1]["text"] == "remove parameter region"


def test_a_removed_file_switches_its_module_off_and_keeps_its_history_and_cursor(database: Database) -> None:
    store = ready(database, 1)
    store.load()
    store.apply()
    assert store.lineage.active().modules == ()
    assert store.topics.verdicts([TOPIC])[0]["verdict"] == "INACTIVE"
    assert [h["spec"] is None for h in store.lineage.history(TOPIC)] == [True, False]
    store.apply(MODULE)
    assert store.topics.verdicts([TOPIC])[0]["verdict"] != "INACTIVE"
    assert store.topic()["last_pos"] == at(1)
    assert store.lineage.history(TOPIC)[0]["version"] == 3


PINNED = [
    {"depends_on": ("src.other",)},
    {"position": ("at", "number")},
    {"shards": ("north",), "shard_by": "k"},
]


@pytest.mark.parametrize("fields", PINNED)
def test_what_an_open_block_was_cut_by_cannot_change_while_it_is_open(database: Database, fields: dict[str, object]) -> None:
    store = ready(database, 1)
    store.load()
    store.plan(2)
    both = (SOURCE, SourceTable("src.other", "iceberg"))
    claim = store.claims().claim(TOPIC)
    with pytest.raises(LineageError, match=r"cannot change while block #\d+ of fact.sales is open"):
        store.apply(changed(**fields), sources=both)
    assert store.lineage.active().module(TOPIC) == MODULE
    assert store.apply(changed(maxstep=7), sources=both)
    store.commit(claim)
    assert store.apply(changed(**fields), sources=both)


def test_an_apply_waits_for_a_claim_that_is_about_to_open_a_block(database: Database) -> None:
    store = ready(database, 1)
    both = (SOURCE, SourceTable("src.other", "iceberg"))
    with ThreadPoolExecutor(1) as pool:
        with database.transaction() as connection:
            connection.execute("select from dwh.topic for update")
            ClaimSet(connection, "w1", 60, KnownModules()).claim([store.topic()["id"]], {}, False)
            waiting = pool.submit(store.apply, changed(depends_on=("src.other",)), sources=both)
            wait_for_a_waiter(database)
        with pytest.raises(LineageError, match=r"cannot change while block #\d+ of fact.sales is open"):
            waiting.result(timeout=20)
    assert store.lineage.active().module(TOPIC) == MODULE


def test_another_dependency_may_come_while_a_block_is_open_if_the_base_stays(database: Database) -> None:
    store = ready(database, 1)
    store.claims().claim(TOPIC)
    wider = changed(depends_on=("src.sales", "src.other"))
    assert store.apply(wider, sources=(SOURCE, SourceTable("src.other", "iceberg")))
    assert store.topics.verdicts([TOPIC])[0]["verdict"] == "LOCKED"


def test_shards_have_a_cursor_each_and_one_that_is_taken_away_stops(database: Database) -> None:
    store = Store(database)
    store.apply(changed(shards=("north", "south"), shard_by="k"))
    assert sorted(v["topic"] for v in store.topics.verdicts()) == ["fact.sales:north", "fact.sales:south"]
    store.apply(changed(shards=("north", "west"), shard_by="k"))
    found = {v["topic"]: v["verdict"] for v in store.topics.verdicts()}
    assert found == {
        "fact.sales:north": "DEP_UNKNOWN",
        "fact.sales:south": "INACTIVE",
        "fact.sales:west": "DEP_UNKNOWN",
    }


def test_sources_are_registered_changed_and_forgotten_without_losing_what_was_seen(database: Database) -> None:
    store = ready(database)
    changes = store.apply(MODULE, sources=(SourceTable("src.sales", "iceberg", idle_after=timedelta(minutes=5)),))
    assert [(c.kind, c.what) for c in changes] == [("change", "source")]
    (seen,) = database.fetch("select watermark, idle_after, active from dwh.source")
    assert (seen["watermark"], seen["idle_after"], seen["active"]) == (at(100), timedelta(minutes=5), True)
    store.apply(sources=())
    assert store.lineage.active().sources == ()
    assert database.fetch("select active, removed from dwh.source") == [{"active": False, "removed": True}]


def test_the_start_of_a_module_is_its_first_cursor_and_a_later_start_moves_nothing(database: Database) -> None:
    store = Store(database)
    store.apply(changed(start=at(3).isoformat()))
    assert (store.topic()["last_pos"], store.topic()["watermark"] < at(3)) == (at(3), True)
    store.apply(changed(start="earliest"))
    assert store.topic()["last_pos"] == at(3)
