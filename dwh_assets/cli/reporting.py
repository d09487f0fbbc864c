"""dwh report: the reports by name, and all of them as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from dwh_assets.cli.opening import control_store, settings_of
from dwh_assets.cli.options import Csv, Json
from dwh_assets.cli.output import Printer, column, printer
from dwh_assets.cli.page import page
from dwh_assets.cli.report_columns import columns_of
from dwh_assets.config.settings import Settings
from dwh_assets.control.database import Database
from dwh_assets.control.report_views import ReportViews
from dwh_assets.control.reports import Reports
from dwh_assets.model.errors import ConfigError

HTML = "html"
SHOWN = 50  # rows of a report where a person reads it
TABLES = 60  # of the page, the most recently loaded
BLOCKS = 400  # of each table, the newest
HEAD = 8  # rows of each report on the page
LISTED = [column("report", "name"), column("shows", "about", folds=True)]


def report(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="a report, or html; none lists them", show_default=False)] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help=f"How many rows; {SHOWN} as a table, else all.", show_default=False)
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--output", "-o", help="html: where to write the page.", show_default=False)
    ] = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """A report by its name; without one, the list of them. `dwh report html` writes them all, with plots, as one page."""
    out, settings = printer(as_json, as_csv), settings_of(context)
    if file is not None and name != HTML:
        raise ConfigError("--output is for `dwh report html`; send other reports to a file with > FILE.")
    with control_store(settings) as database:
        if name is None:
            html = {"name": HTML, "about": "one page with plots of every table, its status, and the head of each report"}
            out.rows([{"name": row["name"], "about": row["about"]} for row in ReportViews(database).listed()] + [html], LISTED)
        elif name == HTML:
            _write_page(database, settings, file, out)
        else:
            _print_report(database, name, limit, out)


def _print_report(database: Database, name: str, limit: int | None, out: Printer) -> None:
    wanted = (limit or SHOWN) + 1 if out.for_people else limit
    rows = ReportViews(database).rows(name, wanted)
    more = out.for_people and len(rows) == wanted
    shown = rows[:-1] if more else rows
    out.rows(shown, columns_of(shown), empty="Nothing to report.")
    if more:
        out.say(f"The first {len(shown)}; --limit N shows more, --json and --csv hold all.")


def _write_page(database: Database, settings: Settings, file: Path | None, out: Printer) -> None:
    views = ReportViews(database)
    heads = {row["name"]: (row["about"], views.rows(row["name"], HEAD)) for row in views.listed()}
    made = page(Reports(database).status(), views.series(TABLES, BLOCKS), heads)
    place = file or settings.home / "report.html"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(made, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"the page could not be written to {place}: {error.strerror or error}. Name another file with -o."
        ) from error
    if not out.for_people:
        out.json({"file": str(place), "bytes": len(made.encode())})
    out.say(f"Written to {escape(str(place))}.")
