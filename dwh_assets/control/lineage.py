"""The Lineage in force: applied as a whole, versioned, with who and when."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import psycopg

from dwh_assets.config.lineage_spec import (
    batch_from_spec,
    batch_to_spec,
    command_from_spec,
    command_to_spec,
    from_spec,
    source_from_spec,
    source_to_spec,
    to_spec,
)
from dwh_assets.control.database import Database
from dwh_assets.control.lineage_apply import Change, What, apply_change, put_links, put_parameters, put_source
from dwh_assets.control.statements import sql
from dwh_assets.model.errors import LineageError
from dwh_assets.model.module import Lineage, Spec
from dwh_assets.model.parameter import Parameter

Connection = psycopg.Connection[Any]
Row = dict[str, Any]
PINNED = ("depends_on", "position", "table", "shards", "shard_by")  # what an open block was cut by (S5)


class LineageStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def active(self) -> Lineage:
        modules = tuple(from_spec(row["spec"]) for row in self.database.fetch(sql("active_modules")))
        sources = tuple(source_from_spec(row["spec"]) for row in self.database.fetch(sql("active_sources")))
        batches = tuple(batch_from_spec(row["spec"]) for row in self.database.fetch(sql("active_batches")))
        commands = tuple(command_from_spec(row["spec"]) for row in self.database.fetch(sql("active_commands")))
        parameters = tuple(Parameter(**row) for row in self.database.fetch(sql("global_parameters")))
        return Lineage(modules, sources, batches=batches, commands=commands, parameters=parameters)

    def exists(self) -> bool:
        """False where the database was not migrated yet, or not so far that this version can read it."""
        row = self.database.fetch_one(sql("store_exists"))
        return row is not None and row["found"]

    def version(self) -> int:
        """A number that rises with every change of the Lineage in force."""
        row = self.database.fetch_one(sql("lineage_version"))
        return 0 if row is None else row["version"]

    def columns(self) -> dict[str, list[dict[str, str]]]:
        """The columns of the built tables, by table."""
        return {row["name"]: row["columns"] for row in self.database.fetch(sql("columns_of_targets"))}

    def note_columns(self, table: str, columns: list[dict[str, str]], audit: list[str]) -> None:
        """The columns that a module gives its table, and the audit columns that the table has."""
        noted = {"name": table, "columns": json.dumps(columns), "audit": audit}
        if self.database.fetch(sql("columns_differ"), **noted):  # a login that only loads may not even try to write
            self.database.execute(sql("note_columns"), **noted)

    def diff(self, lineage: Lineage) -> list[Change]:
        """Stored against given, field by field; a field that this version no longer knows is a difference like any other."""
        modules = _diff("module", self._stored("active_modules"), _specs(lineage.modules, to_spec))
        sources = _diff("source", self._stored("active_sources"), _specs(lineage.sources, source_to_spec))
        commands = _diff("command", self._stored("active_commands"), _specs(lineage.commands, command_to_spec))
        batches = _diff("batch", self._stored("active_batches"), _specs(lineage.batches, batch_to_spec))
        parameters = _diff("parameter", self._stored_parameters(), _specs(lineage.parameters, asdict))
        return [*parameters, *sources, *modules, *commands, *batches]

    def _stored(self, query: str) -> dict[str, Spec]:
        return {row["name"]: row["spec"] for row in self.database.fetch(sql(query))}

    def _stored_parameters(self) -> dict[str, Spec]:
        return {row["name"]: row for row in self.database.fetch(sql("global_parameters"))}

    def history(self, name: str | None = None) -> list[Row]:
        return self.database.fetch(sql("lineage_history"), name=name)

    def apply(self, lineage: Lineage, who: str, reason: str = "") -> list[Change]:
        """Put a checked Lineage in force, all of it or nothing; returns what changed."""
        if not self.diff(lineage):
            return []  # so that a login without the right to change the Lineage can load what is in force
        with self.database.transaction() as connection:
            connection.execute(sql("lock_lineage"))
            changes = self.diff(lineage)
            changed = [change.name for change in changes if change.what == "module"]
            connection.execute(sql("lock_topics_of_modules"), {"modules": changed})
            _refuse_while_open(connection, changes, lineage)
            for change in changes:
                apply_change(connection, change, lineage, who, reason)
            for source in lineage.sources:
                put_source(connection, source)
            put_links(connection, [change for change in changes if change.what == "batch"], lineage)
            put_parameters(connection, lineage)
        return changes


def _specs(things: tuple[Any, ...], spec_of: Callable[[Any], Spec]) -> dict[str, Spec]:
    return {thing.name: spec_of(thing) for thing in things}


def _diff(what: What, old: dict[str, Spec], new: dict[str, Spec]) -> list[Change]:
    changes = [Change("add", what, name) for name in sorted(new.keys() - old.keys())]
    changes += [Change("remove", what, name) for name in sorted(old.keys() - new.keys())]
    for name in sorted(new.keys() & old.keys()):
        before, after = old[name], new[name]
        unknown = before.keys() ^ after.keys()
        fields = sorted(unknown | {field for field in before.keys() & after.keys() if before[field] != after[field]})
        if fields:
            changed = tuple((field, before.get(field), after.get(field)) for field in fields)
            changes.append(Change("change", what, name, changed))
    return changes


def _refuse_while_open(connection: Connection, changes: list[Change], lineage: Lineage) -> None:
    """An open block was cut by base, position and shards; it must be done before those may change (S5)."""
    problems = []
    for change in changes:
        pinned = [field for field, old, new in change.fields if field in PINNED and not _same_base(field, old, new)]
        if change.what != "module" or not pinned:
            continue
        for row in connection.execute(sql("open_blocks_of_module"), {"module": change.name}).fetchall():
            place = lineage.places.get(change.name, change.name)
            problems.append(
                f"{place}: {', '.join(pinned)}: cannot change while block #{row['id']} of {row['topic']} is {row['status']}; "
                f"let it finish, or dwh skip {row['topic']}"
            )
    if problems:
        raise LineageError(problems)


def _same_base(field: str, old: Any, new: Any) -> bool:
    return field == "depends_on" and bool(old) and bool(new) and old[0] == new[0]
