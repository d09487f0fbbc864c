"""How late rows become visible, as a histogram: few buckets, whose bounds are delays that a person would write."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from datetime import timedelta

MINUTE, HOUR, DAY = 60, 3600, 86400
# Never change or reorder these: the control store holds their numbers. Bucket n holds what is at most the n-th of them, counted
# from 1; bucket 0 what came in order, whatever its age; one more bucket what came later than all of them.
BOUNDS = (
    1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, MINUTE, 90, 2 * MINUTE, 3 * MINUTE, 5 * MINUTE, 7 * MINUTE, 10 * MINUTE, 15 * MINUTE,
    20 * MINUTE, 30 * MINUTE, 45 * MINUTE, HOUR, 90 * MINUTE, 2 * HOUR, 3 * HOUR, 4 * HOUR, 6 * HOUR, 9 * HOUR, 12 * HOUR,
    18 * HOUR, DAY, 2 * DAY, 3 * DAY, 7 * DAY,
)  # fmt: skip
IN_ORDER = 0
Counts = Mapping[int, int]  # bucket -> rows


def bucket_of(lateness: timedelta) -> int:
    """What is visible before its own position counts as at once."""
    return bisect_left(BOUNDS, max(lateness.total_seconds(), 0.0)) + 1


def bound_of(bucket: int) -> timedelta | None:
    """The delay that covers a bucket; None where no bound does."""
    if bucket == IN_ORDER:
        return timedelta()
    return timedelta(seconds=BOUNDS[bucket - 1]) if bucket <= len(BOUNDS) else None


def covering(counts: Counts, share: float) -> int | None:
    """The least bucket up to which this share of the rows lies; None where there are no rows."""
    total, seen = sum(counts.values()), 0
    for bucket in sorted(counts):
        seen += counts[bucket]
        if seen >= share * total:
            return bucket
    return None


def covered(counts: Counts, delay: timedelta) -> float:
    """The share of the rows that a delay covers."""
    total = sum(counts.values())
    inside = sum(count for bucket, count in counts.items() if (bound := bound_of(bucket)) is not None and bound <= delay)
    return inside / total if total else 1.0


def spread(lower: timedelta, upper: timedelta, rows: int) -> dict[int, int]:
    """Rows that came between two latenesses, as if they lay evenly between them; each counts in the bucket above it."""
    first, last = bucket_of(lower), bucket_of(upper)
    width = (upper - lower).total_seconds()
    if first == last or width <= 0:
        return {last: rows}
    found, taken = {}, 0
    for bucket in range(first, last):
        edge = (timedelta(seconds=BOUNDS[bucket - 1]) - lower).total_seconds()
        part = int(rows * edge / width) - taken
        taken += part
        found[bucket] = part
    return {bucket: part for bucket, part in (found | {last: rows - taken}).items() if part}
