"""Facts of the verdict's rule as rows of the control store, many topics at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg import Connection

from dwh_assets.model.verdict import Dependency, Facts

_SOURCE = """insert into dwh.source (name, kind, spec, watermark, newest_pos, seen_at, changed_at)
values (%(table)s, 'iceberg', '{}', %(watermark)s, %(newest)s, %(now)s, %(now)s)"""
_TARGET = "insert into dwh.target (name) values (%(target)s) on conflict do nothing"
_MODULE = """insert into dwh.module (name, target, version, active, processor, base, delay, repeat, attempts, backoff,
                                     window_start, window_end, timezone, spec)
values (%(module)s, %(target)s, 1, %(active)s, %(processor)s, 'x', %(delay)s, %(repeat)s, 3, '1s',
        %(start)s, %(end)s, %(zone)s, '{}')
on conflict do nothing"""
_TOPIC = """insert into dwh.topic (name, module, target, shard, active, last_pos, last_id, watermark, examined, lease_worker,
                                   lease_until, not_before, last_full, last_end, paused, paused_at, paused_by)
values (%(name)s, %(module)s, %(target)s, %(shard)s, %(topic_active)s, %(last)s,
        case when %(last)s::timestamptz is not null then 0 end, %(watermark)s, %(examined)s,
        case when %(lease)s::timestamptz is not null then 'w' end, %(lease)s, %(not_before)s, %(full)s, %(last_end)s,
        %(paused)s, case when %(paused)s::text is not null then now() end, %(paused)s)"""
_DEPENDS = "insert into dwh.module_dependency values (%(module)s, %(ordinal)s, %(table)s, %(is_source)s) on conflict do nothing"
_BLOCK = """insert into dwh.block (topic_id, seq, last_pos, last_id, next_pos, next_id, kind, status, upto, takes_all)
select id, %(seq)s, '0001-01-01 00:00+00', %(seq)s, %(next)s, %(seq)s, 'load', %(status)s, %(next)s, true
from dwh.topic where name = %(name)s"""
_RESTATEMENT = """insert into dwh.restatement (topic_id, kind, first_seq, last_seq, status, reason, asked_by)
select id, 'restate', 1, 1, 'open', 'because', 'me' from dwh.topic where name = %(name)s"""


@dataclass(frozen=True)
class Built:
    """A topic that fills a dependency: its watermark is null until it is initialised."""

    watermark: datetime | None
    last_pos: datetime | None = None
    shard: str | None = None
    tag: str | None = None
    active: bool = True


Filled = Dependency | tuple[Built, ...]  # a source, or the topics of a built table


def store(connection: Connection[Any], name: str, facts: Facts, shard: str | None = None, filled: Sequence[Filled] = ()) -> None:
    """One topic with its dependencies. Nothing of it can be committed: its blocks do not tile."""
    table = name.partition(":")[0]
    names = [f"dep.{table.replace('.', '_')}_{n}" for n in range(len(facts.dependencies))]
    for dependency, given in zip(names, filled or facts.dependencies, strict=True):
        if isinstance(given, Dependency):
            values = {"table": dependency, "watermark": given.watermark, "newest": given.newest, "now": facts.now}
            connection.execute(_SOURCE, values)
        else:
            for built in given:
                _store_built(connection, dependency, built)
    _store_topic(connection, name, facts, shard)
    for ordinal, dependency in enumerate(names):
        is_source = isinstance((filled or facts.dependencies)[ordinal], Dependency)
        values = {"module": table, "ordinal": ordinal, "table": dependency, "is_source": is_source}
        connection.execute(_DEPENDS, values)
    _store_blocks(connection, name, facts)


def _store_topic(connection: Connection[Any], name: str, facts: Facts, shard: str | None) -> None:
    table = name.partition(":")[0]
    module = {
        "module": table,
        "target": table.partition("#")[0],
        "active": facts.active,
        "processor": "range" if facts.by_time else "step",
        "delay": facts.delay,
        "repeat": facts.repeat,
        "start": facts.window.start if facts.window else None,
        "end": facts.window.end if facts.window else None,
        "zone": facts.timezone,
    }
    topic = {
        "name": name,
        "shard": shard,
        "topic_active": True,
        "last": facts.last_pos,
        "watermark": facts.last_pos,
        "examined": facts.examined,
        "lease": facts.leased_until,
        "not_before": facts.not_before,
        "full": facts.last_full,
        "last_end": facts.last_end,
        "paused": "held" if facts.paused else None,
    }
    connection.execute(_TARGET, {"target": module["target"]})
    connection.execute(_MODULE, module)
    connection.execute(_TOPIC, module | topic)


def _store_built(connection: Connection[Any], table: str, built: Built) -> None:
    module = f"{table}#{built.tag}" if built.tag else table
    name = f"{module}:{built.shard}" if built.shard else module
    never = Facts(now=datetime.now().astimezone(), dependencies=())
    values: dict[str, Any] = {
        "module": module,
        "target": table,
        "active": built.active,
        "processor": "step",
        "delay": never.delay,
        "repeat": never.repeat,
        "start": None,
        "end": None,
        "zone": "UTC",
        "name": name,
        "shard": built.shard,
        "topic_active": True,
        "last": built.last_pos or built.watermark,
        "watermark": built.watermark,
        "examined": None,
        "lease": None,
        "not_before": None,
        "full": False,
        "last_end": None,
        "paused": None,
    }
    for statement in (_TARGET, _MODULE, _TOPIC):
        connection.execute(statement, values)


def _store_blocks(connection: Connection[Any], name: str, facts: Facts) -> None:
    begun = "parked" if facts.has_parked else "open" if facts.has_open else None
    if begun:
        early = facts.now - timedelta(days=1)
        connection.execute(_BLOCK, {"name": name, "seq": 1, "next": early, "status": begun})
    if facts.planned_next is not None:
        connection.execute(_BLOCK, {"name": name, "seq": 2, "next": facts.planned_next, "status": "planned"})
    if facts.restating:
        connection.execute(_RESTATEMENT, {"name": name})
