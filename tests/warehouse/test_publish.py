"""Rows of a branch become main's exactly once, whatever other writers did meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql
from dwh_assets.model.errors import StagedAgain
from dwh_assets.warehouse.branches import fork, live
from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.manifests import staged
from dwh_assets.warehouse.publish import Pointer, discard, executions_on_main, next_metadata, snapshot_of, sweep
from dwh_assets.warehouse.tables import create_or_widen
from tests.warehouse.writing import COLUMNS, append, ids, parameters, row, stage

Publish = Callable[[Pointer], bool]


def ready(catalog: Catalog, table: str, execution: int, numbers: range) -> Pointer:
    branch = fork(catalog, table, execution)
    stage(catalog, branch, numbers)
    return next_metadata(catalog, branch, staged(catalog, branch))


def test_staged_rows_are_invisible_until_the_pointer_is_published(catalog: Catalog, sales: str, publish: Publish) -> None:
    pointer = ready(catalog, sales, 7, range(3))
    assert ids(catalog, sales) == []
    assert publish(pointer)
    assert ids(catalog, sales) == [0, 1, 2]
    assert live(catalog, sales) == []
    assert snapshot_of(catalog, sales) == pointer.snapshot_id
    assert executions_on_main(catalog, sales) == {7}


def test_a_branch_whose_head_moved_is_appended_to_the_new_head(catalog: Catalog, sales: str, publish: Publish) -> None:
    first, second = fork(catalog, sales, 1), fork(catalog, sales, 2)
    stage(catalog, first, range(2))
    stage(catalog, second, range(2, 3))
    stage(catalog, second, range(3, 4))
    assert publish(next_metadata(catalog, first, staged(catalog, first)))
    pointer = next_metadata(catalog, second, staged(catalog, second))
    assert publish(pointer)
    assert ids(catalog, sales) == [0, 1, 2, 3]
    assert executions_on_main(catalog, sales) == {1, 2}
    assert live(catalog, sales) == []


def test_a_pointer_that_was_taken_is_not_published_and_is_made_again(catalog: Catalog, sales: str, publish: Publish) -> None:
    first, second = fork(catalog, sales, 1), fork(catalog, sales, 2)
    stage(catalog, first, range(2))
    stage(catalog, second, range(2, 4))
    late = next_metadata(catalog, second, staged(catalog, second))
    assert publish(next_metadata(catalog, first, staged(catalog, first)))
    assert not publish(late)
    discard(late)
    assert not Path(late.new_location).exists()
    assert ids(catalog, sales) == [0, 1]
    assert publish(next_metadata(catalog, second, staged(catalog, second)))
    assert ids(catalog, sales) == [0, 1, 2, 3]


def test_discarding_an_append_leaves_none_of_its_files(catalog: Catalog, sales: str, publish: Publish) -> None:
    first, second = fork(catalog, sales, 1), fork(catalog, sales, 2)
    stage(catalog, first, range(1))
    stage(catalog, second, range(1, 2))
    assert publish(next_metadata(catalog, first, staged(catalog, first)))
    figures = staged(catalog, second)
    folder = Path(catalog.load(sales).location()) / "metadata"
    before = set(folder.iterdir())
    discard(next_metadata(catalog, second, figures))
    assert set(folder.iterdir()) == before


def test_a_branch_that_replaced_rows_stages_again_when_the_head_moved(catalog: Catalog, sales: str, publish: Publish) -> None:
    assert publish(ready(catalog, sales, 1, range(4)))
    replacing, appending = fork(catalog, sales, 2), fork(catalog, sales, 3)
    catalog.load(sales).delete("amount >= 0", branch=replacing.branch)
    stage(catalog, replacing, range(10, 12))
    stage(catalog, appending, range(4, 5))
    assert publish(next_metadata(catalog, appending, staged(catalog, appending)))
    figures = staged(catalog, replacing)
    assert not figures.only_appends
    with pytest.raises(StagedAgain, match=r"fact\.sales: main moved"):
        next_metadata(catalog, replacing, figures)
    assert ids(catalog, sales) == [0, 1, 2, 3, 4]


def test_a_branch_that_replaced_all_rows_is_published_if_the_head_stands(catalog: Catalog, sales: str, publish: Publish) -> None:
    assert publish(ready(catalog, sales, 1, range(4)))
    branch = fork(catalog, sales, 2)
    catalog.load(sales).delete(branch=branch.branch)
    stage(catalog, branch, range(10, 12))
    assert publish(next_metadata(catalog, branch, staged(catalog, branch)))
    assert ids(catalog, sales) == [10, 11]


def test_rows_written_after_the_checks_are_not_published(catalog: Catalog, sales: str) -> None:
    branch = fork(catalog, sales, 1)
    stage(catalog, branch, range(2))
    figures = staged(catalog, branch)
    stage(catalog, branch, range(2, 3))
    with pytest.raises(StagedAgain, match="no longer what was checked"):
        next_metadata(catalog, branch, figures)


@pytest.mark.parametrize("moved", [False, True])
def test_a_block_without_rows_only_takes_its_branch_away(catalog: Catalog, sales: str, publish: Publish, moved: bool) -> None:
    branch = fork(catalog, sales, 1)
    if moved:
        assert publish(ready(catalog, sales, 2, range(2)))
    before = snapshot_of(catalog, sales)
    pointer = next_metadata(catalog, branch, staged(catalog, branch))
    assert publish(pointer)
    assert (pointer.snapshot_id, live(catalog, sales)) == (before, [])


def test_rows_survive_a_compaction_between_two_blocks(catalog: Catalog, sales: str, publish: Publish) -> None:
    assert publish(ready(catalog, sales, 1, range(3)))
    waiting = fork(catalog, sales, 2)
    stage(catalog, waiting, range(3, 6))
    loaded = catalog.load(sales)
    loaded.overwrite(loaded.scan().to_arrow())
    assert publish(next_metadata(catalog, waiting, staged(catalog, waiting)))
    assert ids(catalog, sales) == [0, 1, 2, 3, 4, 5]


def test_two_tables_are_published_together_or_not_at_all(catalog: Catalog, sales: str, database: Database) -> None:
    create_or_widen(catalog, "fact.returns", COLUMNS, None, {})
    pointers = [ready(catalog, sales, 1, range(2)), ready(catalog, "fact.returns", 1, range(2))]

    class Stopped(Exception): ...

    def publish_both(fail: bool) -> None:
        with database.transaction() as connection:
            for pointer in pointers:
                assert connection.execute(sql("publish_pointer"), parameters(pointer)).rowcount == 1
            if fail:
                raise Stopped

    with pytest.raises(Stopped):
        publish_both(fail=True)
    assert ids(catalog, sales) == ids(catalog, "fact.returns") == []
    publish_both(fail=False)
    assert ids(catalog, sales) == ids(catalog, "fact.returns") == [0, 1]


def test_old_metadata_files_do_not_pile_up(catalog: Catalog, sales: str, publish: Publish) -> None:
    for execution in range(1, 12):
        pointer = ready(catalog, sales, execution, range(execution, execution + 1))
        assert publish(pointer)
        sweep(pointer)
    loaded = catalog.load(sales)
    files = {str(file) for file in (Path(loaded.location()) / "metadata").glob("*.metadata.json")}
    assert files == {loaded.metadata_location, *(entry.metadata_file for entry in loaded.metadata.metadata_log)}
    assert len(files) == 21
    assert ids(catalog, sales) == list(range(1, 12))


def test_times_never_run_backwards_after_a_worker_whose_clock_is_ahead(catalog: Catalog, sales: str, publish: Publish) -> None:
    tomorrow = int(datetime.now(UTC).timestamp() * 1000) + 86_400_000
    file = Path(catalog.load(sales).metadata_location)
    text = json.loads(file.read_text())
    text["last-updated-ms"] = text["snapshot-log"][-1]["timestamp-ms"] = tomorrow
    file.write_text(json.dumps(text))
    branch = fork(catalog, sales, 1)
    assert catalog.load(sales).metadata.last_updated_ms == tomorrow
    stage(catalog, branch, range(1))
    assert publish(next_metadata(catalog, branch, staged(catalog, branch)))
    metadata = catalog.load(sales).metadata
    assert [entry.timestamp_ms for entry in metadata.snapshot_log] == [tomorrow, tomorrow]
    assert {entry.timestamp_ms for entry in metadata.metadata_log} == {tomorrow}


def test_nulls_in_a_position_are_counted_before_they_are_published(catalog: Catalog, sales: str) -> None:
    branch = fork(catalog, sales, 1)
    append(catalog, sales, branch.branch, [row(1), {**row(2), "pos": None}, {**row(3), "id": None}])
    figures = staged(catalog, branch)
    assert (figures.nulls["pos"], figures.nulls["id"], figures.nulls["amount"]) == (1, 1, 0)
