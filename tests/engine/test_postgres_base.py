"""A base table in Postgres keeps no states: count and read are of two moments, and no row is lost between them."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from dwh_assets.engine.late import find_late_rows
from dwh_assets.model.block import RowCounts
from dwh_assets.processors.processor import Work
from dwh_assets.processors.step import Step
from dwh_assets.sources.postgres.source import PostgresSource
from dwh_assets.sources.source import Fingerprint
from tests.engine.project import Project, at, rows

SHOP = "shop.rows"
SOURCE = "name: src.shop\nkind: postgres\nrelation: shop.orders\nurl_env: SHOP_URL\nhorizon: delay\ndelay: 1s\n"


@pytest.fixture
def loaded(own_project: Project, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Nine rows in three blocks. Less than half of a block's rows are in its table: nobody can tell by them what was read."""
    monkeypatch.setenv("SHOP_URL", database_url)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("create schema shop")
        connection.execute("create table shop.orders (pos timestamptz, id bigint, v bigint, primary key (pos, id))")
    for row in rows(0, 9):
        insert(own_project, row["pos"], int(row["id"]))
    own_project.write("lineage/sources/src.shop.yaml", SOURCE)
    own_project.module(SHOP, "src.shop", "select pos, id, v from {{ block }} where id % 3 <> 0", maxstep="3", stretch="1")
    own_project.apply()
    own_project.load()
    return own_project


def insert(project: Project, pos: Any, id_: int) -> None:
    with psycopg.connect(project.engine.postgres_url, autocommit=True) as connection:
        connection.execute("insert into shop.orders values (%s, %s, 1)", (pos, id_))


def test_a_row_that_commits_after_its_block_was_read_again_is_found_late_and_loaded_once(
    loaded: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, fingerprint = Step.write, PostgresSource.fingerprint
    begun, done = threading.Event(), threading.Event()

    def write_before_the_row(step: Step, work: Work) -> RowCounts:
        begun.set()
        counts = write(step, work)
        insert(loaded, at(7.5), 100)
        done.set()
        return counts

    def count_slowly(source: PostgresSource, *given: Any) -> Fingerprint:
        if begun.wait(1):  # a count beside the read is over when the row is there
            done.wait(60)
        return fingerprint(source, *given)

    with monkeypatch.context() as slowly:
        slowly.setattr(Step, "write", write_before_the_row)
        slowly.setattr(PostgresSource, "fingerprint", count_slowly)
        assert loaded.restate(SHOP, 1, 3).result == "committed"
    assert 100 not in [row[0] for row in loaded.rows(SHOP, "id")]
    assert find_late_rows(loaded.engine, loaded.engine.lineage.active()) == {SHOP: 1}
    loaded.restate(SHOP, 3)
    assert [row[0] for row in loaded.rows(SHOP, "id")] == [1, 2, 4, 5, 7, 8, 100]
    assert loaded.verify() == []


def test_a_row_that_commits_between_the_count_and_the_read_is_read_and_told_as_late_until_it_is_counted(
    loaded: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Step.write

    def write_after_the_row(step: Step, work: Work) -> RowCounts:
        insert(loaded, at(7.5), 100)
        return write(step, work)

    with monkeypatch.context() as later:
        later.setattr(Step, "write", write_after_the_row)
        assert loaded.restate(SHOP, 3).result == "committed"
    assert [finding.severity for finding in loaded.verify()] == ["late"]
    for _ in range(2):
        assert [row[0] for row in loaded.rows(SHOP, "id")] == [1, 2, 4, 5, 7, 8, 100]
        loaded.restate(SHOP, 3)
    assert loaded.verify() == []


def test_a_run_that_ends_when_all_is_loaded_loads_rows_that_came_behind_a_planned_block(loaded: Project) -> None:
    insert(loaded, at(20), 20)
    loaded.tick()
    assert [block["status"] for block in loaded.blocks(SHOP)][-1] == "planned"
    insert(loaded, at(25), 25)  # behind the block, but below what its topic was searched to: nothing newer is ever seen
    loaded.load()
    assert [row[0] for row in loaded.rows(SHOP, "id")] == [1, 2, 4, 5, 7, 8, 20, 25]
    assert loaded.verify() == []
