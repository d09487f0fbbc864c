"""A copy of a person's Lineage and a sample of its source rows: on real tables, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest

from dwh_assets.chaos.copying import copied, sampled
from dwh_assets.chaos.supply import BASE, CHUNKS, LATE
from dwh_assets.config.lineage_files import load_lineage
from dwh_assets.config.settings import load_settings
from dwh_assets.control.migrate import migrate
from dwh_assets.engine.engine import Engine
from dwh_assets.model.module import Lineage, Module, SourceTable

DEMO = Path(__file__).parents[2]
DAY = datetime(2026, 5, 1, tzinfo=UTC)
ORDERS = SourceTable("stage.orders", "iceberg")
PEOPLE = SourceTable("crm.people", "postgres", relation="crm.people", position=("at", "no"), url_env="PEOPLE_URL")
LINEAGE = Lineage((Module("fact.orders", "fact.orders", ("stage.orders", "crm.people")),), (ORDERS, PEOPLE))


@pytest.fixture
def engine(database_url: str, tmp_path: Path) -> Iterator[Engine]:
    opened = Engine(load_settings(home=tmp_path, project=tmp_path, postgres_url=database_url), database_url)
    yield opened
    opened.close()


@pytest.fixture
def scratch(empty_url: str, tmp_path: Path) -> Iterator[Engine]:
    """Another warehouse, that the sample is given to."""
    opened = Engine(load_settings(home=tmp_path / "scratch", project=tmp_path, postgres_url=empty_url), empty_url)
    migrate(opened.database)
    yield opened
    opened.close()


def fill(engine: Engine) -> None:
    engine.catalog.sql.create_namespace("stage")
    rows = pa.table({"pos": [DAY + timedelta(hours=n) for n in range(50)], "id": list(range(50)), "amount": list(range(50))})
    table = engine.catalog.sql.create_table("stage.orders", rows.schema)
    table.append(rows.slice(20))
    table.append(rows.slice(0, 20))
    with psycopg.connect(engine.postgres_url) as connection:
        connection.execute("create schema crm")
        connection.execute(
            "create table crm.people (at timestamptz, no bigint, name varchar(20), paid numeric(8,2), more jsonb, tags json)"
        )
        connection.execute(
            "insert into crm.people select now() - n * interval '1 h', n, 'p' || n, n / 3.0,"
            " jsonb_build_object('n', n, 'null', null), '[1, \"x\"]' from generate_series(1, 40) n"
        )


def test_what_reads_a_stream_is_left_out_and_nothing_waits_for_its_hour() -> None:
    lineage = load_lineage(DEMO / "lineage", DEMO / "sql" / "transforms")
    copy, left_out = copied(lineage, 200)
    assert left_out == ["stage.web_events", "fact.product_interest"]
    assert {module.name for module in copy.modules} == {m.name for m in lineage.modules} - set(left_out)
    assert all(module.repeat == timedelta() and module.time is None and module.maxstep == 50 for module in copy.modules)
    assert all(source.url_env is None and source.events is None for source in copy.sources)


def test_the_newest_rows_of_each_source_come_to_the_scratch_warehouse_once(
    engine: Engine, scratch: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(engine)
    monkeypatch.setenv("PEOPLE_URL", engine.postgres_url)
    supplies = sampled(engine, LINEAGE, copied(LINEAGE, 30)[0], 30, seed=1)
    assert [supply.name for supply in supplies] == ["stage.orders", "crm.people"]
    for supply in supplies:
        supply.create(scratch)
        for chunk in (LATE, BASE, *CHUNKS):  # some of them again, as after a lost reply
            supply.feed(scratch, chunk)
    found = scratch.catalog.load("stage.orders").scan().to_arrow()
    assert sorted(found["id"].to_pylist()) == list(range(20, 50))
    with psycopg.connect(scratch.postgres_url) as connection:
        people = connection.execute("select no, name, paid from crm.people order by no").fetchall()
        json = connection.execute("select more, tags from crm.people where no = 1").fetchall()
    assert [(no, name) for no, name, _ in people] == [(n, f"p{n}") for n in range(1, 31)]
    assert json == [({"n": 1, "null": None}, [1, "x"])]
