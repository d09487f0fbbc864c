"""The Spark server: one for all processes, found again when it was killed, never open to the network."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.errors.exceptions.connect import SparkConnectGrpcException

from dwh_assets.config.settings import load_settings
from dwh_assets.model.errors import SparkDown
from dwh_assets.warehouse.server import SparkServer
from dwh_assets.warehouse.session import open_plain_session, spark_errors

OF_JAVA = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 '-Dtwo.words=both of them'"}


def pid_of(run_folder: Path) -> int:
    return int((run_folder / "spark" / "pid").read_text().split()[0])


def test_a_second_start_finds_the_server_that_runs(spark_server: SparkServer, run_folder: Path) -> None:
    other = SparkServer(load_settings(home=run_folder))
    assert other.running()
    assert other.start() == spark_server.start()


def test_it_listens_on_loopback_only(spark_server: SparkServer, run_folder: Path) -> None:
    spark_server.start()
    listening = [c for c in psutil.Process(pid_of(run_folder)).net_connections("inet") if c.status == psutil.CONN_LISTEN]
    assert {str(c.laddr.ip).removeprefix("::ffff:") for c in listening} == {"127.0.0.1"}


def test_its_command_line_holds_no_secret(spark_server: SparkServer, run_folder: Path, database_url: str) -> None:
    secret = database_url.split(":")[2].split("@")[0]
    process = psutil.Process(pid_of(run_folder))
    assert secret not in " ".join(process.cmdline())
    assert secret not in " ".join(process.environ().values())


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[SparkServer]:
    """One that nobody else holds a session of."""
    server = SparkServer(load_settings(home=tmp_path, spark_master="local[1]", spark_memory="1g", spark_options=OF_JAVA))
    yield server
    server.stop()


@pytest.mark.exhaustive
def test_a_killed_server_is_spark_down_and_the_next_start_makes_a_new_one(own_server: SparkServer, tmp_path: Path) -> None:
    session = open_plain_session(own_server.start(timeout=240))
    assert session.range(3).count() == 3
    killed = pid_of(tmp_path)
    os.kill(killed, signal.SIGKILL)
    begun = time.monotonic()
    with pytest.raises(SparkDown), spark_errors():
        session.range(3).count()
    assert time.monotonic() - begun < 15
    assert not own_server.running()
    sound = tmp_path / "sound.parquet"
    pyarrow.parquet.write_table(pa.table({"id": [1]}), sound)
    with pytest.raises(SparkDown), spark_errors(lambda: [str(sound)], session):
        raise SparkConnectGrpcException("Reached the end of stream")  # no file is damaged because Spark is away now
    fresh = open_plain_session(own_server.start(timeout=240))
    assert pid_of(tmp_path) != killed
    assert fresh.range(4).count() == 4
    fresh.stop()


def test_java_gets_the_options_that_are_set_for_it(own_server: SparkServer) -> None:
    session = open_plain_session(own_server.start(timeout=240))
    (row,) = session.sql("select java_method('java.lang.System', 'getProperty', 'two.words')").collect()
    assert row[0] == "both of them"
    session.stop()


def test_warming_leaves_nothing_behind(spark_server: SparkServer, run_folder: Path) -> None:
    spark_server.start(timeout=240)
    spark_server.warm()
    assert list((run_folder / "spark").glob("warm-*")) == []


def test_an_outside_server_is_used_as_it_is(tmp_path: Path) -> None:
    server = SparkServer(load_settings(home=tmp_path, spark_remote="sc://elsewhere:15002"))
    assert server.start() == "sc://elsewhere:15002"
    server.stop()
    assert not (tmp_path / "spark").exists()


def test_a_server_that_cannot_start_says_where_the_reason_is(tmp_path: Path) -> None:
    server = SparkServer(load_settings(home=tmp_path, spark_memory="1k"))
    with pytest.raises(SparkDown, match=r"spark\.log"):
        server.start(timeout=60)
    assert not server.running()
