"""Spark writes to branches, pyiceberg publishes them: every row once, and the figures are those of a scan."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.connect.session import SparkSession

from dwh_assets.model.errors import StagedAgain
from dwh_assets.warehouse.branches import Fork, fork, live, qualified, writer_options
from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.manifests import data_files, staged
from dwh_assets.warehouse.publish import Pointer, executions_on_main, next_metadata, snapshot_of
from dwh_assets.warehouse.tables import create_or_widen
from tests.warehouse.writing import BIG, COLUMNS

Publish = Callable[[Pointer], bool]
TABLE = "fact.orders"


@pytest.fixture
def orders(catalog: Catalog) -> str:
    create_or_widen(catalog, TABLE, COLUMNS, "pos", {})
    return TABLE


def rows(session: SparkSession, first: int, last: int) -> DataFrame:
    """One row per number and hour; every third amount and every second segment is null."""
    return session.sql(f"""
        select timestamp '2026-03-01 12:00:00' + make_interval(0, 0, 0, 0, cast(id as int)) as pos,
               cast({BIG} + id as decimal(20, 0)) as id,
               if(id % 3 = 0, null, id * 1.0d) as amount,
               if(id % 2 = 0, null, concat('segment ', id)) as segment,
               1L as _block, 1L as _execution, timestamp '2026-03-09 00:00:00' as _loaded_at
        from range({first}, {last})""")


def write(session: SparkSession, branch: Fork, first: int, last: int) -> None:
    writer = rows(session, first, last).writeTo(qualified(branch))
    for option, value in writer_options(int(branch.branch[1:])).items():
        writer = writer.option(option, value)
    writer.append()


def load(session: SparkSession, catalog: Catalog, execution: int, first: int, last: int, publish: Publish) -> None:
    branch = fork(catalog, TABLE, execution)
    write(session, branch, first, last)
    assert publish(next_metadata(catalog, branch, staged(catalog, branch)))


def seen(session: SparkSession) -> list[int]:
    """What a reader of main sees."""
    found = session.sql(f"select cast(id - {BIG} as bigint) as n from dwh.{TABLE} order by n").collect()
    return [row.n for row in found]


def compact(session: SparkSession, table: str) -> None:
    before = f"select count(*) as files from dwh.{table}.files"
    assert session.sql(before).collect()[0].files > 3
    session.sql(f"call dwh.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))").collect()


def test_three_writers_and_a_compaction_lose_and_double_nothing(
    session: SparkSession, catalog: Catalog, orders: str, publish: Publish
) -> None:
    load(session, catalog, 1, 0, 30, publish)
    load(session, catalog, 2, 30, 60, publish)
    forks = [fork(catalog, orders, execution) for execution in (3, 4, 5)]
    for number, branch in enumerate(forks):
        write(session, branch, 60 + 10 * number, 70 + 10 * number)
    assert seen(session) == list(range(60))
    for number, branch in enumerate(forks):
        if number == 1:
            compact(session, orders)
        pointer = next_metadata(catalog, branch, staged(catalog, branch))
        assert publish(pointer)
        assert int(branch.branch[1:]) in executions_on_main(catalog, orders)
        assert seen(session) == list(range(70 + 10 * number))
    assert live(catalog, orders) == []


def test_staged_figures_equal_sparks_own_scan(session: SparkSession, catalog: Catalog, orders: str, publish: Publish) -> None:
    load(session, catalog, 1, 0, 5, publish)
    branch = fork(catalog, orders, 2)
    write(session, branch, 100, 150)
    write(session, branch, 150, 200)
    figures = staged(catalog, branch)
    scan = session.sql(f"""
        select count(*) as n, count_if(amount is null) as amount, count_if(segment is null) as segment,
               count_if(pos is null) as pos, min(id) as low, max(id) as high, min(amount) as least, max(amount) as most
        from {qualified(branch)} where id >= {BIG + 100}""").first()
    assert scan is not None
    assert (figures.rows, figures.only_appends) == (scan.n, True)
    assert [figures.nulls[c] for c in ("amount", "segment", "pos", "id")] == [scan.amount, scan.segment, scan.pos, 0]
    assert (figures.lower["id"], figures.upper["id"]) == (scan.low, scan.high)
    assert (figures.lower["amount"], figures.upper["amount"]) == (scan.least, scan.most)
    assert {len(file.partition) for file in figures.added} == {1}


def test_a_merge_stages_again_when_the_head_moved_and_is_published_when_it_stands(
    session: SparkSession, catalog: Catalog, orders: str, publish: Publish
) -> None:
    load(session, catalog, 1, 0, 10, publish)
    merging = fork(catalog, orders, 2)
    merge(session, merging)
    load(session, catalog, 3, 10, 12, publish)
    figures = staged(catalog, merging)
    assert not figures.only_appends
    with pytest.raises(StagedAgain):
        next_metadata(catalog, merging, figures)
    assert seen(session) == list(range(12))
    again = fork(catalog, orders, 4)
    merge(session, again)
    assert publish(next_metadata(catalog, again, staged(catalog, again)))
    assert seen(session) == [*range(12), 1000]


def merge(session: SparkSession, branch: Fork) -> None:
    rows(session, 5, 6).union(rows(session, 1000, 1001)).createOrReplaceTempView("news")
    session.sql(f"""
        merge into {qualified(branch)} t using news s on t.id = s.id
        when matched then update set t.segment = 'new' when not matched then insert *""").collect()


def test_an_overwrite_of_all_rows_is_published_at_once(
    session: SparkSession, catalog: Catalog, orders: str, publish: Publish
) -> None:
    load(session, catalog, 1, 0, 10, publish)
    branch = fork(catalog, orders, 2)
    session.sql(f"delete from {qualified(branch)}").collect()
    write(session, branch, 20, 25)
    assert seen(session) == list(range(10))
    assert publish(next_metadata(catalog, branch, staged(catalog, branch)))
    assert seen(session) == list(range(20, 25))


def test_a_widened_table_keeps_its_rows_and_its_statistics(session: SparkSession, catalog: Catalog, publish: Publish) -> None:
    narrow = session.sql("select 7 as n, cast(1.5 as float) as f, cast(2.25 as decimal(10, 2)) as d")
    create_or_widen(catalog, TABLE, narrow.schema, None, {})
    branch = fork(catalog, TABLE, 1)
    stamped = narrow.selectExpr("*", "1L as _block", "1L as _execution", "timestamp '2026-03-09 00:00:00' as _loaded_at")
    stamped.writeTo(qualified(branch)).append()
    assert publish(next_metadata(catalog, branch, staged(catalog, branch)))
    wide = session.sql("select 7L as n, 1.5d as f, cast(2.25 as decimal(12, 2)) as d, 'x' as t")
    assert len(create_or_widen(catalog, TABLE, wide.schema, None, {})) == 4
    (file,) = data_files(catalog, TABLE, snapshot_of(catalog, TABLE))
    assert (file.lower["n"], file.upper["f"], str(file.lower["d"])) == (7, 1.5, "2.25")
    assert session.table(f"dwh.{TABLE}").select("n", "f", "t").collect() == [(7, 1.5, None)]
