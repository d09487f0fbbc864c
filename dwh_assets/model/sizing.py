"""How many rows the next blocks should have."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    size: int
    count: int


def next_blocks(maxstep: int, stretch: int, ahead: int, rows_per_second: float | None, block_seconds: float) -> Plan:
    """Blocks of `maxstep` rows, up to `stretch` times larger while behind, sized to take about `block_seconds` each.

    A larger size costs nothing when there is no backlog: the cut ends at the last row. A topic without a measured rate plans
    one block, so that its first real figure sizes the rest.
    """
    if rows_per_second is None:
        return Plan(maxstep, 1)
    wanted = int(rows_per_second * block_seconds)
    return Plan(max(maxstep, min(wanted, maxstep * stretch)), ahead)
