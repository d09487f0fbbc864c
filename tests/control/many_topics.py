"""A control store as large as the product promises to serve: modules with shards and dependencies, topics with blocks."""

from __future__ import annotations

from dataclasses import dataclass

from dwh_assets.control.database import Database

_TARGETS = "insert into dwh.target (name) select 'big.t' || m from generate_series(1, %(modules)s) m"
_SOURCES = """
insert into dwh.source (name, kind, spec, watermark, newest_pos, seen_at, changed_at)
select 'src.s' || s, 'iceberg', '{}', now() - s * interval '1 second', now() - s * interval '1 second', now(), now()
from generate_series(1, 100) s"""
_MODULES = """
insert into dwh.module (name, target, version, area, processor, base, delay, repeat, attempts, backoff, spec)
select 'big.t' || m, 'big.t' || m, 1, 'big', 'step', 'src.s' || (1 + m %% 100), interval '1 second', interval '1 minute', 3,
       interval '10 seconds',
       jsonb_build_object('name', 'big.t' || m, 'table', 'big.t' || m, 'depends_on', jsonb_build_array('src.s' || (1 + m %% 100)))
from generate_series(1, %(modules)s) m"""
# A source as base, the table before (sharded alike), and another source.
_DEPENDENCIES = """
insert into dwh.module_dependency (module, ordinal, table_name, is_source)
select 'big.t' || m, 0, 'src.s' || (1 + m %% 100), true from generate_series(1, %(modules)s) m
union all select 'big.t' || m, 1, 'big.t' || (m - 1), false from generate_series(2, %(modules)s) m
union all select 'big.t' || m, 2, 'src.s' || (1 + (m + 7) %% 100), true from generate_series(1, %(modules)s) m"""
_TOPICS = """
insert into dwh.topic (name, module, target, shard, last_pos, last_id, watermark, examined, last_end)
select 'big.t' || m || ':' || s, 'big.t' || m, 'big.t' || m, s::text, now() - interval '1 hour', 0,
       now() - interval '1 hour' - m * interval '1 second', now() - (m + s) %% 7 * interval '10 minutes',
       now() - s * interval '5 seconds'
from generate_series(1, %(modules)s) m, generate_series(1, %(shards)s) s"""
_BLOCKS = """
insert into dwh.block (topic_id, seq, last_pos, last_id, next_pos, next_id, kind, status, upto, takes_all, planned_rows)
select t.id, b, case when b > 0 then now() - (%(blocks)s - b + 1) * interval '1 minute' end, case when b > 0 then 0 end,
       now() - (%(blocks)s - b) * interval '1 minute', 0, case when b = 0 then 'start' else 'load' end,
       case when b = %(blocks)s - 1 then 'planned' else 'committed' end, now(), false, 1000
from dwh.topic t, generate_series(0, %(blocks)s - 1) b"""

_EXECUTIONS = """
insert into dwh.execution (topic_id, block_id, attempt, token, worker, module_version, execution_code, processing_code,
                           next_run_code, ended_at)
select topic_id, id, 1, 0, 'w', 1, 'Succeeded', 'Proceed', 'Proceed', now() from dwh.block where seq = 1"""


@dataclass(frozen=True)
class Size:
    modules: int = 500
    shards: int = 20
    blocks: int = 20


def fill(database: Database, size: Size = Size()) -> None:  # noqa: B008 - frozen
    """Write that many topics and blocks, and let Postgres know their number."""
    with database.transaction() as connection:
        for statement in (_TARGETS, _SOURCES, _MODULES, _DEPENDENCIES, _TOPICS, _BLOCKS, _EXECUTIONS):
            numbers = {"modules": size.modules, "shards": size.shards, "blocks": size.blocks}
            used = {name: value for name, value in numbers.items() if f"%({name})s" in statement}
            connection.execute(statement.replace("%%", "%") if not used else statement, used or None)  # type: ignore[arg-type]
    database.execute("analyze")
