"""A large control store, made by SQL: many topics of sharded modules, or one topic with a very long history."""

from __future__ import annotations

import json
from typing import Any

from dwh_assets.config.lineage_spec import source_to_spec, to_spec
from dwh_assets.control.database import Database
from dwh_assets.model.module import Module, SourceTable

_SOURCE = """insert into dwh.source (name, kind, spec, watermark, newest_pos, seen_at, changed_at)
values ('stage.base', 'iceberg', %(source)s, '2026-01-01 10:00Z', '2026-01-01 10:00Z', now(), now())"""
_MODULES = """
with made as (select n, 'fact.t' || n as name from generate_series(0, %(modules)s - 1) n),
     target as (insert into dwh.target (name) select name from made)
insert into dwh.module (name, target, version, processor, base, delay, repeat, attempts, backoff, spec)
select name, name, 1, 'step', coalesce('fact.t' || nullif(greatest(n - 1, -1), -1), 'stage.base'), '0', '1h', 3, '10s',
       %(spec)s::jsonb || jsonb_build_object('name', name, 'table', name)
from made"""
_DEPENDENCIES = """insert into dwh.module_dependency (module, ordinal, table_name, is_source)
select 'fact.t' || n, 0, 'stage.base', true from generate_series(0, %(modules)s - 1) n where n < 3
union all
select 'fact.t' || n, k - 1, 'fact.t' || n - k, false from generate_series(3, %(modules)s - 1) n, generate_series(1, 3) k"""
_TOPICS = """insert into dwh.topic (name, module, target, shard, last_pos, last_id, watermark, last_full)
select 'fact.t' || n || ':s' || s, 'fact.t' || n, 'fact.t' || n, 's' || s, '2026-01-01 08:00Z', 0, '2026-01-01 10:00Z', true
from generate_series(0, %(modules)s - 1) n, generate_series(1, %(shards)s) s"""
_BLOCKS = """
insert into dwh.block (topic_id, seq, last_pos, last_id, next_pos, next_id, kind, status, upto, takes_all, planned_rows)
select t.id, k, case when k > 0 then at - interval '1 min' end, case when k > 0 then 0 end, at, 0,
       case k when 0 then 'start' else 'load' end, case when k = %(past)s + 1 then 'planned' else 'committed' end, at, false, 10
from dwh.topic t, generate_series(0, %(past)s + 1) k,
     lateral (select t.last_pos + (k - %(past)s) * interval '1 min' as at) place"""
_EXECUTIONS = """insert into dwh.execution (topic_id, block_id, attempt, token, worker, module_version, execution_code,
                                            processing_code, next_run_code, ended_at)
select topic_id, id, 1, 0, 'bench', 1, 'Succeeded', 'Proceed', 'Proceed', now()
from dwh.block where kind = 'load' and status = 'committed'"""
_HISTORY = """
insert into dwh.block (topic_id, seq, last_pos, last_id, next_pos, next_id, kind, status, upto, takes_all, base_rows)
select t.id, tail.seq + k, tail.next_pos + (k - 1) * step, 0, tail.next_pos + k * step, 0, 'load', 'committed',
       tail.next_pos + k * step, false, 10
from dwh.topic t, generate_series(1, %(count)s) k, (select interval '1 ms' as step) steps,
     lateral (select seq, next_pos from dwh.block b where b.topic_id = t.id order by seq desc limit 1) tail"""
_CURSOR = """update dwh.topic t
set last_pos = tail.next_pos, last_id = 0, watermark = tail.next_pos, last_full = true, examined = null
from (select distinct on (topic_id) topic_id, next_pos from dwh.block order by topic_id, seq desc) tail
where tail.topic_id = t.id"""


def fill(database: Database, modules: int, shards: int, past: int = 10) -> list[str]:
    """Modules that depend on three others each, every topic due with one planned block; returns the topics."""
    module = Module("fact.t", "fact.t", ("stage.base",), transforms=("bench/events.sql",))
    source = json.dumps(source_to_spec(SourceTable("stage.base", "iceberg")))
    values = {"modules": modules, "shards": shards, "past": past, "spec": json.dumps(to_spec(module)), "source": source}
    _run(database, (_SOURCE, _MODULES, _DEPENDENCIES, _TOPICS, _BLOCKS, _EXECUTIONS), values)
    return [row["name"] for row in database.fetch("select name from dwh.topic order by name")]


def lengthen(database: Database, count: int) -> None:
    """Give every topic so many more committed blocks behind its last one, and the cursor at their end."""
    _run(database, (_HISTORY, _CURSOR), {"count": count})


def _run(database: Database, statements: tuple[Any, ...], values: dict[str, Any]) -> None:
    with database.transaction() as connection:
        connection.execute("set local session_replication_role = replica")  # the rows are right by their making
        for statement in statements:
            connection.execute(statement, values)
    with database.transaction() as connection:
        connection.execute("analyze")
