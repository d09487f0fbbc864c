"""Sessions on the warehouse's catalog: what they see, what they keep secret, what their errors become."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql.connect.client.reattach import ExecutePlanResponseReattachableIterator as Reattachable
from pyspark.sql.connect.session import SparkSession

from dwh_assets.control.database import Database
from dwh_assets.model.errors import ConfigError, DamagedData, DiskFull, SourceDown, SparkDown
from dwh_assets.warehouse.server import SparkServer
from dwh_assets.warehouse.session import open_plain_session, open_session, spark_errors

DRIVER = {"driver": "org.postgresql.Driver"}


@pytest.fixture
def table(session: SparkSession) -> str:
    session.sql("create namespace stage")
    session.sql("create table stage.sales (id bigint, name string) using iceberg")
    rows = session.range(0, 1000, numPartitions=1).selectExpr("id", "concat('customer ', id * 7919) as name")
    rows.writeTo("stage.sales").append()
    return "stage.sales"


def data_file(session: SparkSession, table: str) -> Path:
    return Path(session.sql(f"select file_path from {table}.files").toArrow()["file_path"][0].as_py().removeprefix("file:"))


def flip(file: Path) -> None:
    """One bit in the middle of a file, past the checksum that Hadoop's local files keep beside it."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x10
    file.write_bytes(content)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def test_the_java_catalog_takes_the_migrated_tables_as_its_own(session: SparkSession, table: str, database: Database) -> None:
    rows = database.fetch("select catalog_name, table_namespace, table_name, iceberg_type from iceberg.iceberg_tables")
    assert rows == [{"catalog_name": "dwh", "table_namespace": "stage", "table_name": "sales", "iceberg_type": "TABLE"}]
    assert session.table("dwh.stage.sales").count() == 1000


def test_another_session_sees_a_commit_at_once(
    session: SparkSession, table: str, spark_server: SparkServer, database: Database, tmp_path: Path
) -> None:
    other = open_session(spark_server.start(), database.url, str(tmp_path / "warehouse"))
    assert other.table(table).count() == 1000
    session.range(5).selectExpr("id", "'x' as name").writeTo(table).append()
    assert other.table(table).count() == 1005
    other.stop()


def test_settings_of_a_session_do_not_say_the_password(session: SparkSession, table: str, database: Database) -> None:
    secret = database.url.split(":")[2].split("@")[0]
    assert secret not in str(session.sql("set").toArrow().to_pylist())
    assert secret not in str(session.sql("set -v").toArrow().to_pylist())


def test_days_are_utc_whatever_the_machine_says(session: SparkSession) -> None:
    assert session.conf.get("spark.sql.session.timeZone") == "UTC"


def test_a_flipped_byte_is_damaged_data_that_names_the_file(session: SparkSession, table: str) -> None:
    file = data_file(session, table)
    flip(file)
    with pytest.raises(DamagedData, match=file.name), spark_errors(files=lambda: [str(file)]):
        session.table(table).toArrow()


def test_a_flipped_bit_that_only_spark_stumbles_over_is_damaged_data_that_names_the_file(session: SparkSession) -> None:
    """The scale of a decimal is written twice; Arrow reads on with one of them."""
    session.sql("create namespace exact")
    session.sql("create table exact.amounts (amount decimal(19, 0)) using iceberg")
    session.sql("insert into exact.amounts values (1), (2)")
    file = data_file(session, "exact.amounts")
    whole = file.read_bytes()
    before, scale, after = whole.partition(b"\x25\x0a\x15\x00\x15")  # a decimal, of scale 0 and some precision
    assert scale
    file.write_bytes(before + b"\x25\x0a\x15\x10\x15" + after)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    with pytest.raises(DamagedData, match=file.name), spark_errors(lambda: [str(file)], session):
        session.table("exact.amounts").toArrow()


@pytest.mark.tooth("R9", "beside")
def test_without_page_checksums_a_flipped_bit_gives_other_rows_in_silence(
    session: SparkSession, spark_server: SparkServer, database: Database, tmp_path: Path
) -> None:
    """The same file is read by two sessions, one of which does not verify. Not compressed: zstd has a checksum of its own."""
    session.sql("create namespace if not exists plain")
    plain = "tblproperties ('write.parquet.compression-codec' = 'uncompressed')"
    session.sql(f"create table plain.numbers (id bigint, amount bigint) using iceberg {plain}")
    session.range(0, 1000, numPartitions=1).selectExpr("id", "id * 7919 as amount").writeTo("plain.numbers").append()
    lax = open_session(spark_server.start(), database.url, str(tmp_path / "warehouse"))
    lax.conf.set("spark.sql.catalog.dwh.hadoop.parquet.page.verify-checksum.enabled", "false")
    before = lax.table("plain.numbers").toArrow().sort_by("id")
    flip(data_file(session, "plain.numbers"))
    with pytest.raises(DamagedData), spark_errors():
        session.table("plain.numbers").toArrow()
    after = lax.table("plain.numbers").toArrow().sort_by("id")
    assert after.num_rows == before.num_rows
    assert after != before
    lax.stop()


def test_a_missing_file_is_damaged_data_that_names_it(session: SparkSession, table: str) -> None:
    file = data_file(session, table)
    file.unlink()
    with pytest.raises(DamagedData, match=file.name), spark_errors():
        session.table(table).toArrow()


def test_a_truncated_file_is_damaged_data_that_names_it(session: SparkSession, table: str) -> None:
    file = data_file(session, table)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(DamagedData, match=file.name), spark_errors():
        session.table(table).toArrow()


def test_a_full_disk_is_told_as_such(session: SparkSession) -> None:
    with pytest.raises(DiskFull, match="published data is intact"), spark_errors():
        session.sql("select raise_error('java.io.IOException: No space left on device')").toArrow()


def test_an_error_of_the_query_passes_through_and_is_not_printed(
    session: SparkSession, table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(AnalysisException, match="nothing"), spark_errors():
        session.table(table).select("nothing").toArrow()
    with pytest.raises(AnalysisException, match="nothing"), spark_errors():
        session.sql(f"select nothing from {table}").toArrow()
    assert capsys.readouterr() == ("", "")


def test_a_source_database_that_refuses_spark_is_not_taken_for_a_lost_spark(session: SparkSession) -> None:
    with pytest.raises(SourceDown, match="a database that Spark reads"), spark_errors():
        session.read.jdbc("jdbc:postgresql://127.0.0.1:9/nothing", "orders", properties=DRIVER).toArrow()


def test_a_server_that_is_not_there_is_spark_down_within_seconds(database: Database) -> None:
    with pytest.raises(SparkDown):
        open_session("sc://127.0.0.1:9", database.url, "/nowhere")


def test_a_session_that_is_collected_while_another_stops_waits_for_nobody(spark_server: SparkServer) -> None:
    left = [open_plain_session(spark_server.start())]

    def throw_away() -> None:
        left.clear()
        gc.collect()

    thread = threading.Thread(target=throw_away, daemon=True)
    with Reattachable._lock:  # held while a session stops, which waits for threads that may do what this one does
        thread.start()
        thread.join(20)
        assert not thread.is_alive()


def test_a_url_that_is_no_url_is_refused_without_repeating_it(spark_server: SparkServer) -> None:
    with pytest.raises(ConfigError) as refused:
        open_session(spark_server.start(), "host=x password=hidden", "/nowhere")
    assert "hidden" not in str(refused.value)
