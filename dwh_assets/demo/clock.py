"""The demo's calendar: a past that was thin, told in cells of five minutes, and a busy present in cells of one second."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

PAST_CELL = timedelta(minutes=5)
LIVE_CELL = timedelta(seconds=1)


@dataclass(frozen=True)
class Clock:
    """Cells are numbered from 0 at `start`; those from `past_cells` on are live."""

    start: datetime
    past: timedelta

    @property
    def past_cells(self) -> int:
        return self.past // PAST_CELL

    @property
    def opening(self) -> datetime:
        """When the past ends and the live feed begins."""
        return self.start + self.past_cells * PAST_CELL

    def is_past(self, cell: int) -> bool:
        return cell < self.past_cells

    def cell_of(self, instant: datetime) -> int:
        """The cell that holds this instant; the first one for everything before the start."""
        if instant < self.opening:
            return max(0, (instant - self.start) // PAST_CELL)
        return self.past_cells + (instant - self.opening) // LIVE_CELL

    def begin(self, cell: int) -> datetime:
        if self.is_past(cell):
            return self.start + cell * PAST_CELL
        return self.opening + (cell - self.past_cells) * LIVE_CELL

    def length(self, cell: int) -> timedelta:
        return PAST_CELL if self.is_past(cell) else LIVE_CELL
