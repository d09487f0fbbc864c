"""Shrinking: of a schedule that fails, the shortest part that is found to fail, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dwh_assets.chaos.schedule import Schedule


def shrink(schedule: Schedule, fails: Callable[[Schedule], bool], tries: int) -> Schedule:
    """Leave out halves, then quarters, down to single faults, as long as it fails; `fails` is asked at most `tries` times.

    A race does not show itself each time, so what is left may not be the shortest; but all of it was seen to fail.
    """
    size = max(1, len(schedule) // 2)
    while tries > 0 and schedule:
        shorter = None
        for candidate in _without(schedule, size):
            if tries == 0:
                return schedule
            tries -= 1
            if fails(candidate):
                shorter = candidate
                break
        if shorter is not None:
            schedule = shorter
            size = max(1, min(size, len(schedule) // 2))
        elif size == 1:
            return schedule
        else:
            size //= 2
    return schedule


def _without(schedule: Schedule, size: int) -> Iterator[Schedule]:
    for start in range(0, len(schedule), size):
        yield schedule[:start] + schedule[start + size :]
