"""Jobs of maintenance in the control store: one at a time, and nothing is expired that anyone needs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dwh_assets.control.database import Database
from dwh_assets.control.maintenance import MaintenanceStore
from dwh_assets.model.errors import LeaseLost, PointerTaken
from tests.control.small import MODULE, TOPIC, Store, at, changed, ready

KEEP = timedelta(hours=1)
READER = changed(name="fact.after", table="fact.after", depends_on=(TOPIC,))


@pytest.fixture
def world(database: Database) -> Store:
    """Three committed blocks, long ago, and nobody who reads them."""
    store = ready(database, 1, 2, 3)
    for _ in range(3):
        store.load()
    return store


def _store(world: Store, worker: str = "w1") -> MaintenanceStore:
    return MaintenanceStore(world.database, worker, 60)


def _old(world: Store, keep: timedelta = KEEP) -> list[int]:
    return [block["seq"] for block in _store(world).to_expire(TOPIC, TOPIC, keep).blocks]


def _read(world: Store, hours: float) -> None:
    """The reader's cursor is there."""
    move = "update dwh.topic set last_pos = %(pos)s, last_id = 0, watermark = %(pos)s where name = 'fact.after'"
    world.database.execute(move, pos=at(hours))


def _lose(world: Store) -> None:
    world.database.execute("update dwh.maintenance set lease_until = now() - interval '1 second' where ended_at is null")


def test_one_process_at_a_time_does_a_task_to_a_table(world: Store) -> None:
    first = _store(world).begin("compact", TOPIC)
    assert first is not None
    assert _store(world, "w2").begin("compact", TOPIC) is None
    assert _store(world, "w2").begin("keep", TOPIC) is not None
    _store(world).end(first, "done", {"files": 3}, "")
    assert _store(world, "w2").begin("compact", TOPIC) is not None


def test_a_job_that_was_ended_as_lost_publishes_nothing(world: Store) -> None:
    lost = _store(world).begin("keep", TOPIC)
    assert lost is not None
    _lose(world)
    later = _store(world, "w2").begin("keep", TOPIC)
    assert later is not None
    assert _store(world).live_branches() == {later.branch}
    assert not _store(world).renew(lost)
    expiry = _store(world).to_expire(TOPIC, TOPIC, KEEP)
    with pytest.raises(LeaseLost, match="ended as lost"):
        _store(world).publish(lost, None, expiry)
    assert _old(world) == [1, 2, 3]


def test_blocks_expire_when_they_end_before_the_horizon(world: Store) -> None:
    assert _old(world) == [1, 2, 3]
    assert _old(world, timedelta(days=10_000)) == []
    row = world.database.fetch_one("select now() as now")
    assert row is not None
    assert _old(world, row["now"] - at(1.5)) == [1]


@pytest.mark.parametrize(("hours", "old"), [(0, []), (1, []), (2, [1]), (2.5, [1, 2]), (50, [1, 2, 3])])
def test_no_block_expires_that_a_reader_has_not_passed(world: Store, hours: float, old: list[int]) -> None:
    world.apply(MODULE, READER)
    assert _old(world) == [], "the reader has no cursor, or has read nothing yet"
    _read(world, hours)
    assert _old(world) == old


@pytest.mark.parametrize("state", ["status = 'stale'", "late_rows = 1"])
def test_no_block_expires_that_is_to_be_built_anew(world: Store, state: str) -> None:
    world.database.execute(f"update dwh.block set {state} where seq = 2".encode())
    assert _old(world) == [], "the one before ends where it begins"
    world.database.execute(b"update dwh.block set status = 'committed', late_rows = 0 where seq = 2")
    world.acts.ask_restatement(TOPIC, 3, 3, "restate", "a test")
    assert _old(world) == [1]


def test_an_expiry_is_refused_when_a_block_is_needed_again_meanwhile(world: Store) -> None:
    store = _store(world)
    job, expiry = store.begin("keep", TOPIC), store.to_expire(TOPIC, TOPIC, KEEP)
    assert job is not None
    world.acts.ask_restatement(TOPIC, 3, 3, "restate", "a test")
    with pytest.raises(PointerTaken, match="needed again"):
        store.publish(job, None, expiry)
    assert _old(world) == [1]
    store.publish(job, None, store.to_expire(TOPIC, TOPIC, KEEP))
    assert _old(world) == []
    assert [event["text"] for event in world.events("EXPIRED")] == [
        "10 rows of 1 blocks, 1 to 1, were kept long enough and are gone"
    ]


def test_an_expired_block_is_neither_made_stale_nor_restated_but_can_be_rolled_back(world: Store) -> None:
    store = _store(world)
    job = store.begin("keep", TOPIC)
    assert job is not None
    store.publish(job, None, store.to_expire(TOPIC, TOPIC, KEEP, limit=2))
    blocks = world.topics.blocks(world.topic()["id"], 1, 3)
    assert [block.seq for block in blocks] == [3]
    world.acts.ask_restatement(TOPIC, 1, 3, "rollback", "a test")
    assert [block.seq for block in world.claims().claim(TOPIC, force=True).blocks] == [1, 2, 3]
