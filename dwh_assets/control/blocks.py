"""Rows of the table `block` as blocks."""

from __future__ import annotations

from typing import Any

import psycopg

from dwh_assets.control.statements import sql
from dwh_assets.model.block import Block
from dwh_assets.model.events import Contents
from dwh_assets.model.position import Bounds, Position

Row = dict[str, Any]


def block_of(row: Row) -> Block:
    bounds = Bounds(Position(row["last_pos"], int(row["last_id"])), Position(row["next_pos"], int(row["next_id"])))
    return Block(
        id=row["id"],
        topic_id=row["topic_id"],
        seq=row["seq"],
        bounds=bounds,
        status=row["status"],
        upto=row["upto"],
        takes_all=row["takes_all"],
        planned_rows=row["planned_rows"],
        base_rows=row["base_rows"],
        hash_sum=None if row["hash_sum"] is None else int(row["hash_sum"]),
        failures=row["failures"],
        crashes=row["crashes"],
        waived=tuple(row["waived"]),
        late_rows=row["late_rows"],
        contents=None if row["contents"] is None else Contents.from_json(row["contents"]),
    )


def restated_blocks(connection: psycopg.Connection[Any], topic_id: int, first: int, last: int, kind: str) -> list[Block]:
    """A rollback also takes back blocks that were skipped: else the cursor would stop behind them."""
    asked = {"topic_id": topic_id, "first": first, "last": last, "skipped": kind == "rollback"}
    return [block_of(row) for row in connection.execute(sql("blocks_between"), asked).fetchall()]
