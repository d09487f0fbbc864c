from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dwh_assets.model.errors import BadPosition, SourceError
from dwh_assets.model.position import EARLIEST, Bounds
from dwh_assets.sources import files as files_module
from dwh_assets.sources.histogram import cut_frame
from dwh_assets.sources.iceberg import IcebergSource
from dwh_assets.warehouse.catalog import Catalog
from tests.sources.source_suite import START, Row, SourceSuite, at, rows, upto

TABLE = "src.orders"
WIDE = pa.decimal128(20, 0)


class IcebergWorld:
    def __init__(self, catalog: Catalog, id_type: pa.DataType = WIDE) -> None:
        self.catalog = catalog
        self.schema = pa.schema(
            [("pos", pa.timestamp("us", "UTC")), ("id", id_type), ("shard", pa.string()), ("note", pa.string())]
        )
        catalog.sql.create_namespace_if_not_exists("src")
        catalog.sql.create_table(TABLE, self.schema)

    def arrow(self, rows: Sequence[Row]) -> pa.Table:
        wide = pa.types.is_decimal(self.schema.field("id").type)
        columns = {
            "pos": [None if s is None else START + timedelta(seconds=s) for s, _, _ in rows],
            "id": [None if i is None else Decimal(i) if wide else i for _, i, _ in rows],
            "shard": [shard for _, _, shard in rows],
            "note": ["x"] * len(rows),
        }
        return pa.table(columns, schema=self.schema)

    def add(self, rows: Sequence[Row]) -> None:
        """One file."""
        self.catalog.load(TABLE).append(self.arrow(rows))

    def source(self, position: tuple[str, str] = ("pos", "id"), shard_by: str | None = "shard", **options: Any) -> IcebergSource:
        return IcebergSource(self.catalog, TABLE, position, shard_by=shard_by, **options)


@pytest.fixture
def catalog(database_url: str, tmp_path: Path):
    catalog = Catalog(database_url, str(tmp_path / "warehouse"))
    yield catalog
    catalog.close()


@pytest.fixture
def world(catalog: Catalog) -> IcebergWorld:
    return IcebergWorld(catalog)


class ReadLog:
    """The names of the files that were read without Spark."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths: list[str] = []
        original = files_module.read_columns

        def logged(catalog, table, snapshot, columns, spans, files):
            self.paths += [file.path for file in files]
            return original(catalog, table, snapshot, columns, spans, files)

        monkeypatch.setattr(files_module, "read_columns", logged)


class TestIcebergSource(SourceSuite):
    pass


def test_the_watermark_is_the_newest_row_less_the_delay(world):
    world.add(rows(range(10)))
    observed = world.source(watermark_delay=timedelta(seconds=4)).observe(upto(100))
    assert (observed.newest, observed.watermark) == (upto(9), upto(5))


def test_a_built_table_takes_its_watermark_from_its_topics(world):
    world.add(rows(range(10)))
    observed = world.source(built=True).observe(upto(100))
    assert (observed.newest, observed.watermark) == (upto(9), None)


def test_a_table_without_rows_has_no_watermark(world):
    assert world.source().observe(upto(0)).watermark is None
    assert world.source().snapshot() is None


def test_files_are_read_only_where_a_block_ends(world, monkeypatch):
    for first in range(0, 100, 10):
        world.add(rows(range(first, first + 10)))
    log = ReadLog(monkeypatch)
    assert [cut.rows for cut in world.source().cut(EARLIEST, upto(99), 30, 2)] == [30, 30]
    assert len(log.paths) == 2


def test_files_of_other_shards_are_not_read(world, monkeypatch):
    for first in range(0, 60, 10):
        world.add(rows(range(first, first + 10), "ab"[first // 10 % 2]))
    log = ReadLog(monkeypatch)
    assert [cut.rows for cut in world.source().cut(EARLIEST, upto(99), 20, 1, "a")] == [20]
    assert len(log.paths) == 1


def test_a_shard_whose_name_manifests_cut_off_is_still_told_apart(world):
    long = "a_name_that_is_longer_than_sixteen"
    world.add([*rows(range(5), long), *rows(range(5, 8), long + "_too")])
    world.add(rows(range(8, 10), long))
    assert [cut.rows for cut in world.source().cut(EARLIEST, upto(99), 99, 1, long)] == [7]


def test_a_number_can_be_the_shard(world):
    world.add([(1, 7, "a"), (2, 7, "a"), (3, 8, "a")])
    world.add([(4, 7, "a")])
    assert [cut.rows for cut in world.source(shard_by="id").cut(EARLIEST, upto(99), 99, 1, "7")] == [3]


def test_bigint_ids_work_and_negative_ones_are_refused(catalog):
    world = IcebergWorld(catalog, pa.int64())
    world.add([(1, 2**63 - 1, "a"), (1, 5, "a")])
    assert [cut.next.id for cut in world.source().cut(EARLIEST, upto(9), 1, 9)] == [5, 2**63 - 1]
    world.add([(2, -1, "a")])
    with pytest.raises(BadPosition, match=r"column id: .*unsigned 64-bit"):
        world.source().cut(EARLIEST, upto(9), 1, 9)


def test_a_fingerprint_at_an_old_snapshot_does_not_see_newer_rows(world):
    world.add(rows(range(10)))
    source, bounds = world.source(), Bounds(EARLIEST, at(99, 0))
    old = source.snapshot()
    world.add(rows(range(10, 20)))
    assert source.fingerprint(bounds, old).rows == 10
    assert source.fingerprint(bounds, source.snapshot()).rows == 20


def test_rewritten_files_bring_no_late_rows_but_do_not_hide_one(world):
    world.add(rows(range(10)))
    world.add(rows(range(10, 20)))
    source, bounds = world.source(), Bounds(EARLIEST, at(14, 14))
    head = source.snapshot()
    block = (1, bounds, head, source.fingerprint(bounds, head))
    world.catalog.load(TABLE).overwrite(world.arrow(rows(range(20))))
    assert source.late([block]) == {}
    world.catalog.load(TABLE).overwrite(world.arrow([*rows(range(1, 20)), (3, 77, "a")]))
    assert source.late([block]) == {1: 1}, "one row went, another one came"


def test_late_rows_are_found_without_reading_files_that_were_there_before(world, monkeypatch):
    for first in range(0, 50, 10):
        world.add(rows(range(first, first + 10)))
    source = world.source()
    head = source.snapshot()
    bounds = [Bounds(at(first - 1, first - 1) if first else EARLIEST, at(first + 9, first + 9)) for first in range(0, 50, 10)]
    blocks = [(number, b, head, source.fingerprint(b, head)) for number, b in enumerate(bounds)]
    world.add(rows(range(50, 60)))
    world.add([(25, 1000, "a")])
    log = ReadLog(monkeypatch)
    assert source.late(blocks) == {2: 1}
    assert len(log.paths) == 1


def test_too_much_to_read_without_spark_is_said_so(world):
    world.add(rows(range(10)))
    with pytest.raises(SourceError, match="only Spark can cut"):
        world.source(rows_to_read=5).cut(EARLIEST, upto(99), 3, 1)


def test_spark_cuts_the_same_blocks_where_too_much_had_to_be_read(world, session):
    world.add([*rows(range(0, 40, 2)), (7, 7, "a"), (7, 2**64 - 1, "a")])
    world.add([*rows(range(1, 40, 2)), (7, 7, "b")])
    with_files = world.source().cut(at(2, 2), upto(35), 6, 5)
    with_spark = world.source(rows_to_read=0, session=lambda: session).cut(at(2, 2), upto(35), 6, 5)
    assert with_spark == with_files
    few = cut_frame(world.source().read(session, Bounds(at(2, 2), at(35, 35)), None), ("pos", "id"), 6, 5, spans=3, fetch=1)
    assert few == with_files, "spans are split until they are one instant"
    assert world.source(rows_to_read=0, session=lambda: session).cut(EARLIEST, upto(99), 5, 1, "b") == world.source().cut(
        EARLIEST, upto(99), 5, 1, "b"
    )


def test_reading_a_block_skips_files_outside_its_range(world, session):
    for first in range(0, 100, 10):
        world.add(rows(range(first, first + 10)))
    source = world.source()
    frame = source.read(session, Bounds(at(34, 34), at(41, 41)), source.snapshot())
    assert frame.count() == 7
    (scan,) = [line for line in frame._explain_string().splitlines() if "BatchScan" in line]  # type: ignore[operator]
    pushed = scan.partition("filters=")[2]
    assert all(part in pushed for part in ("pos >= ", "pos <= ", "id > 34", "id <= 41")), scan


def test_reading_at_a_snapshot_does_not_see_newer_rows(world, session):
    world.add(rows(range(10)))
    source = world.source()
    old = source.snapshot()
    world.add([(5, 50, "a")])
    assert source.read(session, Bounds(EARLIEST, at(9, 9)), old).count() == 10


def test_now_is_compared_in_any_time_zone(world):
    world.add(rows(range(10)))
    assert world.source().observe(datetime.now(UTC).astimezone()).newest == upto(9)
