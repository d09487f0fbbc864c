"""Rows of data as people read them: a table, or one line a value where a table would be wider than the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from rich.markup import escape

from dwh_assets.cli.output import Column, Printer, console, plain, print_table, table

LONGEST = 60  # letters of a value in a table; JSON and CSV hold it whole
NUMBERS = ("int", "bigint", "smallint", "tinyint", "double", "float", "decimal")


def print_rows(
    out: Printer, types: Mapping[str, str], rows: Sequence[Mapping[str, Any]], title: str = "", empty: str = ""
) -> None:
    if not out.for_people or not rows:
        out.rows(rows, (), title, empty or "No rows.")
        return
    made = table(rows, [_column(name, kind) for name, kind in types.items()], title)
    if sys.stdout.isatty() and console().measure(made).minimum > console().width:
        _print_upright(types, rows, title)
    else:
        print_table(made)


def shown(value: Any) -> str:
    """A value on one line, whole."""
    if value is None:
        return "null"
    if isinstance(value, datetime):
        at = value.astimezone(UTC) if value.tzinfo else value
        return f"{at:%Y-%m-%d %H:%M:%S}" + (f".{at:%f}".rstrip("0") if at.microsecond else "")
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    text = json.dumps(value, default=plain, ensure_ascii=False) if isinstance(value, (dict, list, bool)) else str(value)
    return " ".join(text.split())


def _column(name: str, kind: str) -> Column:
    return Column(escape(name), lambda row: _cell(row[name]), right=kind.partition("(")[0] in NUMBERS)


def _cell(value: Any) -> str:
    text = shown(value)
    if value is None:
        return "[dim]null[/]"
    return escape(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")


def _print_upright(types: Mapping[str, str], rows: Sequence[Mapping[str, Any]], title: str) -> None:
    wide = max(len(name) for name in types)
    console().print(escape(title)) if title else None
    for number, row in enumerate(rows, start=1):
        console().print(f"[dim]row {number}[/]")
        for name in types:
            console().print(f"  {escape(name.ljust(wide))}  {_cell(row[name])}", soft_wrap=True)
