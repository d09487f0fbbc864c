"""Blocks as an orchestrator sees them: their keys, and what it has been told of their attempts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql

Row = dict[str, Any]


@dataclass(frozen=True)
class Report:
    """An attempt that is being reported: nobody else does until this ends."""

    connection: psycopg.Connection[Any]
    execution: Row
    blocks: list[Row]

    def sent(self, run: str | None) -> None:
        self.connection.execute(sql("mark_reported"), {"execution_id": self.execution["id"], "run": run})


class PartitionStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def of_module(self, module: str, limit: int) -> list[Row]:
        return self.database.fetch(sql("partitions_of_module"), module=module, limit=limit)

    def by_number(self, topic: str, seqs: Sequence[int]) -> list[Row]:
        return self.database.fetch(sql("partitions_by_number"), topic=topic, seqs=list(seqs))

    def due(self, topic: str) -> list[Row]:
        """What a run of this topic will load, in order."""
        return self.database.fetch(sql("due_partitions"), topic=topic)

    def states(self) -> dict[str, str]:
        """By module, a text that changes when its partitions may have."""
        return {row["module"]: row["state"] for row in self.database.fetch(sql("changed_modules"))}

    def unreported(self, age: float, limit: int = 1000) -> list[Row]:
        """Attempts that nobody reported within `age` seconds of their end."""
        return self.database.fetch(sql("unreported_executions"), age=age, limit=limit)

    def newest_blocks(self, topic: str) -> list[Row]:
        """The blocks of the attempt that loaded this topic last; empty before the first."""
        row = self.database.fetch_one(sql("newest_execution"), topic=topic)
        return self.database.fetch(sql("blocks_of_execution"), execution_id=row["execution_id"]) if row else []

    def ever_committed(self, topic: str, seqs: Sequence[int]) -> set[int]:
        return {row["seq"] for row in self.database.fetch(sql("numbers_committed"), topic=topic, seqs=list(seqs))}

    @contextmanager
    def reporting(self, topic_id: int, execution_id: int) -> Iterator[Report | None]:
        """Report one attempt. None if it was reported already; what is `sent` inside is kept if the block ends well."""
        with self.database.transaction() as connection:
            connection.execute(sql("lock_reports"), {"topic_id": topic_id})
            row = connection.execute(sql("execution_to_report"), {"execution_id": execution_id}).fetchone()
            if row is None:
                yield None
                return
            blocks = connection.execute(sql("blocks_of_execution"), {"execution_id": execution_id}).fetchall()
            yield Report(connection, row, blocks)
