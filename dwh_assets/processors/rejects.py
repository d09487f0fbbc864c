"""What an attempt could not load: kept in a table of its own, on a branch that is published with the block or not at all."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from dwh_assets.warehouse.branches import Fork, branch_of, fork, qualified
from dwh_assets.warehouse.catalog import Catalog


@dataclass
class Rejects:
    """The branch is made when it is first needed: most blocks have nothing to reject."""

    catalog: Catalog = field(repr=False)
    table: str
    execution_id: int
    known: Collection[int] = ()  # blocks that have dead letters in the table
    replayed: Collection[tuple[int, str]] = ()  # block and reason of those that a later block has tried again: they stay
    fork: Fork | None = None
    counted: list[tuple[int, str, int]] = field(default_factory=list)  # block, reason, rows

    @property
    def name(self) -> str:
        return branch_of(self.execution_id)

    @property
    def rows(self) -> int:
        return sum(rows for *_, rows in self.counted)

    def branch(self) -> str:
        """What Spark calls the branch."""
        if self.fork is None:
            self.fork = fork(self.catalog, self.table, self.execution_id)
        return qualified(self.fork)
