"""dwh profile: how a table and its columns went over time, from what was counted when each block was loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape

from dwh_assets.cli import formats
from dwh_assets.cli.opening import control_store, settings_of
from dwh_assets.cli.options import Csv, Json
from dwh_assets.cli.output import Column, Printer, column, printer
from dwh_assets.cli.tracing import built_table
from dwh_assets.control.lineage import LineageStore
from dwh_assets.control.reports import Reports
from dwh_assets.model.errors import UnknownColumn
from dwh_assets.model.near import did_you_mean

Row = dict[str, Any]
BARS = "▁▂▃▄▅▆▇█"
SERIES = 40  # bars of a sparkline

TABLE = [
    column("blocks", "name"),
    column("of", "blocks", formats.count, right=True),
    column("rows", "rows", formats.count, right=True),
    column("size", "bytes", formats.size, right=True),
    column("from", "min_pos", formats.instant),
    column("to", "max_pos", formats.instant),
    Column("nulls", lambda row: formats.figures({k: int(v) for k, v in row["nulls"].items() if v}), folds=True),
    Column("measures", lambda row: formats.figures(row["measures"]), folds=True, wide=True),
]
COLUMNS = [
    column("column", "column"),
    column("nulls", "nulls", formats.count, right=True),
    Column("ratio", lambda row: "" if row["ratio"] is None else f"{row['ratio']:.1%}", right=True),
    column("worst", "worst"),
    Column("over time", lambda row: row["bars"]),
]


def profile(
    context: typer.Context,
    table: Annotated[str, typer.Argument(help="a built table, or one of its topics", show_default=False)],
    column_name: Annotated[
        str | None, typer.Argument(metavar="COLUMN", help="one column, block by block or day by day", show_default=False)
    ] = None,
    by_day: Annotated[bool, typer.Option("--by-day", help="Sum up the blocks of each day (UTC).")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many blocks, or days, the newest.")] = 40,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Rows and nulls over time, from what was counted when blocks were loaded: no table is read."""
    out = printer(as_json, as_csv)
    with control_store(settings_of(context)) as database:
        reports, name = Reports(database), built_table(database, table)
        rows = reports.profile(reports.topics_named(table), by_day, limit)
        known = [c["name"] for c in LineageStore(database).columns().get(name, [])]
    if column_name is not None:
        _require_column(name, column_name, known)
        _one(out, name, column_name, rows)
    elif out.for_people and rows:
        _all(out, name, rows)
    else:
        out.rows(rows, TABLE, empty=f"Nothing of {table} was loaded yet; `dwh why {table}` says why.")


def _all(out: Printer, name: str, rows: list[Row]) -> None:
    out.say(f"[bold]{escape(name)}[/], {_span(rows)}")
    counts = [row["rows"] for row in rows]
    out.say(
        f"rows   {sparkline(counts)}  {formats.count(sum(counts))}, {formats.count(min(counts))} to {formats.count(max(counts))}"
    )
    for measure in sorted({key for row in rows for key in row["measures"]}):
        values = [float(row["measures"].get(measure, 0)) for row in rows]
        out.say(f"{escape(measure)}   {sparkline(values)}  {sum(values):,.2f}")
    names = sorted({key for row in rows for key in row["nulls"] if not key.startswith("_")})
    out.rows([_summed(key, rows) for key in names], COLUMNS, empty="No column has nulls.")


def _one(out: Printer, name: str, key: str, rows: list[Row]) -> None:
    """A column over time; `min` and `max` are known of the position."""
    found = [
        {"name": row["name"], "rows": row["rows"], "nulls": int(row["nulls"].get(key, 0)), "ratio": _ratio(row, key)}
        | {"min_pos": row["min_pos"], "max_pos": row["max_pos"], "bar": bar}
        for row, bar in zip(rows, _bars([_ratio(row, key) or 0.0 for row in rows], 1.0), strict=True)
    ]
    shown = [
        column("block", "name"),
        column("rows", "rows", formats.count, right=True),
        column("nulls", "nulls", formats.count, right=True),
        Column("ratio", lambda row: "" if row["ratio"] is None else f"{row['ratio']:.1%}", right=True),
        column("", "bar"),
        column("rows from", "min_pos", formats.instant),
        column("to", "max_pos", formats.instant),
    ]
    out.rows(found, shown, title=f"{name}.{key}", empty=f"Nothing of {name} was loaded yet.")


def _summed(key: str, rows: list[Row]) -> Row:
    ratios = [_ratio(row, key) or 0.0 for row in rows]
    worst = max(range(len(rows)), key=lambda i: ratios[i])
    nulls, total = sum(int(row["nulls"].get(key, 0)) for row in rows), sum(row["rows"] for row in rows)
    told = f"{rows[worst]['name']}: {ratios[worst]:.1%}" if ratios[worst] else ""
    return {
        "column": key,
        "nulls": nulls,
        "ratio": nulls / total if total else None,
        "worst": told,
        "bars": sparkline(ratios, 1.0),
    }


def _ratio(row: Row, key: str) -> float | None:
    return int(row["nulls"].get(key, 0)) / row["rows"] if row["rows"] else None


def _span(rows: list[Row]) -> str:
    unit, first, last = "block" if rows[0]["name"].startswith("#") else "day", rows[0]["name"], rows[-1]["name"]
    return f"{unit} {first}" if len(rows) == 1 else f"{len(rows)} {unit}s, {first} to {last}"


def sparkline(values: Sequence[float], top: float | None = None) -> str:
    """The newest values as bars; a bar of no height is a blank space, so that nothing differs from little."""
    return "".join(_bars(list(values)[-SERIES:], top))


def _bars(values: Sequence[float], top: float | None = None) -> list[str]:
    highest = max([*values, 0]) if top is None else top
    return [" " if value <= 0 or not highest else BARS[min(int(value / highest * 8), 7)] for value in values]


def _require_column(table: str, name: str, known: list[str]) -> None:
    if known and name not in known:
        raise UnknownColumn(f"table {table} has no column {name!r}.{did_you_mean(name, known)} It has {', '.join(known)}.")
