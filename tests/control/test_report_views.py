# ruff: noqa: E501 - SQL
"""Each report, over rows that were made to be found or to be left out."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dwh_assets.control.database import Database
from dwh_assets.control.report_views import ReportViews
from dwh_assets.model.errors import UnknownReport
from tests.control.small import TOPIC, Store, changed, ready

Row = dict[str, Any]
NAMES = {
    "common-errors", "completeness", "disabled", "load-log", "no-audit", "not-run", "not-succeeded", "running-long", "time-spent",
}  # fmt: skip


@pytest.fixture
def store(database: Database) -> Store:
    """One topic with three planned blocks that end on three days."""
    return ready(database, 10, 30, 50)


def rows(store: Store, name: str) -> list[Row]:
    return ReportViews(store.database).rows(name)


def fail(store: Store, problem: str = "it broke") -> int:
    claim = store.claims().claim(TOPIC)
    store.claims().fail(claim, problem, counts=True)
    return claim.execution_id


def put_batch(store: Store, name: str = "nightly", kind: str = "STANDARD", **fields: Any) -> None:
    values = {"active": True, "frequency": None} | fields
    store.database.execute(
        "insert into dwh.batch (name, kind, retries, active, frequency, spec) values (%(name)s, %(kind)s, 3, %(active)s, %(frequency)s, '{}')",
        name=name,
        kind=kind,
        **values,
    )


def put_instance(store: Store, code: str, hours: float, batch: str = "nightly", took: float = 0.5, failed: str = "{}") -> int:
    """An instance that began so many hours ago."""
    running = code == "Executing"
    row = store.database.fetch_one(
        "insert into dwh.batch_instance (batch, started_by, worker, execution_code, processing_code, next_run_code, failed, started_at, "
        "ended_at, lease_until) values (%(batch)s, 'hand', 'w', %(code)s, 'Proceed', 'Proceed', %(failed)s, now() - %(ago)s, "
        "case when not %(running)s then now() - %(ago)s + %(took)s end, case when %(running)s then now() end) returning id",
        batch=batch,
        code=code,
        failed=failed,
        ago=timedelta(hours=hours),
        took=timedelta(hours=took),
        running=running,
    )
    assert row is not None
    return row["id"]


def test_every_report_answers_on_an_empty_store_and_says_what_it_is_about(database: Database) -> None:
    views = ReportViews(database)
    listed = views.listed()
    assert {row["name"] for row in listed} == NAMES
    assert all(row["about"] for row in listed)
    assert all(views.rows(row["name"]) == [] for row in listed)
    assert views.rows("not_run") == []


def test_an_unknown_report_is_refused_with_near_ones(database: Database) -> None:
    with pytest.raises(UnknownReport, match=r"no report 'disable'. Did you mean disabled"):
        ReportViews(database).rows("disable")


def test_a_failed_topic_is_not_succeeded_until_its_block_is_loaded(store: Store) -> None:
    execution = fail(store, "it broke\nbecause")
    [row] = rows(store, "not-succeeded")
    assert (row["what"], row["name"], row["ended_as"], row["instance"], row["reason"]) == (
        "topic",
        TOPIC,
        "Failed",
        execution,
        "it broke",
    )
    store.load()
    assert rows(store, "not-succeeded") == []


def test_an_aborted_run_does_not_hide_the_failed_one_before_it(store: Store) -> None:
    failed = fail(store)
    store.claims().claim(TOPIC)
    store.acts.unlock(TOPIC, "hung")
    [row] = rows(store, "not-succeeded")
    assert (row["instance"], row["ended_as"], row["attempts"]) == (failed, "Failed", 2)


def test_a_batch_that_failed_last_is_not_succeeded_and_names_what_failed(store: Store) -> None:
    put_batch(store)
    put_instance(store, "Succeeded", 5)
    put_instance(store, "Failed", 2, failed="{fact.sales}")
    [row] = rows(store, "not-succeeded")
    assert (row["what"], row["name"], row["reason"]) == ("batch", "nightly", "failed: fact.sales")
    put_instance(store, "Succeeded", 1)
    assert rows(store, "not-succeeded") == []


def test_an_attempt_runs_too_long_by_its_own_history_and_never_below_the_floor(store: Store) -> None:
    store.load()
    store.database.execute("update dwh.execution set ended_at = started_at + interval '10 minutes'")
    store.claims().claim(TOPIC)
    began = "update dwh.execution set started_at = now() - %(ago)s where execution_code = 'Executing'"
    store.database.execute(began, ago=timedelta(minutes=20))
    assert rows(store, "running-long") == []
    store.database.execute(began, ago=timedelta(minutes=31))
    [row] = rows(store, "running-long")
    assert (row["name"], row["usual"], row["allowed"]) == (TOPIC, timedelta(minutes=10), timedelta(minutes=30))
    store.database.execute("update dwh.execution set ended_at = started_at + interval '1 second' where ended_at is not null")
    store.database.execute(began, ago=timedelta(minutes=4))
    assert rows(store, "running-long") == []
    store.database.execute(began, ago=timedelta(minutes=6))
    assert rows(store, "running-long")[0]["allowed"] == timedelta(minutes=5)


def test_what_never_succeeded_may_run_for_an_hour(store: Store) -> None:
    put_batch(store)
    put_instance(store, "Executing", 0.9)
    assert rows(store, "running-long") == []
    store.database.execute("update dwh.batch_instance set started_at = now() - interval '2 hours'")
    [row] = rows(store, "running-long")
    assert (row["what"], row["allowed"], row["worker_lost"]) == ("batch", timedelta(hours=1), True)


def test_a_topic_that_did_not_run_for_long_is_named_with_its_verdict(store: Store) -> None:
    assert rows(store, "not-run") == []
    store.load()
    store.database.execute(
        "update dwh.execution set started_at = now() - interval '25 hours', ended_at = now() - interval '25 hours'"
    )
    [row] = rows(store, "not-run")
    assert (row["what"], row["name"], row["allowed"]) == ("topic", TOPIC, timedelta(days=1))
    assert row["verdict"]
    store.apply(changed(repeat=timedelta(days=2)))
    assert rows(store, "not-run") == []
    store.apply(changed(active=False))
    store.database.execute("update dwh.execution set started_at = now() - interval '1 year'")
    assert rows(store, "not-run") == []


def test_a_batch_with_a_frequency_that_did_not_run_for_long_is_named(store: Store) -> None:
    put_batch(store, frequency="0 3 * * *")
    put_batch(store, "by_hand")
    for days in (8, 7, 6, 5):
        put_instance(store, "Succeeded", 24 * days)
    put_instance(store, "Succeeded", 24 * 9, batch="by_hand")
    [row] = [row for row in rows(store, "not-run") if row["what"] == "batch"]
    assert (row["name"], row["allowed"].days) == ("nightly", 3)


def test_what_is_switched_off_is_found_at_every_level(store: Store) -> None:
    store.apply(changed(active=False))
    put_batch(store, active=False)
    put_batch(store, "parent")
    for statement in (
        "update dwh.source set active = false",
        "update dwh.topic set active = false",
        "insert into dwh.batch_module (batch, module, sequence, active) values ('nightly', 'fact.sales', 1, false)",
        "insert into dwh.batch_hierarchy (parent, child, sequence, active) values ('parent', 'nightly', 1, false)",
    ):
        store.database.execute(statement.encode())
    found = {row["level"]: row for row in rows(store, "disabled")}
    assert set(found) == {"source", "module", "topic", "batch", "module in batch", "batch in batch"}
    assert (found["module"]["by"], found["module in batch"]["part_of"]) == ("ann", "nightly")
    store.database.execute("update dwh.module set removed = true")
    assert "module" not in {row["level"] for row in rows(store, "disabled")}


def test_common_errors_are_counted_whatever_their_numbers_and_topics(store: Store) -> None:
    insert = "insert into dwh.event_log (at, kind, code, topic, who, text) values (now() - %(ago)s, 'process', %(code)s, %(topic)s, 'w', %(text)s)"
    told = [
        (1, "FAILED", "fact.a", "topic fact.a, block #1: 10 rows are bad\nadvice"),
        (2, "FAILED", "fact.b", "topic fact.b, block #22: 7 rows are bad\nother advice"),
        (3, "PARKED", "fact.b", "topic fact.b, block #22: disk full"),
        (40, "FAILED", "fact.a", "topic fact.a, block #1: 10 rows are bad"),
        (1, "LATE", "fact.a", "topic fact.a, block #1: 10 rows are bad"),
    ]
    for days, code, topic, text in told:
        store.database.execute(insert, ago=timedelta(days=days), code=code, topic=topic, text=text)
    found = [(row["times"], row["topics"], row["newest_text"]) for row in rows(store, "common-errors")]
    assert found == [(2, 2, "10 rows are bad"), (1, 1, "disk full")]


def test_time_spent_counts_what_failures_cost(store: Store) -> None:
    fail(store)
    store.load()
    store.database.execute(
        "update dwh.execution set ended_at = started_at + case when execution_code = 'Failed' then interval '30 seconds' else interval '10 seconds' end"
    )
    [row] = rows(store, "time-spent")
    assert (row["table_name"], row["attempts"], row["failed"]) == (TOPIC, 2, 1)
    assert (row["spent"], row["lost"], row["average"]) == (timedelta(seconds=40), timedelta(seconds=30), timedelta(seconds=10))
    assert (float(row["share"]), row["rows"], row["rows_per_second"]) == (1.0, 10, 1)


def test_tables_without_audit_columns_are_named_and_so_are_strays(store: Store) -> None:
    note = store.lineage.note_columns
    assert "not looked at" in rows(store, "no-audit")[0]["problem"]
    note(TOPIC, [], ["_block", "_execution", "_loaded_at"])
    assert rows(store, "no-audit") == []
    note(TOPIC, [], ["_block"])
    for name in ("sales", "stray"):
        store.database.execute(
            "insert into iceberg.iceberg_tables (catalog_name, table_namespace, table_name) values ('dwh', 'src', %(name)s)",
            name=name,
        )
    found = {row["table_name"]: row["problem"] for row in rows(store, "no-audit")}
    assert found == {TOPIC: "lacks _execution, _loaded_at", "src.stray": "nobody builds it and no source declares it"}


def test_the_load_log_tells_rates_newest_first(store: Store) -> None:
    store.load()
    store.load()
    store.database.execute('update dwh.load_stat set seconds = 2, bytes = 100, bytes_read = 300, nulls = \'{"a": 2, "b": 3}\'')
    newest, oldest = rows(store, "load-log")
    assert (newest["number"], oldest["number"]) == (2, 1)
    assert (newest["rows"], newest["rows_per_second"], newest["bytes_per_second"], newest["nulls"]) == (
        10,
        5,
        200,
        {"a": 2, "b": 3},
    )
    assert len(ReportViews(store.database).rows("load-log", 1)) == 1


def test_completeness_tells_of_each_day_what_is_missing_and_what_was_skipped(store: Store) -> None:
    store.load()
    store.database.execute("update dwh.block set late_rows = 10 where seq = 1")
    store.claims().claim(TOPIC)
    store.acts.skip(TOPIC, "worthless")
    third, second, first = rows(store, "completeness")
    assert [str(row["day"]) for row in (first, second, third)] == ["2026-03-01", "2026-03-02", "2026-03-03"]
    assert (first["blocks"], first["base_rows"], first["rows"], first["late_rows"], float(first["share"])) == (1, 10, 10, 10, 0.5)
    assert (second["blocks"], second["skipped_ranges"], float(second["share"])) == (0, 1, 0.0)
    assert "2026-03-01 10:00" in second["skipped"]
    assert (third["waiting_blocks"], third["waiting_rows"], float(third["share"])) == (1, 10, 0.0)


def test_a_skipped_range_that_nobody_counted_leaves_its_day_unknown(store: Store) -> None:
    store.database.execute("update dwh.block set planned_rows = null where seq = 1")
    store.claims().claim(TOPIC)
    store.acts.skip(TOPIC, "worthless")
    assert [row["share"] for row in rows(store, "completeness") if row["skipped_ranges"]] == [None]
