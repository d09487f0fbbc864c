"""Where the columns of the modules come from, by the version of the module and of the text of its transforms."""

from __future__ import annotations

import json
from typing import Any

from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql
from dwh_assets.model.column_lineage import ColumnLineage, Origin

Row = dict[str, Any]


class ColumnLineageStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def unknown(self) -> list[Row]:
        """The modules in force of whose newest loaded version nothing is known: module, module_version, code_version."""
        return self.database.fetch(sql("columns_unknown"))

    def version(self, module: str, code_version: str) -> int | None:
        """The version of a module that is in force; None where its columns are known already."""
        row = self.database.fetch_one(sql("columns_version"), module=module, code_version=code_version)
        return None if row is None else row["version"]

    def note(self, module: str, version: int, code_version: str, found: ColumnLineage, problem: str | None = None) -> None:
        """What was found, or why nothing was: so it is not asked for again."""
        columns = {name: [vars(origin) for origin in origins] for name, origins in found.columns.items()}
        self.database.execute(
            sql("note_column_lineage"),
            module=module,
            version=version,
            code_version=code_version,
            columns=json.dumps(columns),
            decides=json.dumps([{"table": table, "column": column} for table, column in found.decides]),
            problem=problem,
        )

    def newest(self) -> dict[str, Row]:
        """By module: the newest that is known of it, with its table, the columns as objects."""
        return {row["module"]: row for row in self.database.fetch(sql("column_lineage"))}


def lineage_of_row(row: Row) -> ColumnLineage:
    columns = {name: tuple(Origin(**origin) for origin in origins) for name, origins in row["columns"].items()}
    return ColumnLineage(columns, tuple((entry["table"], entry["column"]) for entry in row["decides"]))
