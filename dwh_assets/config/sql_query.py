"""A statement that passed the guard, and how it is put in front of Spark: the same text, other table names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Reference:
    """One place where a statement names a table; `table` is none for {{ block }}, a plain word for an earlier view."""

    start: int
    end: int
    table: str | None
    alias: str | None  # to be added, so that `sales.x` still means stage.sales; none where the author gave one


@dataclass(frozen=True)
class Query:
    name: str
    text: str
    references: tuple[Reference, ...] = ()
    target: str | None = None  # of a declared write

    @property
    def tables(self) -> tuple[str, ...]:
        """The declared tables and earlier views that are really used, sorted."""
        return tuple(sorted({r.table for r in self.references if r.table is not None}))

    @property
    def uses_block(self) -> bool:
        return any(r.table is None for r in self.references)

    def render(self, names: Mapping[str, str], block: str) -> str:
        """The text as it was written, each table named as given and `{{ block }}` as `block`."""
        parts, end = [], 0
        for reference in sorted(self.references, key=lambda r: r.start):
            name = block if reference.table is None else names[reference.table]
            parts += [self.text[end : reference.start], name, f" AS {reference.alias}" if reference.alias else ""]
            end = reference.end
        return "".join([*parts, self.text[end:]])
