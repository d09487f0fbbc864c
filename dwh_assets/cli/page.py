"""The page of `dwh report html`: one file that needs nothing else, neither a server nor an outside address nor JavaScript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from itertools import groupby
from typing import Any

from dwh_assets.cli import formats
from dwh_assets.cli.page_style import STYLE
from dwh_assets.cli.plots import Point, plot
from dwh_assets.cli.report_columns import example_of, is_amount, names_shown, shown, title_of

Row = Mapping[str, Any]
POINTS = 80  # of a plot; neighbours are put together where there are more
# The page may load nothing at all: what slipped through the escaping could neither run nor call out.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(status: Sequence[Row], series: Sequence[Row], heads: Mapping[str, tuple[str, Sequence[Row]]]) -> str:
    """All of it: figures, topics, plots by table, the head of each report."""
    body = [
        f"<header><h1>Warehouse report</h1><p>{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC</p></header>",
        _figures(status),
        _section("Topics", "", _status(status)),
        _section("Tables over time", "Lag, rows, nulls and duration of the newest blocks of each table.", _plots(series)),
        *(_section(title_of(name.replace("-", "_")).capitalize(), about, _rows(rows)) for name, (about, rows) in heads.items()),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f"<title>Warehouse report</title><style>{STYLE}</style></head><body><main>{''.join(body)}</main></body></html>\n"
    )


def _section(title: str, about: str, inside: str) -> str:
    note = f'<p class="about">{escape(about)}</p>' if about else ""
    return f"<section><h2>{escape(title)}</h2>{note}{inside}</section>"


def _figures(status: Sequence[Row]) -> str:
    lags = [row["lag_seconds"] for row in status if row["lag_seconds"] is not None]
    figures = {
        "topics": (formats.count(len(status)), ""),
        "due": (formats.count(sum(row["due"] for row in status)), ""),
        "greatest lag": (formats.span(max(lags)) if lags else "none", ""),
        "parked": _bad(sum(row["parked"] for row in status)),
        "stale blocks": _bad(sum(row["stale_blocks"] for row in status)),
        "late rows": _bad(sum(row["late_rows"] for row in status)),
    }
    tiles = (f'<div class="tile {kind}"><b>{escape(text)}</b><span>{name}</span></div>' for name, (text, kind) in figures.items())
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _bad(amount: int) -> tuple[str, str]:
    return formats.count(amount), "bad" if amount else ""


_KINDS = {"green": "good", "cyan": "good", "blue": "calm", "yellow": "warn", "dim": "off"}


def _status(status: Sequence[Row]) -> str:
    if not status:
        return '<p class="none">No Lineage is in force yet.</p>'
    return _table([("topic", False), ("verdict", False), ("cursor", False), ("lag", True), ("pending", True), ("why", False)],
                  [_status_cells(row) for row in status])  # fmt: skip


def _status_cells(row: Row) -> list[str]:
    kind = "bad" if row["parked"] else _KINDS.get(formats.COLOURS.get(row["verdict"], ""), "calm")
    return [
        escape(row["topic"]),
        f'<span class="pill {kind}">{escape(row["verdict"])}</span>',
        escape(formats.instant(row["last_pos"])),
        escape(formats.span(row["lag_seconds"])),
        escape(formats.count(row["pending_rows"])) + ("+" if row["more"] and row["pending_rows"] else ""),
        escape(row["why"]),
    ]


def _plots(series: Sequence[Row]) -> str:
    if not series:
        return '<p class="none">Nothing was loaded yet.</p>'
    return "".join(_plots_of(table, list(rows)) for table, rows in groupby(series, key=lambda row: row["table_name"]))


def _plots_of(table: str, rows: Sequence[Row]) -> str:
    groups = together(rows)
    lags = [Point(group["loaded_at"], group["lag_seconds"]) for group in groups if group["lag_seconds"] is not None]
    plots = (
        plot("lag", lags, formats.span),
        plot("rows", _points(groups, "rows"), short_count, "stems"),
        plot("nulls", _points(groups, "nulls"), short_count, "stems"),
        plot("duration", _points(groups, "seconds"), formats.seconds),
    )
    note = f"{len(rows)} blocks" + (f", {-(-len(rows) // len(groups))} in a point" if len(groups) < len(rows) else "")
    return f'<h3>{escape(table)} <small>{note}</small></h3><div class="plots">{"".join(plots)}</div>'


def _points(groups: Sequence[Row], name: str) -> list[Point]:
    return [Point(group["loaded_at"], group[name]) for group in groups]


def together(rows: Sequence[Row], most: int = POINTS) -> list[Row]:
    """Neighbours put together until few enough are left: rows and nulls are added, of lag and duration the greatest counts."""
    size = max(1, -(-len(rows) // most))
    return [_one(rows[start : start + size]) for start in range(0, len(rows), size)]


def _one(rows: Sequence[Row]) -> Row:
    lags = [row["lag_seconds"] for row in rows if row["lag_seconds"] is not None]
    return {
        "loaded_at": rows[-1]["loaded_at"],
        "rows": sum(row["rows"] for row in rows),
        "nulls": sum(row["nulls"] for row in rows),
        "seconds": max(row["seconds"] for row in rows),
        "lag_seconds": max(lags) if lags else None,
    }


def short_count(value: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.0f}"


def _rows(rows: Sequence[Row]) -> str:
    if not rows:
        return '<p class="none">Nothing to report.</p>'
    names = names_shown(rows)
    heads = [(title_of(name), is_amount(example_of(rows, name))) for name in names]
    return _table(heads, [[escape(shown(name, row[name])) for name in names] for row in rows])


def _table(heads: Sequence[tuple[str, bool]], lines: Sequence[Sequence[str]]) -> str:
    """Cells are HTML already; heads are not."""
    sides = [' class="right"' if right else "" for _, right in heads]
    top = "".join(f"<th{side}>{escape(title)}</th>" for side, (title, _) in zip(sides, heads, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{side}>{cell}</td>" for side, cell in zip(sides, line, strict=True)) + "</tr>" for line in lines
    )
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
