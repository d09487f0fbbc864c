"""How values look to people: counts, instants, spans of time, positions, verdicts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from rich.markup import escape

from dwh_assets.model.duration import rough_duration
from dwh_assets.model.position import EARLIEST

COLOURS = {
    "DUE": "green",
    "DUE_FULL": "green",
    "DUE_REPLAY": "green",
    "LOCKED": "cyan",
    "REPEAT": "blue",
    "WAIT_DELAY": "blue",
    "WAIT_DEP": "blue",
    "WINDOW": "blue",
    "BACKOFF": "yellow",
    "DEP_UNKNOWN": "yellow",
    "NOT_INITIALISED": "yellow",
    "INACTIVE": "dim",
    "committed": "green",
    "Succeeded": "green",
    "planned": "dim",
    "open": "cyan",
    "Executing": "cyan",
    "stale": "yellow",
    "skipped": "yellow",
    "failed": "yellow",
    "lost": "yellow",
    "parked": "red",
    "Failed": "red",
    "Aborted": "yellow",
    "Cancelled": "dim",
    "PARKED": "red",
    "FAILED": "red",
}


def coloured(word: str | None, red: bool = False) -> str:
    colour = "red" if red else COLOURS.get(word or "", "")
    return f"[{colour}]{word}[/]" if word and colour else word or ""


def count(value: int | float | Decimal | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def instant(value: datetime | None) -> str:
    """To the second; the first instant that can be is called earliest."""
    if value is None:
        return ""
    return "earliest" if value <= EARLIEST.pos else f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def short_instant(value: datetime | None) -> str:
    """The time of today, else the day and the minute, else the day alone: at most 11 characters."""
    if value is None or value <= EARLIEST.pos:
        return instant(value)
    now, value = datetime.now(UTC), value.astimezone(UTC)
    if value.date() == now.date():
        return f"{value:%H:%M:%S}"
    return f"{value:%m-%d %H:%M}" if value.year == now.year else f"{value:%Y-%m-%d}"


def position(pos: datetime | None, id_: Any) -> str:
    """With all its digits, so that it can be typed again after --to."""
    if pos is None:
        return ""
    return "earliest" if pos <= EARLIEST.pos else f"{pos.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ},{id_}"


def seconds(value: float | None) -> str:
    """How long something took."""
    if value is None:
        return ""
    return f"{value:.2f} s" if value < 10 else f"{value:.0f} s" if value < 600 else span(value)


def span(value: float | None) -> str:
    """How long something is away; whole seconds are enough."""
    return "" if value is None else rough_duration(timedelta(seconds=round(value)))


def size(value: int | None) -> str:
    if value is None:
        return ""
    amount = float(value)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def first_line(text: str | None) -> str:
    return escape((text or "").split("\n", 1)[0])


def figures(values: dict[str, Any] | None) -> str:
    """Names with their numbers, such as nulls by column."""
    return ", ".join(f"{name} {count(v) if isinstance(v, int) else v}" for name, v in (values or {}).items())
