"""When a topic should be done: its next time by repeat, back-off, delay or window, and its rows at its own speed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from dwh_assets.model.duration import rough_duration
from dwh_assets.model.verdict import DUE

Row = dict[str, Any]


@dataclass(frozen=True)
class Estimate:
    """`at` is None where no clock can tell; the text says what it depends on."""

    at: datetime | None
    text: str


def estimate(row: Row, held_by: Estimate | None) -> Estimate:
    """When all that is known to wait for this topic should be loaded. `held_by` is the estimate of what holds it back."""
    begins = _BEGINS.get(row["verdict"], _now)(row, held_by)
    if begins.at is None:
        return begins
    work = _work(row)
    if work is None:
        return Estimate(None, f"{begins.text}, then {row['pending_rows']:,} rows at a speed not known yet")
    rows = f"{row['pending_rows']:,} rows at {row['rows_per_second']:,.0f} rows/s" if row["pending_rows"] else ""
    done = max(begins.at + work, row["at"])  # a block that takes longer than usual is done now at the earliest
    return Estimate(done, ", ".join(part for part in (begins.text, rows) if part))


def usual(row: Row) -> str:
    """What its newest blocks were like, in words; nothing where it has none."""
    history = row["history"]
    if not history or not history["blocks"]:
        return ""
    every = f", one every {rough_duration(timedelta(seconds=round(history['apart'])))}" if history["apart"] else ""
    blocks = "its last block" if history["blocks"] == 1 else f"its last {history['blocks']} blocks"
    return f"{blocks} took {rough_duration(timedelta(seconds=round(history['seconds'], 1)))} each (median){every}"


def _work(row: Row) -> timedelta | None:
    """What is planned, at its own speed, but no less than its blocks take; what is not known yet, as its blocks usually are."""
    least = _block(row) * max(row["planned_blocks"], int(row["verdict"] in DUE))
    if not row["pending_rows"]:
        return least
    if not row["rows_per_second"]:
        return None
    return max(least, timedelta(seconds=row["pending_rows"] / row["rows_per_second"]))


def _block(row: Row) -> timedelta:
    history = row["history"]
    return timedelta(seconds=history["seconds"]) if history and history["blocks"] else timedelta()


def _now(row: Row, held_by: Estimate | None) -> Estimate:
    return Estimate(row["at"], "as soon as a worker is free")


def _locked(row: Row, held_by: Estimate | None) -> Estimate:
    """A block that is being loaded counts from when it was begun."""
    begun = row["history"]["begun_at"] if row["history"] else None
    return Estimate(begun or row["at"], f"loading since {begun:%H:%M:%S}" if begun else "loading now")


def _never(row: Row, held_by: Estimate | None) -> Estimate:
    return Estimate(None, "when a person acts")


def _backoff(row: Row, held_by: Estimate | None) -> Estimate:
    if row["parked"] or row["not_before"] is None:
        return _never(row, held_by)
    return Estimate(row["not_before"], f"tried again at {row['not_before']:%H:%M:%S}")


def _repeat(row: Row, held_by: Estimate | None) -> Estimate:
    due = row["last_end"] + timedelta(seconds=row["repeat_seconds"])
    return Estimate(due, f"runs at {due:%H:%M:%S}")


def _delay(row: Row, held_by: Estimate | None) -> Estimate:
    """The newest row of the base is old enough when the delay has passed over it."""
    ripe = max(row["newest"] + timedelta(seconds=row["delay_seconds"]), row["at"]) if row["newest"] else row["at"]
    return Estimate(ripe, f"newest rows are old enough at {ripe:%H:%M:%S}")


def _window(row: Row, held_by: Estimate | None) -> Estimate:
    local = row["at"].astimezone(ZoneInfo(row["timezone"]))
    opens = datetime.combine(local.date(), row["window_start"], local.tzinfo)
    if opens <= local:
        opens = datetime.combine(local.date() + timedelta(days=1), row["window_start"], local.tzinfo)
    return Estimate(opens.astimezone(row["at"].tzinfo), f"its window opens at {opens:%H:%M} {row['timezone']}")


def _dependency(row: Row, held_by: Estimate | None) -> Estimate:
    if held_by is None or held_by.at is None:
        return Estimate(None, held_by.text if held_by else "when what it waits for is there")
    free = row["last_end"] + timedelta(seconds=row["repeat_seconds"]) if row["last_end"] else row["at"]
    return Estimate(max(held_by.at, free), "after what it waits for")


_BEGINS: dict[str, Callable[[Row, Estimate | None], Estimate]] = {
    "INACTIVE": _never,
    "NOT_INITIALISED": _never,
    "LOCKED": _locked,
    "BACKOFF": _backoff,
    "REPEAT": _repeat,
    "WAIT_DELAY": _delay,
    "WINDOW": _window,
    "WAIT_DEP": _dependency,
    "DEP_UNKNOWN": _dependency,
}
