"""Putting a checked Lineage in force, row by row, in the transaction of the apply."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import psycopg

from dwh_assets.config.lineage_spec import batch_to_spec, command_to_spec, source_to_spec, to_spec
from dwh_assets.control.acts import first_watermark
from dwh_assets.control.database import one
from dwh_assets.control.events import log_event
from dwh_assets.control.statements import sql
from dwh_assets.control.topics import initialise
from dwh_assets.model.batch import Command
from dwh_assets.model.errors import ActRefused
from dwh_assets.model.module import Lineage, Module, SourceTable
from dwh_assets.model.position import EARLIEST, Position
from dwh_assets.model.window import Window

Connection = psycopg.Connection[Any]
What = Literal["module", "source", "command", "batch", "parameter"]


@dataclass(frozen=True)
class Change:
    """What an apply will do to one module, source, command, batch or parameter for all."""

    kind: Literal["add", "change", "remove"]
    what: What
    name: str
    fields: tuple[tuple[str, Any, Any], ...] = ()


def put_source(connection: Connection, source: SourceTable) -> None:
    spec = source_to_spec(source)
    values = {"name": source.name, "kind": source.kind, "spec": json.dumps(spec), "idle_after": source.idle_after}
    connection.execute(sql("put_source"), values | {"active": source.active})


def apply_change(connection: Connection, change: Change, lineage: Lineage, who: str, reason: str) -> None:
    text = f"{change.kind} {change.what} {change.name}" + "".join(f"; {field}" for field, _, _ in change.fields)
    log_event(connection, "LINEAGE", text + (f": {reason}" if reason else ""), who=who, kind="act", topic=change.name)
    if change.what == "parameter":
        _keep_parameter_version(connection, change.name, lineage, who)
    elif change.what == "source":
        if change.kind == "remove":
            connection.execute(sql("deactivate_source"), {"name": change.name})
    elif change.what == "batch":
        _apply_batch(connection, change, lineage, who)
    elif change.kind == "remove":
        _remove_module(connection, change.name, who)
    elif change.what == "command":
        command = next(command for command in lineage.commands if command.name == change.name)
        _put_command(connection, command, lineage, who)
    else:
        _put_module(connection, lineage.module(change.name), lineage, who)


def _apply_batch(connection: Connection, change: Change, lineage: Lineage, who: str) -> None:
    if change.kind == "remove":
        connection.execute(sql("deactivate_batch"), {"name": change.name})
        connection.execute(sql("delete_links"), {"batch": change.name})
        _keep_version(connection, change.name, None, lineage, who)
        return
    batch = lineage.batch(change.name)
    spec = json.dumps(batch_to_spec(batch))
    values = {name: getattr(batch, name) for name in ("name", "kind", "active", "retries", "frequency", "timezone")}
    connection.execute(sql("put_batch"), values | _window(batch.time) | {"spec": spec})
    _keep_version(connection, batch.name, spec, lineage, who)


def put_links(connection: Connection, changes: list[Change], lineage: Lineage) -> None:
    """When all modules and batches are there: a batch may name one that comes with the same apply."""
    for batch in (lineage.batch(change.name) for change in changes if change.kind != "remove"):
        connection.execute(sql("delete_links"), {"batch": batch.name})
        for query, links in (("insert_module_link", batch.modules), ("insert_batch_link", batch.batches)):
            for sequence, link in enumerate(links, start=1):
                values = {"batch": batch.name, "name": link.name, "sequence": sequence, "active": link.active}
                connection.execute(sql(query), values)


def _keep_version(connection: Connection, name: str, spec: str | None, lineage: Lineage, who: str) -> int:
    kept = {"module": name, "spec": spec, "place": lineage.places.get(name, ""), "who": who}
    return one(connection.execute(sql("insert_module_version"), kept))["version"]


def _put_command(connection: Connection, command: Command, lineage: Lineage, who: str) -> None:
    """It has a topic of its own name: there its lease and its history are."""
    spec = json.dumps(command_to_spec(command))
    version = _keep_version(connection, command.name, spec, lineage, who)
    values = {"name": command.name, "kind": command.kind, "active": command.active, "area": command.area}
    connection.execute(sql("put_command"), values | {"version": version, "spec": spec})
    connection.execute(sql("put_topic"), {"name": command.name, "module": command.name, "target": None, "shard": None})


def _keep_parameter_version(connection: Connection, name: str, lineage: Lineage, who: str) -> None:
    known = next((asdict(p) for p in lineage.parameters if p.name == name), dict.fromkeys(("type", "value", "description")))
    connection.execute(sql("insert_parameter_version"), known | {"name": name, "who": who})


def put_parameters(connection: Connection, lineage: Lineage) -> None:
    connection.execute(sql("delete_parameters"))
    scopes = [({}, lineage.parameters), *(({"module": m.name}, m.parameters) for m in lineage.modules)]
    scopes += [({"batch": batch.name}, batch.parameters) for batch in lineage.batches]
    for scope, parameters in scopes:
        for parameter in parameters:
            connection.execute(sql("insert_parameter"), {"module": None, "batch": None} | asdict(parameter) | scope)


def _remove_module(connection: Connection, name: str, who: str) -> None:
    connection.execute(sql("deactivate_module"), {"name": name})
    _keep_version(connection, name, None, Lineage((), ()), who)


def _put_module(connection: Connection, module: Module, lineage: Lineage, who: str) -> None:
    spec = json.dumps(to_spec(module))
    writers = [m for m in lineage.modules if m.table == module.table]
    target = {"name": module.table, "allow_truncate": all(m.allow_truncate for m in writers)}
    connection.execute(sql("put_target"), target)
    version = _keep_version(connection, module.name, spec, lineage, who)
    connection.execute(sql("put_module"), _columns(module) | {"spec": spec, "version": version})
    _put_dependencies(connection, module, lineage)
    connection.execute(sql("deactivate_topics"), {"module": module.name, "names": list(module.topics)})
    for topic in module.topics:
        _put_topic(connection, module, topic)


def _columns(module: Module) -> dict[str, Any]:
    return {
        "name": module.name,
        "target": module.table,
        "active": module.active,
        "area": module.area,
        "processor": module.processor,
        "base": module.base,
        "delay": module.delay,
        "repeat": module.repeat,
        "promise": module.promise,
        "attempts": module.attempts,
        "backoff": module.backoff,
        "timezone": module.timezone,
        "priority": module.priority,
    } | _window(module.time)


def _window(window: Window | None) -> dict[str, Any]:
    return {"window_start": window.start if window else None, "window_end": window.end if window else None}


def _put_dependencies(connection: Connection, module: Module, lineage: Lineage) -> None:
    sources = {source.name for source in lineage.sources}
    connection.execute(sql("delete_dependencies"), {"module": module.name})
    for ordinal, table in enumerate(module.depends_on):
        values = {"module": module.name, "ordinal": ordinal, "table": table, "is_source": table in sources}
        connection.execute(sql("insert_dependency"), values)


def _put_topic(connection: Connection, module: Module, topic: str) -> None:
    _, _, shard = topic.partition(":")
    values = {"name": topic, "module": module.name, "target": module.table, "shard": shard or None}
    row = one(connection.execute(sql("put_topic"), values))
    start = start_position(module.start, row["now"])
    initialise(connection, row["id"], start, first_watermark(start))


def start_position(start: str, now: datetime) -> Position:
    """`earliest`, `now`, or an instant, as a cursor before the first row to load."""
    if start == "earliest":
        return EARLIEST
    if start == "now":
        return Position(now, 0)
    try:
        instant = datetime.fromisoformat(start)
    except ValueError:
        raise ActRefused(
            f"{start!r} is not a position; write earliest, now, or an instant such as 2026-01-31T00:00:00Z"
        ) from None
    return Position(instant if instant.tzinfo else instant.replace(tzinfo=UTC), 0)
