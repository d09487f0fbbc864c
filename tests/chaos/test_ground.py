"""The ground of chaos is its own, whatever the person's own warehouse is set to; it loses nothing, and keeps what failed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dwh_assets.chaos.ground import PREPARED, Ground
from dwh_assets.chaos.run import scratch
from dwh_assets.config.settings import Settings
from dwh_assets.control.server import EmbeddedPostgres

URL = "postgresql://dwh:x@127.0.0.1:5432/chaos"
YOURS = {
    "DWH_SPARK_REMOTE": "sc://yours:15002",
    "DWH_SPARK_MASTER": "spark://yours:7077",
    "DWH_KAFKA_BOOTSTRAP": "yours:9092",
    "DWH_ALERT_SLACK": "https://hooks.example.com/yours",
    "DWH_ALERT_WEBHOOK": "https://alerts.example.com/yours",
    "DWH_OPENLINEAGE_URL": "https://lineage.example.com/yours",
    "DWH_WAREHOUSE": "s3://yours/warehouse",
    "DWH_HOME": "/yours",
}


def test_nothing_of_the_persons_own_settings_counts_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in YOURS.items():
        assert name.removeprefix("DWH_").lower() in Settings.model_fields
        monkeypatch.setenv(name, value)
    (tmp_path / "dwh.toml").write_text('spark_options = {"spark.executor.memory" = "64g"}\nlog_format = "json"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DWH_PROJECT", str(tmp_path))
    ground = Ground(tmp_path / "home", streams=False)
    settings = ground.settings(URL, 3)
    assert (settings.home, settings.slots, settings.spark_remote) == (tmp_path / "home", 3, None)
    own = {name.removeprefix("DWH_").lower() for name in ground.environment(URL)}
    for name, field in Settings.model_fields.items():
        if name not in own:
            assert getattr(settings, name) == field.get_default(), name
    assert "yours" not in str(ground.environment(URL))


@pytest.fixture
def ground() -> Iterator[Ground]:
    """With a Postgres of its own, that may crash; its table has one row."""
    with scratch(lambda: False) as home:
        ground = Ground(home, spark_remote=YOURS["DWH_SPARK_REMOTE"], streams=False)
        ground.start()
        with psycopg.connect(ground.create_prepared()) as connection:
            connection.execute("create table counted (id bigint generated always as identity primary key)")
        insert_rows(ground.url(f"{PREPARED}_{ground.tag}"), 1)
        yield ground
        ground.stop()


def insert_rows(url: str, count: int) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("insert into counted select from generate_series(1, %s)", [count])


def count_rows(url: str) -> int:
    with psycopg.connect(url) as connection:
        (row,) = connection.execute("select count(*) from counted").fetchall()
    return row[0]


def test_numbers_that_a_clone_has_given_out_do_not_come_again_after_a_crash(ground: Ground) -> None:
    with ground.clone("round_1") as url:
        insert_rows(url, 5)
        ground.crash_postgres()
        insert_rows(url, 5)  # refused, were one of them there already
        assert count_rows(url) == 11


def test_the_database_of_a_failed_round_is_the_one_that_commands_find_in_its_home(ground: Ground) -> None:
    with ground.clone("round_1") as url:
        insert_rows(url, 1)
    with ground.clone("round_2", lambda: True) as url:
        insert_rows(url, 2)
        left_open = psycopg.connect(url)  # as Spark leaves them
    with ground.clone("round_0") as url:  # of shrinking
        insert_rows(url, 3)
    left_open.close()
    ground.stop()
    server = EmbeddedPostgres(ground.home)
    assert count_rows(server.start()) == 3
