"""A few rows of a block: staged ones from the branch of a parked block, published ones of a committed block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dwh_assets.engine.engine import Engine
from dwh_assets.model.errors import ActRefused
from dwh_assets.warehouse.branches import Fork, qualified
from dwh_assets.warehouse.catalog import CATALOG
from dwh_assets.warehouse.session import spark_errors

Row = Mapping[str, Any]


def sample_of(engine: Engine, block: Row, executions: Sequence[Row], count: int) -> list[dict[str, Any]]:
    """Rows with missing values come first: they are what a failed check is mostly about."""
    name = _place(block, executions)
    session = engine.session()
    with spark_errors():
        missing = " + ".join(f"IF(`{column}` IS NULL, 1, 0)" for column in session.table(name).columns)
        query = f"SELECT * FROM {name} WHERE _block = {int(block['id'])} ORDER BY {missing} DESC LIMIT {int(count)}"
        return [row.asDict(recursive=True) for row in session.sql(query).collect()]


def _place(block: Row, executions: Sequence[Row]) -> str:
    """Where Spark finds the rows."""
    if block["status"] in ("committed", "stale"):
        return f"{CATALOG}.{block['target']}"
    if block["status"] != "parked":
        raise ActRefused(f"block #{block['id']} is {block['status']}: rows can be shown once it is committed or parked.")
    staged = [execution["branches"] for execution in executions if execution["branches"]]
    if not staged:
        raise ActRefused(f"block #{block['id']} was parked before it staged any rows; its last reason is shown by `dwh block`.")
    table, branch = next(iter(staged[-1].items()))
    return qualified(Fork(table, branch["branch"], branch["fork"]))
