"""What a table's folder still holds, when the catalog names something else. No Spark takes part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from dwh_assets.control.commits import publish_pointers
from dwh_assets.control.database import Database
from dwh_assets.warehouse.branches import EXECUTION, fork_as, live
from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.reconciling import State, is_whole, newer, next_state, rows_of, states

TABLE = "a.b"
COLUMNS = pa.schema([("id", pa.int64()), ("_block", pa.int64()), ("_execution", pa.int64())])


@pytest.fixture
def catalog(database_url: str, tmp_path: Path) -> Iterator[Catalog]:
    """A table of three blocks, each by an execution of its own."""
    catalog = Catalog(database_url, str(tmp_path))
    catalog.sql.create_namespace("a")
    catalog.sql.create_table(TABLE, COLUMNS)
    for block in (1, 2, 3):
        append(catalog, block)
    yield catalog
    catalog.close()


def append(catalog: Catalog, block: int) -> None:
    found = pa.Table.from_pylist([{"id": n, "_block": block, "_execution": 10 + block} for n in range(block)], COLUMNS)
    catalog.load(TABLE).append(found, snapshot_properties={EXECUTION: str(10 + block)})


def pointer(catalog: Catalog) -> str:
    return catalog.load(TABLE).metadata_location


def place(location: str) -> Path:
    return Path(location.removeprefix("file://"))


def found(catalog: Catalog, named: str) -> list[State]:
    return list(states(catalog, TABLE, named))


def test_the_states_begin_with_what_the_catalog_names_and_tell_who_led_to_them(catalog: Catalog) -> None:
    head, before, *_ = found(catalog, pointer(catalog))
    assert (head.location, head.is_head, head.executions) == (pointer(catalog), True, {11, 12, 13})
    assert (before.is_head, before.executions) == (False, {11, 12})
    assert rows_of(before) == {(1, 11): 1, (2, 12): 2}
    assert newer(catalog, TABLE, pointer(catalog)) == []
    assert len(newer(catalog, TABLE, catalog.load(TABLE).metadata.metadata_log[1].metadata_file)) == 2


def test_where_the_named_metadata_is_missing_the_newest_file_comes_first_and_a_missing_file_is_seen(catalog: Catalog) -> None:
    named = pointer(catalog)
    lost = next(catalog.load(TABLE).scan(row_filter="_block = 2").plan_files().__iter__()).file.file_path
    place(named).unlink()
    first = found(catalog, named)[0]
    assert first.executions == {11, 12}
    assert is_whole(first)
    place(lost).unlink()
    assert [is_whole(state) for state in found(catalog, named)[:2]] == [False, True]


def test_a_chosen_state_becomes_what_readers_see_and_no_branch_is_left(catalog: Catalog, database: Database) -> None:
    fork_as(catalog, TABLE, "x13")
    named = pointer(catalog)
    chosen = next(state for state in found(catalog, named) if state.executions == {11, 12})
    new = next_state(catalog, chosen, named)
    assert pointer(catalog) == named  # nobody sees it yet
    with database.transaction() as connection:
        publish_pointers(connection, [new])
    loaded = catalog.load(TABLE)
    assert loaded.metadata_location == new.new_location
    assert sorted(loaded.scan().to_arrow()["_block"].to_pylist()) == [1, 2, 2]
    assert loaded.metadata.snapshot_log[-1].snapshot_id == chosen.snapshot_id
    assert live(catalog, TABLE) == []
    append(catalog, 4)
    assert sorted(set(catalog.load(TABLE).scan().to_arrow()["_block"].to_pylist())) == [1, 2, 4]
