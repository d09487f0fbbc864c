"""Dropping a table: one transaction takes it out of the catalog and makes its blocks history, so that nothing is half gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

from dwh_assets.control.acts import require_reason
from dwh_assets.control.claims import lock_topic
from dwh_assets.control.database import Database
from dwh_assets.control.events import log_event
from dwh_assets.control.statements import sql
from dwh_assets.model.errors import ActRefused, ConfigError, NotPermitted

Row = dict[str, Any]
_FORGETTING = ("raise_token", "abort_running_execution", "forget_dead_letters_of_topic", "void_blocks_from", "forget_cursor")


class DropStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def topics(self, table: str) -> list[Row]:
        """The topics that write this table, or wrote it; what may not be dropped is an error that says why."""
        with self.database.transaction() as connection:
            found = connection.execute(sql("facts_of_drop"), {"table": table}).fetchall()
            _require_droppable(connection, table, found)
        return found

    def drop(self, table: str, tables: Sequence[str], who: str, reason: str) -> list[str]:
        """Forget it, with the further tables that its blocks wrote; returns those that were there."""
        require_reason("drop", table, reason)
        try:
            with self.database.transaction() as connection:
                return self._drop(connection, table, tables, who, reason)
        except NotPermitted as error:
            raise ConfigError(
                f"this login may not drop tables of the control store at {self.database.place}. Nothing was changed.\n"
                "Set DWH_POSTGRES_URL to the login that owns the database; the roles of workers and stewards may not."
            ) from error

    def _drop(self, connection: psycopg.Connection[Any], table: str, tables: Sequence[str], who: str, reason: str) -> list[str]:
        named = [row["topic"] for row in connection.execute(sql("facts_of_drop"), {"table": table})]
        for topic in named:
            lock_topic(connection, topic)
        # Asked again under the locks: a worker may have taken a topic, or an apply may have brought a reader.
        found = connection.execute(sql("facts_of_drop"), {"table": table}).fetchall()
        _require_droppable(connection, table, found)
        for row in found:
            text = f"dropped {', '.join(tables)} with {row['blocks']} blocks: {reason}"
            log_event(connection, "DROP", text, who=who, kind="act", topic=row["topic"])
            for statement in _FORGETTING:
                connection.execute(sql(statement), {"topic_id": row["topic_id"], "seq": 0, "reason": "its table was dropped"})
        connection.execute(sql("raise_generation"), {"target": table})
        return [name for name in tables if _forget(connection, name)]


def _forget(connection: psycopg.Connection[Any], table: str) -> bool:
    namespace, _, name = table.rpartition(".")
    return connection.execute(sql("forget_table"), {"namespace": namespace, "name": name}).fetchone() is not None


def _require_droppable(connection: psycopg.Connection[Any], table: str, found: list[Row]) -> None:
    if active := sorted({row["module"] for row in found if row["active"]}):
        raise ActRefused(
            f"{table} is still built by {', '.join(active)}. Nothing was changed.\n"
            f"Remove its file, or write `active: false` into it, then `dwh lineage apply`, then drop it."
        )
    dependents = [row["module"] for row in connection.execute(sql("dependents_of_table"), {"table": table})]
    if dependents:
        raise ActRefused(
            f"{', '.join(dependents)} {'depends' if len(dependents) == 1 else 'depend'} on {table}. Nothing was changed.\n"
            "Take it out of their files, or remove these, then `dwh lineage apply`, then drop it."
        )
    for row in found:
        if row["leased"]:
            raise ActRefused(
                f"{row['topic']} is being loaded by worker {row['lease_worker']}. Nothing was changed.\n"
                f"Try again when it is done, or take it away: dwh unlock {row['topic']} --reason ..."
            )
        if row["restating"]:
            raise ActRefused(
                f"{row['topic']} is being restated or rolled back. Nothing was changed; try again when that is done."
            )
