"""The completeness audit in the ledger: which blocks are to be looked at, what was found, and what is to be loaded again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from dwh_assets.control.blocks import block_of
from dwh_assets.control.claims import lock_topic
from dwh_assets.control.database import Database
from dwh_assets.control.events import log_event
from dwh_assets.control.statements import sql
from dwh_assets.model.block import Block

Found = Literal["more", "fewer", "other", "values", "gone"]
Row = dict[str, Any]
WHO = "audit"
NEWEST, SAMPLE = 20, 20  # blocks of a topic that a round may choose from


@dataclass(frozen=True)
class Audited:
    """A committed block, and what is noted of its base rows."""

    block: Block
    topic: str
    module: str
    shard: str | None
    execution_id: int
    snapshot: int | None
    content: int | None
    hashed: tuple[str, ...]
    files: str | None
    found: Found | None


@dataclass(frozen=True)
class Verdict:
    """How a block was found, and what was learned of its base rows on the way."""

    found: Found | None
    text: str = ""
    content: int | None = None
    hashed: tuple[str, ...] = ()
    files: str | None = None


class AuditStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def blocks(self, topics: Sequence[str], newest_before: datetime, before: datetime) -> list[Audited]:
        """The newest blocks first, then those that were looked at longest ago."""
        asked = {"topics": list(topics), "newest": NEWEST, "sample": SAMPLE, "newest_before": newest_before, "before": before}
        return [_audited(row) for row in self.database.fetch(sql("blocks_to_audit"), **asked)]

    def spent(self) -> int:
        """Rows that were read for audits in the last hour."""
        (row,) = self.database.fetch(sql("audit_spent"))
        return row["rows"]

    def note(self, audited: Audited, verdict: Verdict) -> bool:
        """Keep the verdict and raise its alert, in one transaction. False where the block was loaded again meanwhile."""
        values = {
            "block_id": audited.block.id,
            "execution_id": audited.execution_id,
            "found": verdict.found,
            "content": verdict.content,
            "hashed": list(verdict.hashed) or None,
            "files": verdict.files,
        }
        with self.database.transaction() as connection:
            if connection.execute(sql("note_audit"), values).fetchone() is None:
                return False
            told = {**values, "topic": audited.topic, "text": verdict.text}
            if verdict.found is not None and connection.execute(sql("raise_audit"), told).fetchone() is not None:
                log_event(connection, "AUDIT", verdict.text, who=WHO, topic=audited.topic, block_id=audited.block.id)
        return True

    def to_heal(self) -> list[Row]:
        return self.database.fetch(sql("blocks_to_heal"), who=WHO)

    def queue(self, topic: str, block_id: int, seq: int) -> bool:
        """Ask for the restatement of one block. Whoever loads the topic now is not disturbed: the next claim carries it out."""
        reason = f"the base rows of block #{block_id} have changed since they were read"
        with self.database.transaction() as connection:
            row = lock_topic(connection, topic)
            asked = {"topic_id": row["id"], "kind": "restate", "first": seq, "last": seq, "reason": reason, "who": WHO}
            if connection.execute(sql("insert_restatement"), asked).fetchone() is None:
                return False
            log_event(connection, "RESTATE", reason, who=WHO, topic=topic, block_id=block_id)
        return True


def _audited(row: Row) -> Audited:
    return Audited(
        block=block_of(row),
        topic=row["topic"],
        module=row["module"],
        shard=row["shard"],
        execution_id=row["execution_id"],
        snapshot=row["snapshot"],
        content=None if row["base_content"] is None else int(row["base_content"]),
        hashed=tuple(row["base_hashed"] or ()),
        files=row["base_files"],
        found=row["audit_found"],
    )
