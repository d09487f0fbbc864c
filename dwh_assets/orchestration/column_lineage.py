"""Where the columns of a module come from, as Dagster shows it."""

from __future__ import annotations

from typing import Any

from dagster import TableColumnDep, TableColumnLineage

from dwh_assets.model.column_lineage import ColumnLineage
from dwh_assets.model.module import Lineage, Module
from dwh_assets.orchestration.names import module_key, table_keys

KEY = "dagster/column_lineage"


def column_metadata(lineage: Lineage, module: Module, found: ColumnLineage | None) -> dict[str, Any]:
    """Nothing where nothing is known. A table that several modules fill is all of their assets."""
    if found is None or not found.columns:
        return {}
    own = module_key(module)
    deps = {
        column: [
            TableColumnDep(asset_key=key, column_name=origin.column)
            for origin in origins
            for key in table_keys(lineage, origin.table)
            if key != own
        ]
        for column, origins in found.columns.items()
    }
    return {KEY: TableColumnLineage(deps_by_column=deps)}
