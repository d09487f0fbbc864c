"""What the manifests say is what a scan finds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.types import TimestamptzType

from dwh_assets.model.errors import DamagedData, SourceError
from dwh_assets.warehouse.bounds import exact_bound
from dwh_assets.warehouse.branches import fork
from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.manifests import data_files, staged
from dwh_assets.warehouse.publish import Pointer, next_metadata, snapshot_of
from dwh_assets.warehouse.reading import Span, read_columns
from tests.warehouse.writing import BIG, NOON, SALES, append, row, stage

Publish = Callable[[Pointer], bool]


def load(catalog: Catalog, table: str, execution: int, numbers: range, publish: Publish) -> int:
    branch = fork(catalog, table, execution)
    stage(catalog, branch, numbers)
    assert publish(next_metadata(catalog, branch, staged(catalog, branch)))
    return snapshot_of(catalog, table)


def read_ids(catalog: Catalog, table: str, snapshot: int, **options: object) -> list[int]:
    batches = read_columns(catalog, table, snapshot, ["id"], **options)  # type: ignore[arg-type]
    return sorted(int(value) - BIG for batch in batches for value in batch["id"].to_pylist())


def test_staged_figures_equal_a_scan_of_the_branch(catalog: Catalog, sales: str, publish: Publish) -> None:
    load(catalog, sales, 1, range(100, 200), publish)
    branch = fork(catalog, sales, 2)
    append(catalog, sales, branch.branch, [row(1, None, "a" * 40), row(2, 2.5, None)])
    append(catalog, sales, branch.branch, [row(3, None, None), {**row(4), "pos": None}])
    figures = staged(catalog, branch)
    scan = catalog.load(sales).scan(snapshot_id=figures.tip).to_arrow()
    own = pa.Table.from_pylist([row for row in scan.to_pylist() if row["id"] < BIG + 100], scan.schema)
    assert (figures.rows, figures.files, figures.only_appends) == (own.num_rows, 2, True)
    assert figures.nulls == {name: own[name].null_count for name in own.column_names}
    assert (figures.lower["id"], figures.upper["id"]) == (Decimal(BIG + 1), Decimal(BIG + 4))
    assert (figures.lower["pos"], figures.upper["pos"]) == (NOON + timedelta(hours=1), NOON + timedelta(hours=3))
    assert (figures.lower["amount"], figures.upper["amount"]) == (1.0, 2.5)
    assert "segment" not in figures.lower
    assert figures.bytes == sum(file.bytes for file in figures.added) > 0


def test_an_empty_branch_has_no_rows_and_no_bounds(catalog: Catalog, sales: str) -> None:
    figures = staged(catalog, fork(catalog, sales, 1))
    assert (figures.rows, figures.nulls, figures.lower, figures.only_appends) == (0, {}, {}, True)


def test_files_can_be_read_one_by_one_and_within_a_span(catalog: Catalog, sales: str, publish: Publish) -> None:
    load(catalog, sales, 1, range(3), publish)
    snapshot = load(catalog, sales, 2, range(3, 6), publish)
    files = data_files(catalog, sales, snapshot)
    late = [file for file in files if file.lower["id"] == BIG + 3]
    assert sorted(file.rows for file in files) == [3, 3]
    assert read_ids(catalog, sales, snapshot) == [0, 1, 2, 3, 4, 5]
    assert read_ids(catalog, sales, snapshot, files=late) == [3, 4, 5]
    assert read_ids(catalog, sales, snapshot, within=[Span("id", BIG + 2, BIG + 4)]) == [2, 3, 4]
    assert read_ids(catalog, sales, snapshot, within=[Span("pos", NOON + timedelta(hours=5))]) == [5]
    assert read_ids(catalog, sales, snapshot, within=[Span("id", high=BIG + 4)], files=late) == [3, 4]


@pytest.mark.parametrize("bit", [1, 16, 128])
def test_a_data_file_with_a_flipped_bit_is_read_or_named_as_damaged(
    catalog: Catalog, sales: str, publish: Publish, bit: int
) -> None:
    snapshot = load(catalog, sales, 1, range(20), publish)
    [file] = data_files(catalog, sales, snapshot)
    path = Path(file.path.removeprefix("file://").removeprefix("file:"))
    whole = path.read_bytes()
    told = [text for offset in range(4, len(whole), 13) if (text := _told_of(catalog, snapshot, path, whole, offset, bit))]
    assert told
    assert all(path.name in text for text in told)


def _told_of(catalog: Catalog, snapshot: int, path: Path, whole: bytes, offset: int, bit: int) -> str | None:
    path.write_bytes(whole[:offset] + bytes([whole[offset] ^ bit]) + whole[offset + 1 :])
    try:
        list(read_columns(catalog, SALES, snapshot, ["pos", "id", "segment"]))
    except DamagedData as error:
        return str(error)
    return None


def test_an_expired_snapshot_is_said_to_be_so(catalog: Catalog, sales: str) -> None:
    with pytest.raises(SourceError, match="snapshot 42 has expired"):
        data_files(catalog, sales, 42)


def test_a_moment_beyond_pythons_years_is_the_last_that_python_has() -> None:
    far = (2**62).to_bytes(8, "little", signed=True)
    assert exact_bound(TimestamptzType(), far) == datetime.max.replace(tzinfo=UTC)
