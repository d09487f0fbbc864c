# ruff: noqa: E501 - SQL
"""A control store with a million blocks and ten million events: hot queries and ticks against the same store when it was young."""

from __future__ import annotations

import gc
from statistics import median
from typing import Any

import psutil
import pyarrow as pa

from bench.ledger import fill, lengthen
from bench.result import Result
from bench.scale import Scale
from bench.stopwatch import seconds_of
from bench.world import World, fresh_engine
from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.tick import tick

TOPIC, MODULE = "fact.t1:s1", "fact.t1"
PAGE = 2  # blocks of a topic, as many as it has when it is young
ACTIVE = 20  # one topic in so many has something to load
SHORT = 1.0  # ms: what is faster counts as this much, or noise would be a ratio
_QUIET = """update dwh.topic set examined = '2027-01-01', last_full = false"""
_DONE = """update dwh.block set status = 'committed' where status = 'planned' and topic_id %% %(active)s <> 0"""
_CURSORS = """update dwh.topic t set last_pos = b.next_pos from (select distinct on (topic_id) topic_id, next_pos from dwh.block
where status = 'committed' order by topic_id, seq desc) b where b.topic_id = t.id"""
_EXECUTIONS = """insert into dwh.execution (topic_id, block_id, attempt, token, worker, module_version, execution_code, processing_code,
                                            next_run_code, started_at, ended_at, reported_at)
select b.topic_id, b.id, 1, 0, 'bench', 1, 'Succeeded', 'Proceed', 'Proceed', b.next_pos, b.next_pos, b.next_pos from dwh.block b
where b.kind = 'load' and b.status = 'committed' and not exists (select from dwh.execution e where e.block_id = b.id)"""
_STATS = """insert into dwh.load_stat (block_id, topic_id, execution_id, loaded_at, rows, seconds)
select e.block_id, e.topic_id, e.id, e.ended_at, 10, 1 from dwh.execution e on conflict do nothing"""
_EVENTS = """insert into dwh.event_log (at, kind, code, topic, who, text)
select now() - interval '2 days' - n * interval '1 second', 'process', 'FAILED', 'fact.t' || n %% %(modules)s || ':s1', 'bench', 'it failed'
from generate_series(1, %(events)s) n"""
_RECENT = """insert into dwh.event_log (kind, code, topic, who, text)
select 'process', 'FAILED', 'fact.t' || n || ':s1', 'bench', 'it failed' from generate_series(1, 500) n"""
HOT: dict[str, dict[str, Any]] = {
    "select_verdicts": {},
    "judge_topics": {"ids": [1, 2, 3]},
    "planning_state": {"topic_id": 1},
    "report_status": {"topics": [TOPIC]},
    "report_blocks": {"topic": TOPIC, "limit": PAGE},
    "report_events": {"topics": None, "limit": 50},
    "report_errors": {"topics": None},
    "partitions_of_module": {"module": MODULE, "limit": PAGE},
    "due_partitions": {"topic": TOPIC},
    "unreported_executions": {"age": 0, "limit": 100},
    "executions_ended": {"after": "2027-01-01 00:00Z"},
    "stale_blocks": {},
}


def measure(world: World) -> list[Result]:
    scale = world.scale
    memory = _memory(world)
    with fresh_engine(world.engine.settings, world.engine.postgres_url, "bench_load") as engine:
        topics = len(fill(engine.database, scale.modules, scale.shards, past=2))
        _quieten(engine)
        young = _times(engine, scale.repeats)
        _age(engine.database, topics, scale)
        old = _times(engine, scale.repeats)
    return [_queries(young, old, scale), _tick(young, old, topics), memory]


def _age(database: Database, topics: int, scale: Scale) -> None:
    lengthen(database, max(1, scale.ledger // topics))
    with database.transaction() as connection:
        connection.execute("set local session_replication_role = replica")  # the rows are right by their making
        for statement in (_EXECUTIONS, _STATS):
            connection.execute(statement.encode())
        connection.execute(_EVENTS.encode(), {"modules": scale.modules, "events": scale.logged})
        connection.execute(_QUIET.encode())
    database.execute("analyze")


def _quieten(engine: Engine) -> None:
    """One topic in twenty has a planned block, nothing new is in the base of any, and the last day has a few errors."""
    with engine.database.transaction() as connection:
        connection.execute("set local session_replication_role = replica")
        for statement in (_DONE, _CURSORS, _EXECUTIONS, _STATS, _QUIET, _RECENT):
            connection.execute(statement.encode(), {"active": ACTIVE} if "active" in statement else None)
    engine.database.execute("analyze")
    rows = pa.table({"pos": pa.array([], pa.timestamp("us", tz="UTC")), "id": pa.array([], pa.int64())})
    engine.catalog.sql.create_namespace_if_not_exists("stage")
    engine.catalog.sql.create_table_if_not_exists("stage.base", rows.schema)


def _times(engine: Engine, repeats: int) -> dict[str, float]:
    """Milliseconds in Postgres of each hot query, and of a tick in this process: medians."""
    found = {name: median(_ms(engine.database, name) for _ in range(repeats)) for name in HOT}
    tick(engine)
    return found | {"tick": median(1000 * seconds_of(lambda: tick(engine)) for _ in range(repeats))}


def _ms(database: Database, name: str) -> float:
    explain = f"explain (analyze, timing off, buffers off, format json) {sql(name)}"
    plan = database.fetch(explain.encode(), **HOT[name])[0]["QUERY PLAN"][0]
    return plan["Planning Time"] + plan["Execution Time"]


def _queries(young: dict[str, float], old: dict[str, float], scale: Scale) -> Result:
    ratios = {name: max(old[name], SHORT) / max(young[name], SHORT) for name in HOT}
    parts = {name: {"young ms": young[name], "old ms": old[name], "x": ratios[name]} for name in HOT}
    what = f"the slowest hot query after {scale.ledger:,} blocks and {scale.logged:,} events / after few"
    return Result("load", what, max(ratios.values()), "x", "<=", 2, parts)


def _tick(young: dict[str, float], old: dict[str, float], topics: int) -> Result:
    parts = {"topics": topics, "with something to load": topics // ACTIVE, "young ms": young["tick"], "old ms": old["tick"]}
    return Result(
        "load_tick", f"a tick of {topics:,} topics, then / when young", old["tick"] / young["tick"], "x", "<=", 2, parts
    )


def _memory(world: World) -> Result:
    """Of this process, over many ticks of fewer topics: what a tick leaves behind does not depend on their number."""
    scale, marks = world.scale, {}
    with fresh_engine(world.engine.settings, world.engine.postgres_url, "bench_ticks") as engine:
        fill(engine.database, max(2, scale.modules // 10), scale.shards, past=2)
        _quieten(engine)
        early = max(1, scale.load_ticks // 10)
        for number in range(1, scale.load_ticks + 1):
            tick(engine)
            if number in (early, scale.load_ticks):
                gc.collect()
                marks[number] = psutil.Process().memory_info().rss / 2**20
    grown = marks[scale.load_ticks] / marks[early]
    what = f"memory after {scale.load_ticks:,} ticks / after {early:,}"
    return Result("load_memory", what, grown, "x", "<=", 1.1, {"MB": marks})
