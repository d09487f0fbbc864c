"""dwh drop: take a table and its rows away for good."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from dwh_assets.cli import formats
from dwh_assets.cli.acting import require_reason
from dwh_assets.cli.confirm import confirm
from dwh_assets.cli.opening import settings_of, warehouse, who
from dwh_assets.cli.options import Json, Reason, Yes
from dwh_assets.cli.output import column, printer, working


def drop(
    context: typer.Context,
    table: Annotated[str, typer.Argument(help="db.table; its file is removed or says active: false", show_default=False)],
    reason: Reason = "",
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Drop a table that is built no more: its rows, its files at once, and its cursors. Shows what goes, then asks."""
    from dwh_assets.engine.drop import drop as do_drop
    from dwh_assets.engine.drop import plan_drop

    require_reason("drop", reason)
    out = printer(as_json)
    with warehouse(settings_of(context)) as engine:
        planned = plan_drop(engine, table)
        rows = [asdict(folder) for folder in planned.folders]
        if not rows:
            out.say(f"{table} is dropped already, and nothing of it is left.")
            return
        if not as_json:
            out.rows(rows, COLUMNS)
        confirm(f"Drop {', '.join(row['table'] for row in rows)} for good? {planned.blocks} blocks become history.", yes)
        with working(f"dropping {table}"):
            do_drop(engine, planned, who(), reason)
    if as_json:
        out.json({"act": "drop", "table": table, "blocks": planned.blocks, "tables": rows})
    files = sum(row["files"] for row in rows)
    out.say(f"{table}: dropped, and its {files} files were deleted now. Its log stays: dwh log --events")


COLUMNS = [
    column("table", "table"),
    column("rows", "rows", formats.count, right=True),
    column("files", "files", formats.count, right=True),
    column("size", "bytes", formats.size, right=True),
    column("place", "location", folds=True),
]
