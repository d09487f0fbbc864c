"""Topics: their verdicts, their plans, their first cursor."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg

from dwh_assets.control.blocks import block_of
from dwh_assets.control.database import Database
from dwh_assets.control.events import log_event
from dwh_assets.control.statements import sql
from dwh_assets.model.block import Block
from dwh_assets.model.events import Contents
from dwh_assets.model.failpoints import failpoint, protected
from dwh_assets.model.position import Position

Row = dict[str, Any]


@dataclass(frozen=True)
class PlanningState:
    """The end of a topic's last block, how far it was told to be complete, and the token under which both were read."""

    token: int
    seq: int
    tail: Position
    planned: int
    rows_per_second: float | None
    watermark: datetime | None = None


@dataclass(frozen=True)
class PlannedBlock:
    next: Position
    rows: int
    takes_all: bool
    contents: Contents | None = None


class TopicStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def verdicts(self, topics: Sequence[str] | None = None) -> list[Row]:
        """Of all topics, or of those named."""
        with self.database.transaction() as connection:
            if topics is not None:
                return connection.execute(sql("select_verdicts_of"), {"topics": list(topics)}).fetchall()
            return connection.execute(sql("select_verdicts"), binary=True).fetchall()  # instants as text cost a tenth more

    def advance_dry(self) -> int:
        return self.database.execute(sql("advance_dry_topics"))

    def planning_state(self, topic_id: int) -> PlanningState | None:
        row = self.database.fetch_one(sql("planning_state"), topic_id=topic_id)
        if row is None:
            return None
        tail = Position(row["next_pos"], int(row["next_id"]))
        return PlanningState(row["token"], row["seq"], tail, row["planned"], row["rows_per_second"], row["watermark"])

    def store_plan(
        self, topic_id: int, state: PlanningState, blocks: Sequence[PlannedBlock], upto: datetime, examined: datetime
    ) -> bool:
        """Store blocks behind the tail they were cut from; False if the topic has changed since, and nothing was stored."""
        failpoint("plan.before")
        with self.database.transaction() as connection:
            if not _unchanged(connection, topic_id, state, blocks):
                return False
            last = state.tail
            for number, block in enumerate(blocks, start=1):
                insert_block(connection, topic_id, state.seq + number, last, block, upto)
                last = block.next
            failpoint("plan.inside")
            finished = {"topic_id": topic_id, "token": state.token, "examined": examined}
            connection.execute(sql("finish_plan"), finished)
        failpoint("plan.after")
        return True

    def blocks(self, topic_id: int, first: int, last: int) -> list[Block]:
        """The blocks that hold rows, from one sequence number to another."""
        rows = self.database.fetch(sql("blocks_between"), topic_id=topic_id, first=first, last=last, skipped=False)
        return [block_of(row) for row in rows]

    def fail_plan(self, topic: Row, problem: str, worker: str) -> None:
        with self.database.transaction() as connection:
            parameters = {"topic_id": topic["topic_id"], "token": topic["token"], "problem": problem}
            if connection.execute(sql("fail_plan"), parameters).fetchone():
                log_event(connection, "PLAN", problem, who=worker, topic=topic["topic"])


def _unchanged(connection: psycopg.Connection[Any], topic_id: int, state: PlanningState, blocks: Sequence[PlannedBlock]) -> bool:
    """The row lock and the comparison of token and tail: a plan made from an older view of the topic is thrown away (R18)."""
    if not protected("lock"):
        return True
    above = blocks[0].next.pos if blocks and blocks[0].contents is not None else None
    parameters = {"topic_id": topic_id, "token": state.token, "next_pos": state.tail.pos, "next_id": state.tail.id}
    parameters["above"] = above
    connection.execute(sql("lock_topic_numbered"), {"topic_id": topic_id})
    return connection.execute(sql("guard_plan"), parameters).fetchone() is not None


def insert_block(
    connection: psycopg.Connection[Any], topic_id: int, seq: int, last: Position, block: PlannedBlock, upto: datetime
) -> None:
    connection.execute(
        sql("insert_block"),
        {
            "topic_id": topic_id,
            "seq": seq,
            "last_pos": last.pos,
            "last_id": last.id,
            "next_pos": block.next.pos,
            "next_id": block.next.id,
            "upto": upto,
            "takes_all": block.takes_all,
            "rows": block.rows,
            "contents": None if block.contents is None else json.dumps(block.contents.to_json()),
        },
    )


def initialise(connection: psycopg.Connection[Any], topic_id: int, start: Position, watermark: datetime) -> bool:
    """Give a topic its first cursor; False if it has one."""
    parameters = {"topic_id": topic_id, "pos": start.pos, "id": start.id, "watermark": watermark}
    if connection.execute(sql("initialise_topic"), parameters).fetchone() is None:
        return False
    connection.execute(sql("insert_start_block"), parameters)
    return True
