"""Reports by name: each is a view `dwh.report_*`, and its comment is the line that tells of it."""

from __future__ import annotations

from typing import Any

from psycopg.sql import SQL, Identifier

from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql
from dwh_assets.model.errors import UnknownReport
from dwh_assets.model.near import did_you_mean

Row = dict[str, Any]


class ReportViews:
    """Read-only. Rows come in the order of their view."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def listed(self) -> list[Row]:
        """Name, view, and what it is about."""
        return self.database.fetch(sql("report_views"))

    def rows(self, name: str, limit: int | None = None) -> list[Row]:
        """The first rows of a report, or all. An underscore is as good as a hyphen."""
        known = {row["name"]: row["view"] for row in self.listed()}
        view = known.get(name.lower().replace("_", "-"))
        if view is None:
            raise _unknown(name, list(known))
        query = SQL("select * from dwh.{} limit %(limit)s").format(Identifier(view))
        return self.database.fetch(query, limit=limit)

    def series(self, tables: int, blocks: int) -> list[Row]:
        """What the newest blocks of the most recently loaded tables brought, in the order of loading."""
        return self.database.fetch(sql("report_series"), tables=tables, blocks=blocks)


def _unknown(name: str, known: list[str]) -> UnknownReport:
    return UnknownReport(f"there is no report {name!r}.{did_you_mean(name, known)} There are {', '.join([*known, 'html'])}.")
