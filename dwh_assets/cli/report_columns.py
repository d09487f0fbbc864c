"""How the rows of a report look to people: every report has columns of its own, so they are shown by name and type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from rich.markup import escape

from dwh_assets.cli import formats
from dwh_assets.cli.output import Column, column

Row = Mapping[str, Any]
_LONG = ("reason", "newest_text", "problem", "about", "skipped")
_SIZES = ("bytes_written", "bytes_read", "bytes_per_second", "memory")
# What a narrow terminal leaves out, so that there is room for the text; JSON and CSV hold it.
_WIDE = (
    "ended_at", "attempts", "instance", "block_state", "batch", "worker", "lease_until", "usual", "first_at", "code",
    "newest_topic", "base_rows", "bytes_written", "bytes_read", "bytes_per_second", "memory", "nulls", "late_rows", "attempt",
    "status", "number",
)  # fmt: skip
_NUMBERS = ("instance", "block", "number")  # names of things, not amounts


def names_shown(rows: Sequence[Row]) -> list[str]:
    """The columns of a report; one that is empty throughout is left out."""
    return [name for name in (rows[0] if rows else ()) if any(row[name] not in (None, "") for row in rows)]


def columns_of(rows: Sequence[Row]) -> list[Column]:
    return [_column(name, example_of(rows, name)) for name in names_shown(rows)]


def example_of(rows: Sequence[Row], name: str) -> Any:
    return next(row[name] for row in rows if row[name] is not None)


def title_of(name: str) -> str:
    return name.removesuffix("_name").replace("_", " ")


def is_amount(value: Any) -> bool:
    """What is written flush right."""
    return isinstance(value, (int, float, Decimal, timedelta)) and not isinstance(value, bool)


def _column(name: str, example: Any) -> Column:
    look = {"right": is_amount(example), "folds": name in _LONG, "wide": name in _WIDE}
    return column(title_of(name), name, lambda value: escape(shown(name, value)), **look)


def shown(name: str, value: Any) -> str:
    """One value as people read it: by its name where that says more than its type."""
    if value is None:
        return ""
    if name == "share":
        return f"{100 * float(value):.1f} %"
    if name == "seconds":
        return formats.seconds(value)
    if name in _SIZES:
        return formats.size(int(value))
    if name in _NUMBERS:
        return f"#{value}" if name == "block" else str(value)
    return _by_type(value)


def _by_type(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, datetime):
        return formats.instant(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return formats.span(value.total_seconds())
    if isinstance(value, dict):
        return formats.figures(value)
    return value if isinstance(value, str) else formats.count(value)
