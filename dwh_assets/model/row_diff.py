"""Two lists of rows held against each other, whatever their order, and the difference in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
Show = Callable[[Any], str]
WORDS = ("expected", "got", "missing", "not expected")  # what the two lists, and rows of one alone, are called


@dataclass(frozen=True)
class Changed:
    """A row that was expected, and the one that came in its place."""

    expected: Row
    given: Row

    @property
    def columns(self) -> list[str]:
        return [name for name in self.expected if not same(self.expected[name], self.given[name])]


@dataclass(frozen=True)
class RowDiff:
    changed: tuple[Changed, ...] = ()
    missing: tuple[Row, ...] = ()
    extra: tuple[Row, ...] = ()

    @property
    def empty(self) -> bool:
        return not (self.changed or self.missing or self.extra)

    def lines(self, show: Show = repr, words: tuple[str, str, str, str] = WORDS) -> Iterator[str]:
        """Each difference on a line of its own, the columns that differ first."""
        one, other, only_one, only_other = words
        for pair in self.changed:
            found = "; ".join(f"{c}: {one} {show(pair.expected[c])}, {other} {show(pair.given[c])}" for c in pair.columns)
            alike = [name for name in pair.expected if name not in pair.columns][:3]
            yield f"differs ({_named(pair.expected, alike, show)}): {found}" if alike else f"differs: {found}"
        yield from (f"{only_one}: {_named(row, list(row), show)}" for row in self.missing)
        yield from (f"{only_other}: {_named(row, list(row), show)}" for row in self.extra)


def compare(expected: Sequence[Row], given: Sequence[Row]) -> RowDiff:
    """Rows that are equal are set against each other first; of the others those that have most columns in common."""
    missing, extra = list(expected), list(given)
    for row in expected:
        twin = next((other for other in extra if _alike(row, other) == len(row)), None)
        if twin is not None:
            missing.remove(row)
            extra.remove(twin)
    changed = []
    while missing and extra:
        pairs = ((_alike(e, g), -i, -j) for i, e in enumerate(missing) for j, g in enumerate(extra))
        common, i, j = max(pairs)
        if not common:
            break
        changed.append(Changed(missing.pop(-i), extra.pop(-j)))
    return RowDiff(tuple(changed), tuple(missing), tuple(extra))


def same(one: Any, other: Any) -> bool:
    """Equal; numbers with a point up to the last digits, which depend on the order of a sum."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(one) and math.isnan(other))
    return one == other


def _alike(expected: Row, given: Row) -> int:
    return sum(same(value, given[name]) for name, value in expected.items())


def _named(row: Row, names: Sequence[str], show: Show) -> str:
    return ", ".join(f"{name} {show(row[name])}" for name in names)
