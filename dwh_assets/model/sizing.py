"""How many rows the next blocks should have."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    size: int
    count: int


UNSETTLED = 2
FIRST = 4  # times maxstep: a first block this small still gives a fair rate, and one of maxstep is a block too many in a backlog


def next_blocks(
    maxstep: int, stretch: int, ahead: int, planned: int, rows_per_second: float | None, block_seconds: float
) -> Plan:
    """Blocks of `maxstep` rows, up to `stretch` times larger while behind, sized to take about `block_seconds` each.

    A larger size costs nothing when there is no backlog: the cut ends at the last row. A topic without a measured rate plans
    one block, somewhat larger, so that its first real figure sizes the rest; and it plans few while its size still follows its
    rate, as the first figures of a cold start are far too low for all that is to come.
    """
    if rows_per_second is None:
        return Plan(maxstep * min(stretch, FIRST), 1)
    wanted = int(rows_per_second * block_seconds)
    size = max(maxstep, min(wanted, maxstep * stretch))
    follows = maxstep < size < maxstep * stretch
    return Plan(size, max(0, (min(ahead, UNSETTLED) if follows else ahead) - planned))
