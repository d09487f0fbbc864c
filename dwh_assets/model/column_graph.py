"""Columns of all tables and what they are made of, followed in both directions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from dwh_assets.model.column_lineage import ColumnLineage, Kind

Name = tuple[str, str]  # table, column


@dataclass(frozen=True)
class Step:
    """A column that another one is made of, or goes into, and its own next steps."""

    table: str
    column: str
    kind: Kind | None
    steps: tuple[Step, ...] = ()


@dataclass
class ColumnGraph:
    columns: dict[str, list[str]] = field(default_factory=dict)  # of each table that is known
    up: dict[Name, dict[Name, Kind]] = field(default_factory=lambda: defaultdict(dict))
    down: dict[Name, dict[Name, Kind]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, table: str, found: ColumnLineage) -> None:
        """A table that several modules fill has the columns of all of them."""
        for column, origins in found.columns.items():
            self._know(table, column)
            for origin in origins:
                self._know(origin.table, origin.column)
                self.up[table, column][origin.table, origin.column] = origin.kind
                self.down[origin.table, origin.column][table, column] = origin.kind

    def _know(self, table: str, column: str) -> None:
        known = self.columns.setdefault(table, [])
        if column not in known:
            known.append(column)

    def sources_of(self, table: str, column: str) -> Step:
        return _walk((table, column), None, self.up, frozenset())

    def uses_of(self, table: str, column: str) -> Step:
        return _walk((table, column), None, self.down, frozenset())


def _walk(name: Name, kind: Kind | None, edges: dict[Name, dict[Name, Kind]], above: frozenset[Name]) -> Step:
    """Ends where a column is met again: a table may read itself."""
    following: Iterable[tuple[Name, Kind]] = () if name in above else sorted(edges.get(name, {}).items())
    return Step(*name, kind, tuple(_walk(other, how, edges, above | {name}) for other, how in following))
