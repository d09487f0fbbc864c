"""Ingest topics: how far a stream was taken in, what their blocks are made of, and the dead letters they left."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg

from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql
from dwh_assets.model.block import Claim
from dwh_assets.model.errors import UnknownTopic
from dwh_assets.model.events import Contents
from dwh_assets.model.position import Bounds, Position

Row = dict[str, Any]


@dataclass(frozen=True)
class Reached:
    """The end of the last block, planned ones included, and what was taken in up to there."""

    last: Position
    watermark: datetime
    contents: Contents | None


@dataclass(frozen=True)
class StoredBlock:
    id: int
    pos: datetime  # of all its rows
    contents: Contents


@dataclass(frozen=True)
class Ingested:
    """What an attempt at blocks of events leaves beside their rows."""

    dead: tuple[tuple[int, str, int], ...]  # block, reason, rows
    key: tuple[str, ...]


class IngestStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def reached(self, topic: str) -> Reached:
        row = self.database.fetch_one(sql("ingest_reached"), topic=topic)
        if row is None:
            raise UnknownTopic(f"topic {topic} is unknown or has no cursor yet; `dwh lineage apply` gives it one.")
        contents = None if row["contents"] is None else Contents.from_json(row["contents"])
        return Reached(Position(row["next_pos"], int(row["next_id"])), row["watermark"], contents)

    def blocks(self, topic: str, bounds: Bounds) -> list[StoredBlock]:
        """The blocks within these bounds that hold events, in order."""
        asked = {"last_pos": bounds.last.pos, "last_id": bounds.last.id, "next_pos": bounds.next.pos, "next_id": bounds.next.id}
        rows = self.database.fetch(sql("ingest_blocks"), topic=topic, **asked)
        return [StoredBlock(row["id"], row["next_pos"], Contents.from_json(row["contents"])) for row in rows]

    def files(self, topic: str) -> dict[str, Row]:
        """By name: every file that a block holds."""
        return {row["name"]: row for row in self.database.fetch(sql("ingest_files"), topic=topic)}

    def begin(self, topic: str, contents: Contents) -> None:
        """Note where in its stream a topic begins, unless that is known."""
        self.database.execute(sql("begin_stream"), topic=topic, contents=json.dumps(contents.to_json()))

    def expect_full(self, topic: str) -> None:
        """A whole block is waiting: it does not wait for the next regular run."""
        self.database.execute(sql("expect_full"), topic=topic)

    def key_fields(self, topic_id: int) -> tuple[str, ...] | None:
        row = self.database.fetch_one(sql("key_fields"), topic_id=topic_id)
        return None if row is None or row["key_fields"] is None else tuple(row["key_fields"])

    def dead_letters(self, topic: str | None = None, replayed: bool = False) -> list[Row]:
        """By block and reason, newest first; those that were replayed only on demand."""
        return self.database.fetch(sql("dead_letters"), topic=topic, replayed=replayed)


def store_ingested(connection: psycopg.Connection[Any], claim: Claim, ingested: Ingested) -> None:
    """Part of the commit: what these blocks could not load, which dead letters they have tried again, and their key."""
    forgotten = {"blocks": [block.id for block in claim.blocks], "rolled_back": claim.kind == "rollback"}
    connection.execute(sql("forget_dead_letters"), forgotten)
    if claim.kind == "rollback":
        return
    for block, reason, rows in ingested.dead:
        connection.execute(sql("insert_dead_letters"), {"block_id": block, "reason": reason, "rows": rows})
    for block in claim.blocks:
        if block.contents is not None and block.contents.replays:
            tried = json.dumps([vars(replay) for replay in block.contents.replays])
            connection.execute(sql("mark_replayed"), {"block_id": block.id, "replays": tried})
    connection.execute(sql("set_key_fields"), {"topic_id": claim.topic_id, "key": list(ingested.key)})
