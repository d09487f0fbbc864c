"""The one transaction that publishes a block: guards, catalog pointers, cursor, block, execution, statistics, lease."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Protocol

import psycopg

from dwh_assets.control.claims import lease_lost
from dwh_assets.control.database import Database, one
from dwh_assets.control.events import log_event
from dwh_assets.control.ingest import Ingested, store_ingested
from dwh_assets.control.statements import sql
from dwh_assets.model.block import Block, BlockStats, Claim, RowCounts
from dwh_assets.model.errors import InputsChanged, PointerTaken, TableHeld
from dwh_assets.model.failpoints import failpoint, protected
from dwh_assets.model.position import watermark_of

Connection = psycopg.Connection[Any]


class Pointer(Protocol):
    """Where a table's next metadata lies, and the metadata it was made from."""

    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def old_location(self) -> str: ...
    @property
    def new_location(self) -> str: ...


class CommitStore:
    def __init__(self, database: Database, lease_seconds: float) -> None:
        self.database = database
        self.lease_seconds = lease_seconds

    def commit(
        self,
        claim: Claim,
        pointers: Sequence[Pointer],
        stats: Sequence[BlockStats],
        counts: RowCounts,
        ingested: Ingested | None = None,
    ) -> None:
        """Publish, or change nothing at all.

        Raises LeaseLost or InputsChanged when a guard fails, PointerTaken when another writer published to the same table
        first, TableHeld while one replaces rows of it, and ControlStoreDown when the connection was lost: then the caller
        asks what became of the attempt.
        """
        failpoint("commit.before")
        with self.database.transaction() as connection:
            self._guard(connection, claim)
            publish_pointers(connection, pointers)
            failpoint("commit.pointers")
            if claim.kind == "load":
                _close_block(connection, claim, stats[0])
            elif claim.kind == "restate":
                _close_restatement(connection, claim, stats)
            else:
                _roll_back(connection, claim)
            if ingested is not None:
                store_ingested(connection, claim, ingested)
            self._end(connection, claim, counts)
            failpoint("commit.cursor")
        failpoint("commit.after")

    def _guard(self, connection: Connection, claim: Claim) -> None:
        last = claim.bounds.last
        guards = {
            "topic_id": claim.topic_id,
            "token": claim.token,
            "last_pos": last.pos,
            "last_id": last.id,
            "check_token": protected("token"),
            "check_position": protected("position") and claim.kind == "load",
            "execution_id": claim.execution_id,
            "check_end": _guarded(),
        }
        connection.execute(sql("lock_topic_numbered"), {"topic_id": claim.topic_id})
        if connection.execute(sql("guard_commit"), guards).fetchone() is None:
            raise lease_lost(claim, self.lease_seconds)
        table = {"target": claim.target, "topic_id": claim.topic_id, "token": claim.token}
        if connection.execute(sql("lock_target"), table).fetchone() is None:
            raise TableHeld(f"{claim.label}: another topic is replacing rows of {claim.target}; this block waits for it")
        _guard_generations(connection, claim)

    def _end(self, connection: Connection, claim: Claim, counts: RowCounts) -> None:
        ended = connection.execute(sql("succeed_execution"), asdict(counts) | {"execution_id": claim.execution_id})
        if ended.rowcount != 1 and _guarded():
            raise lease_lost(claim, self.lease_seconds)
        connection.execute(sql("release_table_lease"), {"topic_id": claim.topic_id, "token": claim.token})


def _guarded() -> bool:
    """False in the tests that show what a commit after the end of its attempt would do."""
    return protected("position") and protected("token")


def _guard_generations(connection: Connection, claim: Claim) -> None:
    """An input that was rolled back or restated after the claim must fail this commit, not only the next claim (R17)."""
    inputs = [name for name in claim.module.inputs if name != claim.target]
    connection.execute(sql("share_targets"), {"inputs": inputs})
    changed = connection.execute(
        sql("changed_generations"), {"inputs": inputs, "generations": json.dumps(claim.generations)}
    ).fetchall()
    if changed and protected("generation"):
        names = ", ".join(row["name"] for row in changed)
        raise InputsChanged(
            f"{claim.label}: {names} was rolled back or restated while this attempt ran.\n"
            "Nothing was published; the block is repeated on the new rows."
        )


def publish_pointers(connection: Connection, pointers: Sequence[Pointer]) -> None:
    """Point the catalog at the new metadata of each table, where it still has the value it was made from."""
    for pointer in sorted(pointers, key=lambda p: (p.namespace, p.name)):
        values = {
            "namespace": pointer.namespace,
            "name": pointer.name,
            "old_location": pointer.old_location,
            "new_location": pointer.new_location,
            "check_pointer": protected("pointer"),
        }
        if connection.execute(sql("publish_pointer"), values).rowcount == 0:
            raise PointerTaken(f"table {pointer.namespace}.{pointer.name} was published to by another writer meanwhile")


def _close_block(connection: Connection, claim: Claim, stats: BlockStats) -> None:
    block = claim.block
    watermark = one(connection.execute(sql("topic_watermark"), {"topic_id": claim.topic_id}))["watermark"]
    if watermark is not None and block.bounds.next.pos <= watermark and not block.contents:
        # Its rows came after the topic was told to be complete: others have read the table without them.
        _outdate_readers(connection, claim, block.bounds.last.pos)
    connection.execute(
        sql("move_cursor"),
        {
            "topic_id": claim.topic_id,
            "next_pos": block.bounds.next.pos,
            "next_id": block.bounds.next.id,
            "watermark": _watermark(block),
            "takes_all": block.takes_all,
            "rate": stats.base_rows / stats.seconds if stats.base_rows and stats.seconds else None,
        },
    )
    _store_block(connection, claim, stats)


def _watermark(block: Block) -> datetime:
    """How far readers may trust the table: not as far as its cursor, which may stand between rows of equal pos (R16)."""
    return watermark_of(block.bounds.next, block.upto, block.takes_all) if protected("watermark") else block.bounds.next.pos


def _close_restatement(connection: Connection, claim: Claim, stats: Sequence[BlockStats]) -> None:
    for block in stats:
        _store_block(connection, claim, block)
    _end_restatement(connection, claim, claim.bounds.last.pos)
    connection.execute(sql("release_topic"), {"topic_id": claim.topic_id})


def _roll_back(connection: Connection, claim: Claim) -> None:
    """The load window goes back with the rows, in the same transaction (D7)."""
    first = claim.blocks[0]
    window = {"topic_id": claim.topic_id, "pos": first.bounds.last.pos, "id": first.bounds.last.id, "seq": first.seq}
    begins = one(connection.execute(sql("first_pos_of_rows"), window))["pos"]
    connection.execute(sql("void_blocks_from"), window)
    connection.execute(sql("set_cursor_back"), window)
    _end_restatement(connection, claim, begins or first.bounds.last.pos)


def _end_restatement(connection: Connection, claim: Claim, from_pos: datetime) -> None:
    _outdate_readers(connection, claim, from_pos)
    connection.execute(sql("end_restatement"), {"id": claim.restatement})


def _outdate_readers(connection: Connection, claim: Claim, from_pos: datetime) -> None:
    """Attempts that read the table before must not commit, and what was built upon the range is stale."""
    connection.execute(sql("raise_generation"), {"target": claim.target})
    marked = mark_stale(connection, claim.target, from_pos, claim.bounds.next.pos)
    if marked:
        text = f"{claim.kind} of {claim.topic}: {len(marked)} blocks built upon it are stale: " + _names(marked)
        log_event(
            connection, "STALE", text, who=claim.worker, kind="information", topic=claim.topic, execution_id=claim.execution_id
        )


def _names(marked: list[tuple[str, int]]) -> str:
    shown = ", ".join(f"{topic} #{block}" for topic, block in marked[:20])
    return shown + (f" and {len(marked) - 20} more" if len(marked) > 20 else "")


def mark_stale(connection: Connection, table: str, from_pos: datetime, to_pos: datetime) -> list[tuple[str, int]]:
    """Mark the committed blocks that were built upon a range of a table, and what was built upon those, and so on."""
    marked: list[tuple[str, int]] = []
    ranges = [(table, from_pos, to_pos)] if protected("stale") else []
    while ranges:
        name, low, high = ranges.pop()
        rows = connection.execute(sql("mark_stale"), {"table": name, "from_pos": low, "to_pos": high}).fetchall()
        marked.extend((row["topic"], row["id"]) for row in rows)
        for target in {row["target"] for row in rows}:
            mine = [row for row in rows if row["target"] == target]
            ranges.append((target, min(row["last_pos"] for row in mine), max(row["next_pos"] for row in mine)))
    return marked


def _store_block(connection: Connection, claim: Claim, stats: BlockStats) -> None:
    connection.execute(
        sql("commit_block"), {"block_id": stats.block_id, "base_rows": stats.base_rows, "hash_sum": stats.hash_sum}
    )
    values = asdict(stats) | {"topic_id": claim.topic_id, "execution_id": claim.execution_id}
    for name in ("nulls", "measures", "expects", "checks"):
        values[name] = json.dumps(values[name], default=str)
    connection.execute(sql("store_stats"), values)
