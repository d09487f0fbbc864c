"""dwh preview: what a table's transform makes of its next block, before anything is in force or written."""

from __future__ import annotations

from typing import Annotated

import typer

from dwh_assets.cli import formats
from dwh_assets.cli.lineage import lineage_of_files
from dwh_assets.cli.opening import settings_of, warehouse
from dwh_assets.cli.options import Csv, Json
from dwh_assets.cli.output import printer, working
from dwh_assets.cli.rows import print_rows
from dwh_assets.model.position import Bounds


def preview(
    context: typer.Context,
    table: Annotated[
        str, typer.Argument(help=r"a table of lineage/, in force or not: db.table\[#tag][:shard]", show_default=False)
    ],
    rows: Annotated[int, typer.Option("--rows", min=1, help="How many rows to show.")] = 20,
    sample: Annotated[
        int | None, typer.Option("--sample", min=1, help="Transform only the first so many base rows of the block.")
    ] = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """The transform's result for the next block. Writes nothing: no lease, no branch, no row of the control store."""
    from dwh_assets.engine.previewing import look_ahead

    settings, out = settings_of(context), printer(as_json, as_csv)
    lineage = lineage_of_files(settings)
    with warehouse(settings, create=True) as engine, working("running the transform", long=True):
        sight = look_ahead(engine, lineage, table, rows, sample)
    if as_json:
        bounds = None if sight.bounds is None else _bounds(sight.bounds)
        facts = {"topic": sight.topic, "block": bounds, "base_rows": sight.base_rows, "notes": sight.notes}
        out.json(facts | {"columns": sight.output.columns, "rows": sight.output.rows, "more": sight.output.more})
        return
    print_rows(out, sight.output.columns, sight.output.rows, empty=f"The block of {sight.topic} gives no rows.")
    out.say(_summary(sight.topic, sight.bounds, sight.base_rows, sight.notes))
    if sight.output.more:
        out.say(f"Only the first {rows} rows are shown; --rows shows more.")


def _bounds(bounds: Bounds) -> dict[str, object]:
    return {"last_pos": bounds.last.pos, "last_id": bounds.last.id, "next_pos": bounds.next.pos, "next_id": bounds.next.id}


def _summary(topic: str, bounds: Bounds | None, base_rows: int | None, notes: tuple[str, ...]) -> str:
    read = (
        "its base as a whole" if bounds is None else f"{formats.instant(bounds.last.pos)} .. {formats.instant(bounds.next.pos)}"
    )
    rows = f", {formats.count(base_rows)} base rows" if base_rows and bounds is not None else ""
    return f"{topic}: {read}{rows} ({'; '.join(notes)}). Nothing was written."
