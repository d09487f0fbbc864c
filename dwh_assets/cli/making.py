"""dwh new: files of a new table, written from the columns that its source really has."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from dwh_assets.cli.lineage import lineage_of_files
from dwh_assets.cli.opening import settings_of, warehouse
from dwh_assets.cli.options import Json
from dwh_assets.cli.output import printer, working

app = typer.Typer(help="Files for something new.", no_args_is_help=True)


@app.callback()
def new() -> None:
    """Files for something new."""


@app.command()
def table(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="the new table: db.table or db.table#tag", show_default=False)],
    base: Annotated[str, typer.Option("--from", help="A source, a built table, or any table of the catalog.")],
    processor: Annotated[
        str | None, typer.Option("--processor", help="step (default), one_day_step, upsert, history, reload.", show_default=False)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the files and write nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Write Lineage and SQL of a new table from its base's real columns. No file is ever overwritten."""
    from dwh_assets.engine.drafting import draft_table, write_draft

    settings, out = settings_of(context), printer(as_json)
    lineage = lineage_of_files(settings)
    with warehouse(settings, create=True) as engine, working(f"looking at {base}"):
        files = draft_table(engine, lineage, name, base, processor)
        if not dry_run:
            write_draft(files, settings.project, settings.lineage_folder, settings.transforms_folder)
    if as_json:
        out.json({"written": not dry_run, "files": files})
    for file, text in files.items():
        out.say(f"[green]written[/] {file}" if not dry_run else f"[bold]{file}[/]")
        if dry_run:
            out.say(escape(text))
    if not dry_run:
        out.say(f"Look at it: dwh preview {name}     Put it in force: dwh lineage diff, dwh lineage apply")
