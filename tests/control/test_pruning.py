"""Pruning of the control store: old records go in batches, what is referred to stays."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dwh_assets.control import pruning
from dwh_assets.control.database import Database
from dwh_assets.control.pruning import EVENTS, HISTORY, PruneStore
from tests.control.small import TOPIC, ready

OLD = timedelta(days=100)
_FAILED = """
insert into dwh.execution (topic_id, attempt, token, worker, module_version, execution_code, processing_code, next_run_code,
                           started_at, ended_at)
select id, n, 0, 'w', 1, 'Aborted', 'Abort', 'Proceed', now() - %(age)s, now() - %(age)s from dwh.topic, generate_series(1, 30) n
"""
_OTHERS = (
    "insert into dwh.event_log (at, kind, code, who, text) values (now() - %(age)s, 'process', 'X', 'w', 'x')",
    "insert into dwh.alert (kind, key, severity, text, raised_at, resolved_at)"
    " values ('behind', 'over', 'warn', 'x', now() - %(age)s, now() - %(age)s)",
    "insert into dwh.alert (kind, key, severity, text, raised_at) values ('behind', 'open', 'warn', 'x', now() - %(age)s)",
    "insert into dwh.worker (id, started_at, seen_at)"
    " values (gen_random_uuid(), now() - %(age)s, now() - %(age)s), (gen_random_uuid(), now(), now())",
    "insert into dwh.request (kind, name, ended_at) values ('dagster', 'r', now() - %(age)s)",
    "insert into dwh.assignment (request_id, worker, status, finished_at)"
    " select r.id, w.id, 'FINISHED', r.ended_at from dwh.request r, dwh.worker w where w.seen_at < r.ended_at + interval '1 s'",
    "insert into dwh.maintenance (task, worker, started_at, ended_at, result)"
    " values ('keep', 'w', now() - %(age)s, now() - %(age)s, 'done')",
)


@pytest.fixture
def store(database: Database) -> PruneStore:
    ready(database, 1, 2, 3)
    for statement in (_FAILED, *_OTHERS):
        database.execute(statement, age=OLD)
    return PruneStore(database)


def _prune(store: PruneStore, rehearsal: bool = False, days: float = 90) -> dict[str, int]:
    before = store.database.clock() - timedelta(days=days)
    return {kind: store.prune(kind, before, rehearsal) for kind in (*HISTORY, EVENTS)}


def _count(database: Database, table: str) -> int:
    (row,) = database.fetch(f"select count(*) as n from dwh.{table}".encode())
    return row["n"]


def test_old_records_go_and_the_newest_attempts_and_open_alerts_stay(
    database: Database, store: PruneStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "BATCH", 4)
    found = _prune(store)
    assert found == {
        "executions": 10, "blocks": 0, "alerts": 1, "requests": 1, "workers": 1, "batch_instances": 0, "maintenance": 1,
        "events": 1,
    }  # fmt: skip
    assert (_count(database, "execution"), _count(database, "alert"), _count(database, "worker")) == (20, 1, 1)
    assert not any(_prune(store).values())


def test_a_rehearsal_counts_and_deletes_nothing(database: Database, store: PruneStore) -> None:
    assert _prune(store, rehearsal=True)["executions"] == 10
    assert _count(database, "execution") == 30


def test_what_is_younger_stays(store: PruneStore) -> None:
    assert not any(_prune(store, days=110).values())


def test_attempts_that_loaded_a_block_and_those_at_an_unfinished_one_stay(database: Database) -> None:
    world = ready(database, 1, 2, 3)
    world.load()
    world.claims().fail(world.claims().claim(TOPIC), "a test", counts=False)
    database.execute(_FAILED, age=timedelta())
    database.execute("update dwh.execution set ended_at = now() - %(age)s", age=OLD)
    kept = "select id from dwh.execution where block_id is not null"
    before = database.fetch(kept)
    assert len(before) == 2
    assert _prune(PruneStore(database))["executions"] == 10
    assert database.fetch(kept) == before


def test_a_void_block_goes_unless_it_was_committed_once(database: Database) -> None:
    world = ready(database, 1, 2, 3)
    world.load()
    database.execute(
        "update dwh.block set planned_at = now() - %(age)s, status = case when seq > 0 then 'void' else status end", age=OLD
    )
    assert _prune(PruneStore(database))["blocks"] == 2
    assert world.blocks() == [(0, "committed"), (1, "void")]
