"""Files as a source of events: each loaded once, by its name and checksum."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dwh_assets.engine.ingest import replay
from tests.engine.project import Project

TABLE = "stage.orders"
DEAD = "stage.orders_dead"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"order": {"type": "integer"}, "at": {"type": "string", "format": "date-time"}, "amount": {"type": "number"}},
    "required": ["order"],
}


@dataclass
class Inbox:
    project: Project
    folder: Path

    def declare(self, format_: str, key: str = "[order]", **schema: Any) -> None:
        self.project.write("lineage/schemas/order.json", json.dumps({**SCHEMA, **schema}))
        self.project.write(
            "lineage/sources/orders.yaml",
            f"name: files.orders\nkind: files\nfiles: {{path: inbox, settle: 0}}\n"
            f"events: {{format: {format_}, schemas: {{1: schemas/order.json}}, key: {key}}}\n",
        )
        text = f"table: {TABLE}\ndepends_on: [files.orders]\nprocessor: ingest\nrepeat: 0\nbackoff: 0\n"
        self.project.write("lineage/stage/orders.yaml", text)
        self.project.apply()

    def csv(self, name: str, *lines: str) -> None:
        (self.folder / name).write_text("\n".join(["order,at,amount", *lines]) + "\n")

    def problem(self) -> str:
        found = self.project.engine.database.fetch_one("select problem from dwh.source where name = 'files.orders'")
        assert found is not None
        return str(found["problem"])


@pytest.fixture
def inbox(project: Project) -> Inbox:
    folder = project.folder / "inbox"
    folder.mkdir()
    return Inbox(project, folder)


def test_each_file_is_loaded_once_and_a_changed_one_is_told(inbox: Inbox) -> None:
    inbox.declare("csv")
    inbox.csv("a.csv", "1,2026-03-01T00:00:00Z,1.5", "2,,")
    inbox.project.load()
    inbox.csv("b.csv", "2,,9", "3,2026-03-01T00:00:00Z,2")
    inbox.project.load()
    assert inbox.project.rows(TABLE, "order, amount") == [(1, 1.5), (2, None), (3, 2.0)]
    os.utime(inbox.folder / "a.csv")
    inbox.project.load()
    assert inbox.problem() == "None"
    inbox.csv("a.csv", "1,2026-03-01T00:00:00Z,7")
    inbox.project.load()
    assert "a.csv was loaded with other content" in inbox.problem()
    assert len(inbox.project.rows(TABLE, "order")) == 3
    assert inbox.project.verify() == []


def test_lines_that_cannot_be_read_are_dead_letters_and_can_be_replayed(inbox: Inbox) -> None:
    inbox.declare("csv")
    inbox.csv("a.csv", "1,2026-03-01T00:00:00Z,1.5", "x,,", "2,yesterday,1", "", ",,3")
    inbox.project.load()
    assert inbox.project.rows(TABLE, "order") == [(1,)]
    assert inbox.project.rows(DEAD, "origin, offset, reason") == [
        ("a.csv", 2, "malformed"),
        ("a.csv", 3, "malformed"),
        ("a.csv", 5, "no_key"),
    ]
    inbox.declare("csv", properties={**SCHEMA["properties"], "note": {"type": "string"}})
    engine = inbox.project.engine
    replay(engine, engine.lineage.active(), inbox.project.acts(), TABLE, "try again")
    inbox.project.load()
    assert inbox.project.rows(TABLE, "order") == [(1,)]
    assert [row["reason"] for row in engine.ingest.dead_letters()] == ["malformed", "no_key"]
    assert inbox.project.verify() == []


def test_the_columns_of_a_file_may_stand_in_any_order_but_must_be_known(inbox: Inbox) -> None:
    inbox.declare("csv")
    (inbox.folder / "a.csv").write_text("amount,order\n2.5,1\n")
    (inbox.folder / "b.csv").write_text("order,amount,at\n2,1,2026-03-01T00:00:00Z\n")
    inbox.project.load()
    assert inbox.project.rows(TABLE, "order, amount") == [(1, 2.5), (2, 1.0)]
    (inbox.folder / "c.csv").write_text("order,price\n3,1\n")
    inbox.project.load()
    problem = inbox.project.topic(TABLE)["problem"]
    assert "the file c.csv has the column price, which its schema has not" in problem


def test_parquet_files_are_loaded_by_row(inbox: Inbox) -> None:
    inbox.declare("parquet")
    at = datetime(2026, 3, 1, tzinfo=UTC)
    pq.write_table(pa.table({"order": [1, 2, 2], "at": [at, at, None], "amount": [0.1, None, 3.0]}), inbox.folder / "a.parquet")
    inbox.project.load()
    assert inbox.project.rows(TABLE, "order, at, amount") == [(1, at, 0.1), (2, at, None)]
    assert inbox.project.blocks(TABLE)[0]["base_rows"] == 3
