# ruff: noqa: E501 - SQL
"""Every report and vocabulary over a history of a hundred thousand executions, made by SQL."""

from __future__ import annotations

from statistics import median
from typing import Any

from bench.ledger import fill
from bench.result import Result
from bench.world import World, fresh_engine
from dwh_assets.control.database import Database

# Ended over the last 60 days, each after a few seconds; one in twenty failed, and its block was tried again.
_SPREAD = """update dwh.execution set started_at = now() - random() * interval '60 days', rows_read = 1000, rows_inserted = 900"""
_ENDS = """update dwh.execution set ended_at = started_at + (1 + random() * 9) * interval '1 second'"""
_FAILED = """insert into dwh.execution (topic_id, block_id, attempt, token, worker, module_version, execution_code, processing_code,
                                        next_run_code, reason, started_at, ended_at)
select topic_id, block_id, 0, 0, 'bench', 1, 'Failed', 'Proceed', 'Rollback', 'topic x, block #1: something broke', started_at, ended_at
from dwh.execution where id %% 20 = 0"""
_RUNNING = """insert into dwh.execution (topic_id, attempt, token, worker, module_version, execution_code, processing_code,
                                         next_run_code, started_at)
select id, 1, 0, 'bench', 1, 'Executing', 'Proceed', 'Proceed', now() - random() * interval '1 hour' from dwh.topic where id %% 50 = 0"""
_STATS = """insert into dwh.load_stat (block_id, topic_id, execution_id, loaded_at, rows, bytes, max_id, min_pos, max_pos, lag, seconds, nulls)
select e.block_id, e.topic_id, e.id, e.ended_at, 900, 50000, 1, b.last_pos, b.next_pos, interval '10 seconds',
       extract(epoch from e.ended_at - e.started_at), '{"a": 3, "b": 1}'
from dwh.execution e join dwh.block b on b.id = e.block_id where e.execution_code = 'Succeeded'"""
_BLOCKS = (
    """update dwh.block set base_rows = 1000, late_rows = case when id %% 100 = 0 then 5 else 0 end where status = 'committed'"""
)
_EVENTS = """insert into dwh.event_log (at, kind, code, topic, block_id, execution_id, who, text)
select e.ended_at, 'process', 'FAILED', t.name, e.block_id, e.id, 'bench',
       format(E'topic %%s, block #%%s: kind %%s of error, %%s rows\nwhat to do', t.name, e.block_id, chr(65 + (e.id %% 9)::int), e.id)
from dwh.execution e join dwh.topic t on t.id = e.topic_id where e.execution_code = 'Failed'
union all
select now() - random() * interval '60 days', 'information', 'LATE', null, null, null, 'bench', 'late' from generate_series(1, %(executions)s)"""
_BATCHES = """
with made as (insert into dwh.batch (name, kind, retries, frequency, spec)
              select 'b' || n, 'STANDARD', 3, '0 3 * * *', '{}' from generate_series(1, 20) n returning name)
insert into dwh.batch_instance (batch, started_by, worker, execution_code, processing_code, next_run_code, failed, started_at, ended_at)
select name, 'schedule', 'bench', case when k %% 10 = 0 then 'Failed' else 'Succeeded' end, 'Proceed', 'Proceed',
       case when k %% 10 = 0 then array['fact.t1'] else '{}' end, now() - k * interval '2 hours', now() - k * interval '2 hours' + interval '1 hour'
from made, generate_series(1, 500) k"""
_LINKS = """insert into dwh.batch_module (batch, module, sequence)
select 'b1', name, row_number() over (order by name) from dwh.module"""
_IN_BATCHES = """update dwh.execution set batch_instance_id = 1 + id %% 10000 where id %% 2 = 0"""
_HISTORY = (_SPREAD, _ENDS, _FAILED, _RUNNING, _STATS, _BLOCKS, _EVENTS, _BATCHES, _LINKS, _IN_BATCHES)
_VIEWS = """select schemaname || '.' || viewname as name from pg_views
where schemaname in ('sch', 'kettle', 'direct') or schemaname = 'dwh' and starts_with(viewname, 'report_') order by 1"""


def measure(world: World) -> list[Result]:
    """Once with many topics of a short history, once with few of a long one."""
    scale = world.scale
    many, few = (scale.modules, scale.shards), (max(1, scale.modules // 100), scale.shards)
    found = {label: _measured(world, *shape) for label, shape in (("many topics", many), ("few topics", few))}
    return [
        _result("reports", "the slowest report", {label: _only(times, "dwh.") for label, times in found.items()}),
        _result(
            "vocabularies",
            "the slowest view of sch, kettle and direct",
            {label: _only(times, "") for label, times in found.items()},
        ),
    ]


def _only(times: dict[str, float], schema: str) -> dict[str, float]:
    return {name: ms for name, ms in times.items() if name.startswith("dwh.") == bool(schema)}


def _result(name: str, what: str, found: dict[str, dict[str, float]]) -> Result:
    parts: dict[str, Any] = {}
    for label, times in found.items():
        parts |= {f"{view}, {label}, ms": ms for view, ms in times.items()}
    return Result(name, f"{what}, every row of it", max(parts.values()), "ms", "<=", 1000, parts)


def _measured(world: World, modules: int, shards: int) -> dict[str, float]:
    """Milliseconds for all rows of each view, as the median of a few."""
    scale = world.scale
    with fresh_engine(world.engine.settings, world.engine.postgres_url, "bench_reports") as engine:
        database = engine.database
        fill(database, modules, shards, past=max(1, scale.history // (modules * shards)))
        _lengthen(database, scale.history)
        names = [row["name"] for row in database.fetch(_VIEWS)]
        repeats = min(3, scale.repeats)
        return {name: median(_ms(database, name) for _ in range(repeats)) for name in names}


def _ms(database: Database, view: str) -> float:
    """In Postgres, every row turned into what would be sent."""
    plan = database.fetch(
        f"explain (analyze, serialize text, timing off, buffers off, format json) select * from {view}".encode()
    )
    found = plan[0]["QUERY PLAN"][0]
    return found["Planning Time"] + found["Execution Time"]


def _lengthen(database: Database, executions: int) -> None:
    with database.transaction() as connection:
        connection.execute("set local session_replication_role = replica")  # the rows are right by their making
        for statement in _HISTORY:
            values = {"executions": executions} if "%(executions)s" in statement else {}
            connection.execute(statement.encode(), values)  # always with values: they make %% one %
    with database.transaction() as connection:
        connection.execute("analyze")
