"""dwh sql and dwh export: questions in SQL, and tables taken out as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dwh_assets.cli import formats
from dwh_assets.cli.opening import settings_of, warehouse
from dwh_assets.cli.options import Csv, Json
from dwh_assets.cli.output import Printer, printer, warn, working
from dwh_assets.cli.rows import print_rows
from dwh_assets.model.errors import ActRefused

if TYPE_CHECKING:
    from dwh_assets.engine.engine import Engine
    from dwh_assets.model.module import Lineage


def sql(
    context: typer.Context,
    query: Annotated[str | None, typer.Argument(help="one SELECT; without it a prompt opens", show_default=False)] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="At most so many rows; 0 means all.")] = 100,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Ask all tables, built ones and sources, in Spark's SQL. It only reads.

    There is no way to write: the rows of a loaded table and its cursor move in one transaction, and a row that was changed by
    hand would make untrue what the ledger proves. To change rows, change the transform and `dwh restate`; to take some out,
    `dwh export`.
    """
    out = printer(as_json, as_csv)
    with warehouse(settings_of(context)) as engine:
        lineage = engine.lineage.active()
        if query is not None:
            answer(engine, lineage, query, limit, out)
            return
        from dwh_assets.cli.prompt import prompt

        prompt(engine, lineage, limit, out)


def answer(engine: Engine, lineage: Lineage, query: str, limit: int, out: Printer) -> None:
    from dwh_assets.engine.asking import ask

    with working("asking Spark"):
        found = ask(engine, lineage, query, limit or None)
    print_rows(out, found.columns, found.rows)
    if found.more:
        warn(f"Only the first {formats.count(limit)} rows; --limit 0 shows all.")


def export(
    context: typer.Context,
    to: Annotated[Path, typer.Option("--to", help="file.csv or file.parquet", show_default=False)],
    table: Annotated[str | None, typer.Argument(help="a table, with all its columns and rows", show_default=False)] = None,
    query: Annotated[str | None, typer.Option("--sql", help="What one SELECT gives, instead of a table.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    as_json: Json = False,
) -> None:
    """A table, or what a query gives, as a CSV or Parquet file. The file appears when it is complete."""
    from dwh_assets.engine.asking import NAME, frame_of, question
    from dwh_assets.engine.exporting import export as write
    from dwh_assets.engine.exporting import require_path
    from dwh_assets.processors.looking import batches

    if (table is None) == (query is None):
        raise ActRefused("say what to export, in one way: a table, or --sql 'select ...'. Nothing was written.")
    require_path(to, force)
    with warehouse(settings_of(context)) as engine, working(f"writing {to.name}", long=True):
        lineage = engine.lineage.active()
        frame = question(engine, lineage, query) if query is not None else frame_of(engine, lineage, table or "")
        rows = write(batches(frame, table or NAME), to)
    out = printer(as_json)
    if as_json:
        out.json({"file": str(to), "rows": rows, "bytes": to.stat().st_size})
    out.say(f"{formats.count(rows)} rows, {formats.size(to.stat().st_size)}, in {to}")
