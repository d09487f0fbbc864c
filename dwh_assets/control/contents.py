"""What the rows of each block held, noted once for each execution that wrote them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql


@dataclass(frozen=True)
class Content:
    """A committed block as the ledger has it; `hash` is none until its rows were looked at."""

    block_id: int
    topic: str
    rows: int
    execution_id: int
    hash: int | None


class ContentStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def of_table(self, table: str) -> list[Content]:
        found = self.database.fetch(sql("contents_of_table"), table=table)
        return [Content(r["block_id"], r["topic"], r["rows"], r["execution_id"], r["content_hash"]) for r in found]

    def note(self, found: Iterable[tuple[Content, int]]) -> None:
        """The content of blocks of which nothing is noted yet."""
        noted = list(found)
        self.database.execute(
            sql("note_contents"),
            blocks=[content.block_id for content, _ in noted],
            executions=[content.execution_id for content, _ in noted],
            hashes=[hashed for _, hashed in noted],
        )
