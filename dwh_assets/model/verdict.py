"""Why a topic is or is not due: the same rule as the view `dwh.verdict`, kept here as the plain statement of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from dwh_assets.model.window import Window


class Verdict(StrEnum):
    INACTIVE = "INACTIVE"
    NOT_INITIALISED = "NOT_INITIALISED"
    LOCKED = "LOCKED"
    WINDOW = "WINDOW"
    BACKOFF = "BACKOFF"
    DUE_REPLAY = "DUE_REPLAY"
    DEP_UNKNOWN = "DEP_UNKNOWN"
    WAIT_DEP = "WAIT_DEP"
    WAIT_DELAY = "WAIT_DELAY"
    DUE_FULL = "DUE_FULL"
    REPEAT = "REPEAT"
    DUE = "DUE"


DUE = frozenset({Verdict.DUE, Verdict.DUE_FULL, Verdict.DUE_REPLAY})


@dataclass(frozen=True)
class Dependency:
    table: str
    watermark: datetime | None
    newest: datetime | None = None


@dataclass(frozen=True)
class Facts:
    """What is known of one topic at the instant `now`; the first dependency is its base table."""

    now: datetime
    dependencies: tuple[Dependency, ...]
    active: bool = True
    paused: bool = False  # by a person
    last_pos: datetime | None = None
    leased_until: datetime | None = None
    window: Window | None = None
    timezone: str = "UTC"
    not_before: datetime | None = None
    has_parked: bool = False
    has_open: bool = False
    open_next: datetime | None = None  # where the open block ends; none: below the horizon
    restating: bool = False
    planned_next: datetime | None = None
    examined: datetime | None = None
    by_time: bool = False  # reload and range: due by time, whatever the base holds
    last_full: bool = False
    last_end: datetime | None = None
    delay: timedelta = timedelta()
    repeat: timedelta = timedelta(hours=1)

    @property
    def upto(self) -> datetime:
        """How far the topic may read: no dependency is known to be incomplete below it, and the delay has passed."""
        known = [d.watermark for d in self.dependencies if d.watermark is not None]
        return min([*known, self.now - self.delay])


def decide(facts: Facts) -> Verdict:
    return _before_data(facts) or _by_data(facts)


def _before_data(facts: Facts) -> Verdict | None:
    if not facts.active or facts.paused:
        return Verdict.INACTIVE
    if facts.last_pos is None:
        return Verdict.NOT_INITIALISED
    if facts.leased_until is not None and facts.leased_until > facts.now:
        return Verdict.LOCKED
    if facts.window is not None and not facts.window.is_open(facts.now, facts.timezone):
        return Verdict.WINDOW
    if _held_back(facts):
        return Verdict.BACKOFF
    if facts.restating or (facts.has_open and covers(facts)):
        return Verdict.DUE_REPLAY
    return Verdict.WAIT_DEP if facts.has_open and not unknown(facts) else None


def covers(facts: Facts) -> bool:
    """False while an input that was rolled back has not come back to where the open block ends, or one is new and unknown."""
    return not unknown(facts) and (facts.open_next is None or facts.open_next <= facts.upto)


def unknown(facts: Facts) -> bool:
    return any(d.watermark is None for d in facts.dependencies)


def _held_back(facts: Facts) -> bool:
    waiting = facts.not_before is not None and facts.not_before > facts.now
    return waiting or (facts.has_parked and not facts.restating)


def _by_data(facts: Facts) -> Verdict:
    if unknown(facts):
        return Verdict.DEP_UNKNOWN
    if not has_data(facts):
        return _what_is_awaited(facts)
    if facts.last_full:
        return Verdict.DUE_FULL
    if facts.last_end is not None and facts.last_end + facts.repeat > facts.now:
        return Verdict.REPEAT
    return Verdict.DUE


def has_data(facts: Facts) -> bool:
    """A planned block lies below `upto`, or a range below it was never searched although the base goes beyond."""
    upto = facts.upto
    assert facts.last_pos is not None
    if facts.planned_next is not None and facts.planned_next <= upto:
        return True
    if facts.by_time:
        return upto > facts.last_pos
    newest = facts.dependencies[0].newest
    if newest is None:
        return False
    return facts.examined is None or (upto > facts.examined and newest > facts.examined)


def _what_is_awaited(facts: Facts) -> Verdict:
    least = min(d.watermark for d in facts.dependencies if d.watermark is not None)
    newest = facts.dependencies[0].newest
    assert facts.last_pos is not None
    nothing_newer = newest is None or newest <= facts.last_pos
    return Verdict.WAIT_DEP if least <= facts.now - facts.delay or nothing_newer else Verdict.WAIT_DELAY
