"""dwh lineage: check the files, see what an apply would do, apply, look back, show, and the schema for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dwh_assets.cli import columns, formats
from dwh_assets.cli.column_tree import is_column, show_column
from dwh_assets.cli.confirm import confirm
from dwh_assets.cli.opening import control_store, settings_of, warehouse, who
from dwh_assets.cli.options import Csv, Json, Yes
from dwh_assets.cli.output import Printer, printer, working
from dwh_assets.config.lineage_spec import to_spec
from dwh_assets.config.settings import Settings
from dwh_assets.control.lineage import LineageStore
from dwh_assets.control.reports import Reports
from dwh_assets.model.errors import ConfigError
from dwh_assets.model.module import Lineage

if TYPE_CHECKING:
    from dwh_assets.engine.apply import Preview

Row = dict[str, Any]
app = typer.Typer(help="The Lineage: how each table is built.", no_args_is_help=True)
Why = Annotated[str, typer.Option("--reason", "-r", help="Why; kept in the event log.", show_default=False)]
ModuleName = Annotated[str | None, typer.Argument(help="db.table or db.table#tag", show_default=False)]
Shown = Annotated[str | None, typer.Argument(help="db.table, db.table#tag or db.table.column", show_default=False)]


@app.command()
def check(context: typer.Context, as_json: Json = False) -> None:
    """Check the files of this project, SQL included. Needs no server."""
    lineage = lineage_of_files(settings_of(context))
    out = printer(as_json)
    kinds = ("modules", "sources", "commands", "batches", "parameters")
    found = {kind: len(getattr(lineage, kind)) for kind in kinds}
    if as_json:
        out.json(found | {"problems": []})
    out.say(f"[green]ok[/]: {', '.join(f'{count} {kind}' for kind, count in found.items() if count)}.")


@app.command()
def diff(context: typer.Context, as_json: Json = False) -> None:
    """What an apply would do to modules and tables, and which blocks an earlier transform has built. Changes nothing."""
    settings = settings_of(context)
    lineage = lineage_of_files(settings)
    with warehouse(settings, create=True) as engine:
        planned = _preview(engine, lineage)
    _print(planned, printer(as_json))


@app.command()
def apply(context: typer.Context, reason: Why = "", yes: Yes = False, as_json: Json = False) -> None:
    """Put the files in force, all or nothing: create and widen tables, activate and deactivate modules."""
    from dwh_assets.engine.apply import apply as put_in_force
    from dwh_assets.engine.columns import note_columns

    settings, out = settings_of(context), printer(as_json)
    lineage = lineage_of_files(settings)
    with warehouse(settings, create=True) as engine:
        planned = _preview(engine, lineage)
        _print(planned, out)
        if planned.empty:
            return
        confirm("Put this in force?", yes)
        with working("applying"):
            put_in_force(engine, lineage, who(), reason)
        with working("following the columns"):
            note_columns(engine, lineage, (module for module in lineage.modules if module.active))
    out.say("[green]in force.[/]")


@app.command()
def history(context: typer.Context, module: ModuleName = None, as_json: Json = False, as_csv: Csv = False) -> None:
    """Every version of the modules, newest first: who changed what, and when."""
    with control_store(settings_of(context)) as database:
        rows = LineageStore(database).history(module)
        if module is not None and not rows:
            Reports(database).topics_named(module)  # an unknown name is an error with near ones
    found = [row | {"what": _what_changed(row, rows)} for row in rows]
    printer(as_json, as_csv).rows(found, columns.HISTORY, empty="No Lineage was ever applied.")


@app.command()
def schema(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write it to this file instead.")] = None,
) -> None:
    """The JSON schema of Lineage files, for editors."""
    from dwh_assets.config.lineage_files import lineage_schema

    if output is None:
        Printer("json").json(lineage_schema())
        return
    try:
        output.write_text(json.dumps(lineage_schema(), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"the schema could not be written to {output}: {error.strerror or error}. Name another file."
        ) from error
    Printer().say(f"written to {output}")


@app.command()
def show(context: typer.Context, module: Shown = None, as_json: Json = False, as_csv: Csv = False) -> None:
    """The modules that are in force; one of them with everything that it says; of db.table.column where its values come from."""
    out = printer(as_json, as_csv)
    with control_store(settings_of(context)) as database:
        if module is not None and is_column(module):
            show_column(database, module, out)
            return
        names = None if module is None else set(Reports(database).topics_named(module))
        modules = LineageStore(database).active().modules
    chosen = [m for m in modules if names is None or names & set(m.topics)]
    specs = [to_spec(m) | {"base": m.base} for m in chosen]
    if module is None or not out.for_people:
        out.rows(specs, columns.MODULES, empty="No Lineage is in force yet; `dwh lineage apply` puts one in force.")
        return
    for spec in specs:
        _print_spec(out, spec)


def lineage_of_files(settings: Settings) -> Lineage:
    from dwh_assets.config.lineage_files import load_lineage  # late: the SQL parser takes a second that others do not need

    return load_lineage(settings.lineage_folder, settings.transforms_folder)


def _preview(engine: Any, lineage: Lineage) -> Preview:
    from dwh_assets.engine.apply import preview

    with working("asking Spark what each transform gives"):
        return preview(engine, lineage)


def _print(planned: Preview, out: Printer) -> None:
    rows = [_change_row(change) for change in planned.modules]
    rows += [
        {"kind": text.split(" ", 1)[0], "what": "table", "name": table.name, "text": text}
        for table in planned.tables
        for text in table.changes
    ]
    rows += [
        {
            "kind": "outdated",
            "what": "transform",
            "name": old.topic,
            "text": _outdated(old.blocks, old.rows),
            "blocks": old.blocks,
        }
        for old in planned.outdated
    ]
    rows += [{"kind": "warning", "what": "source", "name": "", "text": text} for text in planned.warnings]
    out.rows(rows, columns.CHANGES, empty="Nothing to do: what is in force is what the files say.")


def _outdated(blocks: int, rows: int) -> str:
    held = f"{formats.count(blocks)} blocks with {formats.count(rows)} rows were built by an earlier transform"
    return f"{held} and stay as they are; `dwh restate --stale` rebuilds them"


def _change_row(change: Any) -> Row:
    fields = "; ".join(f"{field}: {_short(old)} -> {_short(new)}" for field, old, new in change.fields)
    return {"kind": change.kind, "what": change.what, "name": change.name, "text": fields}


def _what_changed(row: Row, rows: list[Row]) -> str:
    """In words, compared with the version before."""
    if row["spec"] is None:
        return "removed"
    before = next((r for r in rows if r["module"] == row["module"] and r["version"] == row["version"] - 1), None)
    if before is None or before["spec"] is None:
        return "added"
    old, new = before["spec"], row["spec"]
    fields = sorted(f for f in old.keys() | new.keys() if old.get(f) != new.get(f))
    return "; ".join(f"{field}: {_short(old.get(field))} -> {_short(new.get(field))}" for field in fields) or "applied again"


def _short(value: Any) -> str:
    text = "none" if value is None else value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _print_spec(out: Printer, spec: Row) -> None:
    rows = [
        {"name": name, "value": _whole(value)}
        for name, value in spec.items()
        if value not in (None, "", [], {}) and name != "base"
    ]
    out.rows(rows, [columns.column("field", "name"), columns.column("value", "value", folds=True)], title=spec["name"])


def _whole(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
