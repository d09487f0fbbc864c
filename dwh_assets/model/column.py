"""A column of a table, as people are shown it and as drafts are made of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TableColumn:
    name: str
    type: str  # in Spark's words
    comment: str = ""
    required: bool = False  # its table lets no null in
    key: bool = False  # part of what its table calls the key

    @property
    def is_instant(self) -> bool:
        return self.type == "timestamp"

    @property
    def is_whole_number(self) -> bool:
        return self.type in ("int", "bigint", "smallint") or (self.type.startswith("decimal(") and self.type.endswith(",0)"))
