"""Step and its relatives that differ only in where blocks end: OneDayStep by the day, Range by a span of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from dwh_assets.model.module import Module
from dwh_assets.model.position import MAX_ID, MICROSECOND, Position
from dwh_assets.model.sizing import Plan
from dwh_assets.processors.processor import Processor
from dwh_assets.sources.source import Cut, Source


class Step(Processor):
    """Incremental: each block is appended (S40)."""


class OneDayStep(Processor):
    """A block never spans two days of the module's time zone (S44)."""

    def cut(self, source: Source, tail: Position, upto: datetime, plan: Plan, module: Module, shard: str | None) -> list[Cut]:
        cuts: list[Cut] = []
        while len(cuts) < plan.count:
            first = source.cut(tail, upto, 1, 1, shard)
            if not first:
                return cuts
            end = min(last_instant_of_day(first[0].next.pos, module.timezone), upto)
            found = source.cut(tail, end, plan.size, plan.count - len(cuts), shard)
            cuts += [Cut(cut.next, cut.rows, cut.takes_all and end == upto) for cut in found]
            tail = cuts[-1].next
            if cuts[-1].takes_all:
                return cuts
        return cuts


def last_instant_of_day(instant: datetime, timezone: str) -> datetime:
    local = instant.astimezone(ZoneInfo(timezone))
    midnight = (local.replace(tzinfo=None) + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight.replace(tzinfo=ZoneInfo(timezone)).astimezone(UTC) - MICROSECOND


class Range(Processor):
    """Blocks by a span of time, for pulls from an outside database; never backwards: each follows the last (S42)."""

    def cut(self, source: Source, tail: Position, upto: datetime, plan: Plan, module: Module, shard: str | None) -> list[Cut]:
        """Spans are counted from the tail. A stretch without rows is one block, however many spans it covers."""
        assert module.span is not None
        cuts: list[Cut] = []
        while tail.pos < upto and len(cuts) < plan.count:
            end = min(_end_of_span(source, tail, upto, module.span, shard), upto)
            tail = Position(end, MAX_ID)
            cuts.append(Cut(tail, 0, end == upto))
        return cuts


def _end_of_span(source: Source, tail: Position, upto: datetime, span: timedelta, shard: str | None) -> datetime:
    """The end of the span behind the tail, or of the empty spans before the one that holds the next row."""
    first = source.cut(tail, upto, 1, 1, shard)
    if not first:
        return upto
    empty = (first[0].next.pos - tail.pos - MICROSECOND) // span  # whole spans, closed at their end, that lie before the row
    return tail.pos + max(empty, 1) * span
