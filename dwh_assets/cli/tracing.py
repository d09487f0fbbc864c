"""dwh trace: where rows of a built table come from."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Annotated, Any

import typer

from dwh_assets.cli.opening import control_store, settings_of
from dwh_assets.cli.options import Json
from dwh_assets.cli.output import printer
from dwh_assets.cli.trace_detail import print_trace
from dwh_assets.config.settings import Settings
from dwh_assets.control.database import Database
from dwh_assets.control.reports import Reports
from dwh_assets.model.errors import TooManyRows, UnknownRow, UnknownTopic

Row = dict[str, Any]
MOST = 20
AUDIT = ("_block", "_execution", "_loaded_at")


def trace(
    context: typer.Context,
    table: Annotated[str, typer.Argument(help="a built table: db.table", show_default=False)],
    key: Annotated[
        list[str], typer.Argument(metavar="KEY...", help="column=value, one or several; column=null too", show_default=False)
    ],
    as_json: Json = False,
) -> None:
    """Where rows come from: the range they were read from, when, by which attempt and version, and what they were built upon."""
    wanted = parse_key(key)
    settings = settings_of(context)
    with control_store(settings) as database:
        name = built_table(database, table)
        stories = [_story(database, row) for row in _found(database, settings, name, wanted)]
    if as_json:
        printer(True).json(stories)
        return
    for story in stories:
        print_trace(name, wanted, story)


def parse_key(words: list[str]) -> dict[str, str]:
    pairs = [word.partition("=") for word in words]
    if wrong := [word for word, (column, equals, _) in zip(words, pairs, strict=True) if not (column.strip() and equals)]:
        raise typer.BadParameter(f"{wrong[0]!r} is not column=value, such as order_id=812", param_hint="KEY")
    return {column.strip(): value for column, _, value in pairs}


def built_table(database: Database, name: str) -> str:
    """The table that the name stands for; a source or an unknown name is an error that says so."""
    reports = Reports(database)
    if any(source["name"] == name for source in reports.sources()):
        raise UnknownTopic(
            f"{name} is a source: its rows are written elsewhere, and only rows that were built here can be traced."
        )
    return reports.status(reports.topics_named(name))[0]["target"]


def _found(database: Database, settings: Settings, name: str, key: Mapping[str, str]) -> list[Row]:
    from dwh_assets.warehouse.catalog import Catalog  # late: reading tables takes a second to load
    from dwh_assets.warehouse.finding import find_rows
    from dwh_assets.warehouse.object_store import object_store

    with closing(Catalog(database.url, settings.warehouse_root, object_store(settings))) as catalog:
        rows = find_rows(catalog, name, key, MOST + 1)
    columns = ", ".join(key)
    if not rows:
        raise UnknownRow(
            f"no row of {name} has what was given for {columns}.\n"
            "It was never loaded, or has been taken back or replaced since; `dwh status` says how far the table is."
        )
    if len(rows) > MOST:
        raise TooManyRows(f"more than {MOST} rows of {name} have what was given for {columns}; add another column=value.")
    return rows


def _story(database: Database, row: Row) -> Row:
    """One row, and what the ledger tells of it; `from` is null where the ledger does not know its block."""
    reports = Reports(database)
    closed_by = row.get("_closed_by")
    return {
        "row": {name: value for name, value in row.items() if name not in AUDIT},
        "loaded_at": row.get("_loaded_at"),
        "from": reports.trace(row.get("_block"), row.get("_execution")),
        "closed_by": None if closed_by is None else reports.trace(closed_by, None),
    }
