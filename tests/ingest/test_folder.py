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
    assert "the file c.csv has the column price, which its schema has not" in inbox.problem()


def test_a_file_that_cannot_be_read_holds_back_no_other(inbox: Inbox) -> None:
    inbox.declare("parquet")
    (inbox.folder / "a.parquet").write_bytes(b"PAR1 cut off")
    (inbox.folder / ".a.parquet.part").write_bytes(b"still written")
    (inbox.folder / "_SUCCESS").touch()
    pq.write_table(pa.table({"order": [1, 2]}), inbox.folder / "b.parquet")
    inbox.project.load()
    assert inbox.project.rows(TABLE, "order") == [(1,), (2,)]
    assert "the file a.parquet cannot be read" in inbox.problem()
    assert len(inbox.problem().splitlines()) == 1
    pq.write_table(pa.table({"order": [3]}), inbox.folder / "a.parquet")
    inbox.project.load()
    assert inbox.project.rows(TABLE, "order") == [(1,), (2,), (3,)]
    assert inbox.problem() == "None"


def test_a_file_without_even_its_columns_is_told(inbox: Inbox) -> None:
    inbox.declare("csv", required=[])
    (inbox.folder / "a.csv").touch()
    inbox.csv("b.csv", "1,,")
    inbox.project.load()
    assert inbox.project.rows(TABLE, "order") == [(1,)]
    assert "the file a.csv does not begin with its columns" in inbox.problem()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_in_any_way(inbox: Inbox, end: str) -> None:
    inbox.declare("csv")
    (inbox.folder / "a.csv").write_bytes(f"order{end}1{end}2{end}3".encode())
    inbox.project.load()
    assert inbox.project.rows(TABLE, "order") == [(1,), (2,), (3,)]
    assert inbox.project.blocks(TABLE)[0]["base_rows"] == 3


ODD_NAMES = ("a b", "a%20b", "a+b", "a#b", "a[1]", "a{2}", "a*", "ä&ö", "a;b,c")


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_a_file_may_have_any_name(inbox: Inbox, format_: str) -> None:
    inbox.declare(format_)
    for number, name in enumerate(ODD_NAMES):
        if format_ == "csv":
            inbox.csv(f"{name}.csv", f"{number},,")
        else:
            pq.write_table(pa.table({"order": [number]}), inbox.folder / f"{name}.parquet")
    inbox.project.load()
    assert inbox.project.rows(TABLE, "order") == [(number,) for number in range(len(ODD_NAMES))]
    assert len({id_ for _, id_ in inbox.project.rows(TABLE, "pos, id")}) == len(ODD_NAMES)
    assert inbox.project.verify() == []


def test_files_that_fill_a_block_are_not_waited_for(inbox: Inbox) -> None:
    inbox.declare("csv")
    inbox.csv("a.csv", *(f"{n},," for n in range(10)))
    inbox.project.load()
    inbox.csv("b.csv", *(f"{n},," for n in range(10, 40)))
    engine = inbox.project.engine
    seen = engine.source("files.orders", engine.lineage.active()).observe(engine.database.clock())
    assert 25 <= seen.pending <= 35


def test_the_views_name_the_files_of_a_batch(inbox: Inbox) -> None:
    inbox.declare("csv")
    inbox.csv("a.csv", "1,,", "2,,")
    inbox.project.tick()
    (new,) = inbox.project.engine.database.fetch("select * from broker.new_events")
    assert (new["file"], new["events"], new["status"], new["partition"]) == ("a.csv", 2, "NEW", None)


def test_parquet_files_are_loaded_by_row(inbox: Inbox) -> None:
    inbox.declare("parquet")
    at = datetime(2026, 3, 1, tzinfo=UTC)
    pq.write_table(pa.table({"order": [1, 2, 2], "at": [at, at, None], "amount": [0.1, None, 3.0]}), inbox.folder / "a.parquet")
    inbox.project.load()
    assert inbox.project.rows(TABLE, "order, at, amount") == [(1, at, 0.1), (2, at, None)]
    assert inbox.project.blocks(TABLE)[0]["base_rows"] == 3
