"""Plans: stored behind the tail they were cut from, or not at all; blocks that do not tile are refused by the database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest

from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql
from dwh_assets.control.topics import PlannedBlock, insert_block
from dwh_assets.model.position import EARLIEST, Position
from tests.control.small import TOPIC, at, ready, wait_for_a_waiter


def test_a_plan_is_refused_when_another_plan_came_first(database: Database) -> None:
    store = ready(database)
    state = store.state()
    assert store.plan(1, 2, state=state)
    assert not store.plan(1.5, state=state)
    assert store.blocks() == [(0, "committed"), (1, "planned"), (2, "planned")]
    assert store.state().tail == Position(at(2), 0)


def test_a_plan_that_waited_for_another_one_sees_its_blocks(database: Database) -> None:
    store = ready(database)
    state, topic_id = store.state(), store.topic()["id"]
    with ThreadPoolExecutor(1) as pool:
        with database.transaction() as connection:
            connection.execute("select from dwh.topic for update")
            insert_block(connection, topic_id, 1, state.tail, PlannedBlock(Position(at(1), 0), 10, True), at(100))
            waiting = pool.submit(store.plan, 1.5, state=state)
            wait_for_a_waiter(database)
        assert not waiting.result(timeout=20)
    assert store.blocks() == [(0, "committed"), (1, "planned")]


def test_a_plan_is_refused_when_the_token_rose_since_it_was_cut(database: Database) -> None:
    store = ready(database)
    state = store.state()
    store.acts.unlock(TOPIC, "a test")
    assert not store.plan(1, state=state)
    assert store.blocks() == [(0, "committed")]


def test_a_plan_is_refused_when_its_tail_was_rolled_back(database: Database) -> None:
    store = ready(database, 1, 2)
    state = store.state()
    database.execute(sql("drop_planned_blocks"), topic_id=store.topic()["id"])
    assert not store.plan(3, state=state)


def test_an_empty_plan_moves_the_watermark_of_a_topic_with_nothing_left_to_load(database: Database) -> None:
    store = ready(database)
    assert store.topics.store_plan(store.topic()["id"], store.state(), [], at(5), at(5))
    assert store.topic()["watermark"] == at(5)
    store.plan(7)
    store.topics.store_plan(store.topic()["id"], store.state(), [], at(9), at(9))
    assert store.topic()["watermark"] == at(5)


def test_a_failed_plan_holds_the_topic_back_longer_each_time_and_is_told_once_each(database: Database) -> None:
    store = ready(database)
    database.execute("update dwh.module set backoff = '1min'")
    for wait in (1, 2, 4):
        verdict = store.topics.verdicts([TOPIC])[0]
        store.topics.fail_plan(verdict, "the base is away", "w1")
        row = store.topic()
        now = database.fetch("select clock_timestamp() as now")[0]["now"]
        assert timedelta(minutes=wait) - timedelta(seconds=20) < row["not_before"] - now <= timedelta(minutes=wait)
    assert store.topics.verdicts([TOPIC])[0]["verdict"] == "BACKOFF"
    assert len(store.events("PLAN")) == 3


BLOCK = """insert into dwh.block (topic_id, seq, last_pos, last_id, next_pos, next_id, kind, status, upto, takes_all)
values (%(topic)s, %(seq)s, %(last)s, 0, %(next)s, 0, 'load', 'planned', now(), true)"""


@pytest.mark.parametrize(
    ("seq", "last", "next_", "error"),
    [
        (2, 1.5, 3, psycopg.errors.ForeignKeyViolation),  # a gap
        (2, 0.5, 3, psycopg.errors.ForeignKeyViolation),  # an overlap
        (1, 1, 3, psycopg.errors.UniqueViolation),  # a number that is taken
        (2, 1, 1, psycopg.errors.CheckViolation),  # nothing between its ends
        (2, 2, 1, psycopg.errors.CheckViolation),  # backwards
    ],
)
def test_the_database_refuses_a_block_that_does_not_tile(
    database: Database, seq: int, last: float, next_: float, error: type[Exception]
) -> None:
    store = ready(database, 1)
    with pytest.raises(error):
        database.execute(BLOCK, topic=store.topic()["id"], seq=seq, last=at(last), next=at(next_))


def test_the_database_refuses_two_blocks_with_one_beginning(database: Database) -> None:
    """They would both follow block 1: the second shares its end with nobody, but not its number."""
    store = ready(database, 1, 2)
    with pytest.raises(psycopg.errors.UniqueViolation):
        database.execute(BLOCK, topic=store.topic()["id"], seq=2, last=at(1), next=at(3))


def test_the_database_refuses_a_second_open_block_of_a_topic(database: Database) -> None:
    ready(database, 1, 2)
    with pytest.raises(psycopg.errors.UniqueViolation):
        database.execute("update dwh.block set status = 'open' where seq > 0")


def test_many_blocks_are_planned_in_one_transaction_or_none(database: Database) -> None:
    store = ready(database)
    wrong = [PlannedBlock(Position(at(1), 0), 1, False), PlannedBlock(EARLIEST, 1, True)]
    with pytest.raises(psycopg.errors.CheckViolation):
        store.topics.store_plan(store.topic()["id"], store.state(), wrong, at(9), at(9))
    assert store.blocks() == [(0, "committed")]
