"""What ticks, workers, commits, the manager and people's pages ask again and again goes by indexes, however much there is."""

from __future__ import annotations

import pytest

from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql
from tests.control.many_topics import Size, fill
from tests.control.test_verdict import generic_plan_of

LARGE = {"topic", "block", "execution", "load_stat", "event_log", "message", "request", "assignment"}
HISTORY = (
    """insert into dwh.execution (topic_id, block_id, attempt, token, worker, module_version, execution_code, processing_code,
                               next_run_code, started_at, ended_at, reported_at)
    select topic_id, id, 1, 0, 'w', 1, 'Succeeded', 'Proceed', 'Proceed', next_pos, next_pos, next_pos
    from dwh.block where seq between 2 and 18""",
    """insert into dwh.load_stat (block_id, topic_id, execution_id, loaded_at, rows, seconds)
    select block_id, topic_id, id, ended_at, 10, 1 from dwh.execution""",
    """insert into dwh.event_log (at, kind, code, topic, who, text)
    select now() - n * interval '10 seconds', 'process', 'FAILED', 'big.t' || n % 100 || ':1', 'w', 'it failed'
    from generate_series(1, 40000) n""",
    "insert into dwh.message (topic, body) select 'ems.progress', '{}' from generate_series(1, 20000)",
    "insert into dwh.request (kind, name, ended_at) select 'topic', 'big.t' || n, now() from generate_series(1, 20000) n",
    "insert into dwh.worker (id) select gen_random_uuid() from generate_series(1, 10)",
    """insert into dwh.assignment (request_id, worker, status, finished_at)
    select r.id, w.id, 'FINISHED', now() from dwh.request r, lateral (select id from dwh.worker offset r.id % 10 limit 1) w""",
    "analyze",
)
COMMIT = ("guard_commit", "move_cursor", "commit_block", "succeed_execution", "store_stats", "release_table_lease")
LEASE = ("renew_lease", "take_table_lease")
MANAGER = ("assign_request", "requests_wait", "requests_come_before", "lose_assignments")
BUS = ("messages_after", "newest_message", "reader_position")
DAGSTER = ("due_partitions", "partitions_of_module", "partitions_by_number", "unreported_executions", "execution_to_report")
PAGES = ("report_blocks", "report_executions", "report_events", "executions_ended", "stale_blocks", "raise_parked")
PRUNING = ("prune_blocks",)


@pytest.fixture(scope="module")
def long_history(module_database: Database) -> Database:
    """2,000 topics with 40,000 blocks, an attempt and statistics each, 40,000 events, 20,000 messages and requests."""
    fill(module_database, Size(modules=100))
    for statement in HISTORY:
        module_database.execute(statement.encode())
    return module_database


@pytest.mark.parametrize("name", [*COMMIT, *LEASE, *MANAGER, *BUS, *DAGSTER, *PAGES, *PRUNING])
def test_a_query_that_is_asked_often_reads_no_large_table_whole(long_history: Database, name: str) -> None:
    plan = generic_plan_of(long_history, sql(name).replace("%%", "%"))
    read_whole = {node["Relation Name"] for node in plan if node["Node Type"] == "Seq Scan"} & LARGE
    assert not read_whole
