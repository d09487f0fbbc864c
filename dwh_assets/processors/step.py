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
        assert module.span is not None
        cuts: list[Cut] = []
        start = tail.pos
        while start < upto and len(cuts) < plan.count:
            end = min(start + module.span, upto)
            cuts.append(Cut(Position(end, MAX_ID), 0, end == upto))
            start = end
        return cuts
