"""The commit: all of it or nothing, and only by the rightful holder, once, on inputs that are still what was read."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from dwh_assets.control.claim_set import ClaimSet, KnownModules
from dwh_assets.control.database import Database
from dwh_assets.model.block import BlockStats, RowCounts
from dwh_assets.model.errors import InputsChanged, LeaseLost, PointerTaken
from dwh_assets.model.position import MICROSECOND, Position
from tests.control.small import TOPIC, Store, at, changed, ready, wait_for_a_waiter


def test_a_commit_moves_the_cursor_and_closes_block_execution_and_lease_together(database: Database) -> None:
    store = ready(database, 1, 2)
    store.load()
    topic = store.topic()
    assert (topic["last_pos"], topic["last_id"], topic["lease_worker"], topic["last_full"]) == (at(1), 0, None, True)
    assert topic["watermark"] == at(1) - MICROSECOND
    store.load()
    assert (store.topic()["watermark"], store.topic()["last_full"]) == (at(100), False)
    assert [e["execution_code"] for e in store.executions()] == ["Succeeded", "Succeeded"]
    assert store.blocks() == [(0, "committed"), (1, "committed"), (2, "committed")]
    assert store.topic()["rows_per_second"] == 10


def test_the_holder_cannot_commit_twice(database: Database) -> None:
    store = ready(database, 1, 2)
    claim = store.load()
    with pytest.raises(LeaseLost):
        store.commit(claim)
    assert store.topic()["last_pos"] == at(1)


def test_a_superseded_holder_commits_nothing(database: Database) -> None:
    store = ready(database, 1)
    claim = store.claims().claim(TOPIC)
    store.acts.unlock(TOPIC, "a test")
    with pytest.raises(LeaseLost, match="Nothing was published by this attempt"):
        store.commit(claim)
    assert store.blocks()[1] == (1, "open")


def test_a_commit_that_waited_while_its_attempt_was_ended_publishes_nothing(database: Database) -> None:
    """A claim ends the attempt of a worker that is late, and parks the block: so nobody else gets a higher token."""
    store = ready(database, 1)
    late = store.claims("w1").claim(TOPIC)
    store.expire()
    database.execute("update dwh.block set crashes = 1000 where seq = 1")
    with ThreadPoolExecutor(1) as pool:
        with database.transaction() as connection:
            connection.execute("select from dwh.topic for update")
            ClaimSet(connection, "w2", 60, KnownModules()).claim([late.topic_id], {}, False)
            waiting = pool.submit(store.commit, late)
            wait_for_a_waiter(database)
        with pytest.raises(LeaseLost):
            waiting.result(timeout=20)
    assert store.blocks()[1] == (1, "parked")
    assert [e["execution_code"] for e in store.executions()] == ["Failed"]
    assert not store.claims("w1").renew(late)


def test_a_commit_that_waited_while_its_attempt_said_that_it_failed_publishes_nothing(database: Database) -> None:
    """The token is still its own: only what is read after the wait tells."""
    store = ready(database, 1)
    claim = store.claims().claim(TOPIC)
    with ThreadPoolExecutor(1) as pool:
        with database.transaction() as connection:
            connection.execute("select from dwh.topic for update")
            connection.execute("update dwh.execution set execution_code = 'Failed', ended_at = now()")
            waiting = pool.submit(store.commit, claim)
            wait_for_a_waiter(database)
        with pytest.raises(LeaseLost):
            waiting.result(timeout=20)
    assert store.blocks()[1] == (1, "open")


@dataclass(frozen=True)
class Wrong:
    namespace: str = "fact"
    name: str = "sales"
    old_location: str = "not what it is"
    new_location: str = "new"


def test_a_pointer_that_was_taken_undoes_the_whole_commit(database: Database) -> None:
    store = ready(database, 1)
    claim = store.claims().claim(TOPIC)
    stats = [BlockStats(claim.block.id, 1, 1, 1, seconds=1.0)]
    with pytest.raises(PointerTaken, match=r"fact.sales was published to by another writer"):
        store.commits.commit(claim, [Wrong()], stats, RowCounts())
    assert store.topic()["last_pos"] < at(1)
    store.commit(claim)


def test_a_table_that_another_topic_replaces_is_waited_for(database: Database) -> None:
    store = Store(database)
    web, shop = (changed(name=f"fact.sales#{tag}", tag=tag) for tag in ("web", "shop"))
    store.apply(web, shop)
    store.observe()
    for name in (web.name, shop.name):
        store.plan(1, name=name)
    holder, other = store.claims("w1").claim(web.name), store.claims("w2").claim(shop.name)
    assert store.claims("w1").take_table(holder)
    assert not store.claims("w2").take_table(other)
    with pytest.raises(PointerTaken, match=r"another topic is replacing rows of fact.sales"):
        store.commit(other)
    store.commit(holder)
    store.commit(other)


def downstream(database: Database) -> Store:
    store = Store(database)
    store.apply(
        changed(),
        changed(name="mart.a", table="mart.a", depends_on=(TOPIC,)),
        changed(name="mart.b", table="mart.b", depends_on=("mart.a",)),
    )
    store.observe()
    store.plan(1, 2, 3)
    for _ in range(3):
        store.load()
    for name in ("mart.a", "mart.b"):
        store.plan(1, 2, 3, name=name)
        for _ in range(3):
            store.load(name)
    return store


def test_an_input_that_is_restated_meanwhile_fails_the_commit(database: Database) -> None:
    store = downstream(database)
    store.plan(4, name="mart.a")
    running = store.claims("w9").claim("mart.a", force=True)
    store.acts.ask_restatement(TOPIC, 2, 2, "restate", "a test")
    store.load()
    with pytest.raises(InputsChanged, match=r"fact.sales was rolled back or restated while this attempt ran"):
        store.commit(running)


def test_a_restatement_leaves_the_cursor_and_marks_what_was_built_upon_it_stale_recursively(database: Database) -> None:
    store = downstream(database)
    cursor = store.topic()["last_pos"]
    store.acts.ask_restatement(TOPIC, 3, 3, "restate", "a test")
    claim = store.load()
    assert (claim.kind, [b.seq for b in claim.blocks]) == ("restate", [3])
    assert store.topic()["last_pos"] == cursor
    for name in ("mart.a", "mart.b"):
        assert store.blocks(name)[-1] == (3, "stale")
    assert "mart.b #" in store.events("STALE")[0]["text"]
    assert store.blocks()[-1] == (3, "committed")


def test_rows_that_come_after_their_topic_was_complete_make_stale_what_was_built_without_them(database: Database) -> None:
    store = downstream(database)
    store.plan(4, name="mart.a")
    store.load("mart.a")
    assert store.topic()["watermark"] == at(100)
    store.plan(4)
    store.load()
    assert store.blocks("mart.a")[-1] == (4, "stale")
    assert store.blocks("mart.a")[1] == (1, "committed")


def test_rows_that_come_in_time_make_nothing_stale(database: Database) -> None:
    store = downstream(database)
    store.observe(200)
    store.plan(101)
    store.load()
    assert {status for _, status in store.blocks("mart.a")} == {"committed"}


def test_a_rollback_takes_the_cursor_back_with_the_blocks(database: Database) -> None:
    store = downstream(database)
    store.acts.ask_restatement(TOPIC, 2, 3, "rollback", "a test")
    store.load()
    topic = store.topic()
    assert Position(topic["last_pos"], int(topic["last_id"])) == Position(at(1), 0)
    assert topic["watermark"] == at(1) - MICROSECOND
    assert store.blocks() == [(0, "committed"), (1, "committed"), (2, "void"), (3, "void")]
    assert ("mart.a", (2, "stale")) in [("mart.a", block) for block in store.blocks("mart.a")]
    store.plan(5)
    assert store.blocks()[-1] == (2, "planned")
