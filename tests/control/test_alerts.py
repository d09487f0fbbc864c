"""Alerts in the control store: each occurrence once, each delivery held by one process at a time."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest

from dwh_assets.control.alerts import AlertStore
from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql
from dwh_assets.engine.check import require
from dwh_assets.model.alert import Kind
from dwh_assets.model.block import BlockStats, CheckResult, Claim, RowCounts
from dwh_assets.model.errors import CheckFailed
from tests.control.many_topics import Size, fill
from tests.control.small import TOPIC, Store, changed, ready

HOUR = timedelta(hours=1)


def warned(name: str, severity: Any = "warn", passed: bool = False) -> CheckResult:
    return CheckResult(name, severity, passed, 1.0, "1 of 10 rows have none")


def found(database: Database) -> list[tuple[str, bool]]:
    """Kind of each alert that finding leaves, and whether it is open."""
    store = AlertStore(database)
    store.find()
    store.find()
    return [(row["kind"], row["resolved_at"] is None) for row in store.listed(everything=True)]


def park(store: Store, reason: str) -> Claim:
    claim = store.claims().claim(TOPIC)
    assert store.claims().fail(claim, reason, counts=True, park=True) == "parked"
    return claim


def raised(database: Database, key: str = "run:1", kind: Kind = "block_parked") -> AlertStore:
    store = AlertStore(database)
    assert store.raise_alert(kind, key, TOPIC, None, "error", "it failed")
    store.open_deliveries(["slack"])
    return store


def test_an_occurrence_is_raised_once_by_its_key(database: Database) -> None:
    store = AlertStore(database)
    assert store.raise_alert("run_failed", "run:1", TOPIC, None, "error", "first")
    assert not store.raise_alert("run_failed", "run:1", TOPIC, None, "error", "again")
    assert store.raise_alert("run_failed", "run:2", None, None, "error", "another")
    assert [row["text"] for row in store.listed()] == ["first", "another"]


def test_a_failed_run_is_over_as_it_is_told_and_an_event_without_block_lasts_until_it_is_resolved(database: Database) -> None:
    store = AlertStore(database)
    store.raise_alert("run_failed", "run:1", TOPIC, None, "error", "a run failed")
    store.raise_alert("event_without_block", "event:1", TOPIC, None, "warn", "no block")
    assert [row["resolved_at"] is None for row in store.listed()] == [False, True]
    assert store.resolve("event:1")
    assert not store.resolve("event:1")
    assert not store.resolve("run:1")


def test_a_parked_block_is_one_alert_each_time_it_is_parked_and_over_when_it_is_not(database: Database) -> None:
    store = ready(database, 1)
    park(store, "ValueError: no such thing")
    assert found(database) == [("block_parked", True)]
    store.acts.retry(TOPIC, "again")
    assert found(database) == [("block_parked", False)]
    park(store, "ValueError: still no such thing")
    assert found(database) == [("block_parked", False), ("block_parked", True)]
    (_, row) = AlertStore(database).listed()
    assert f"block #{row['block_id']} is parked: ValueError: still no such thing" in row["text"]
    assert f"`dwh skip {TOPIC}`" in row["text"]
    store.acts.skip(TOPIC, "leave it")
    assert found(database) == [("block_parked", False), ("block_parked", False)]


def test_a_block_parked_twice_between_two_looks_has_one_open_alert(database: Database) -> None:
    store = ready(database, 1)
    park(store, "first")
    store.acts.retry(TOPIC, "again")
    park(store, "second")
    assert found(database) == [("block_parked", False), ("block_parked", True)]


def test_a_blocking_check_that_fails_is_one_alert_and_not_a_parked_block_too(database: Database) -> None:
    store = ready(database, 1)
    claim = store.claims().claim(TOPIC)
    with pytest.raises(CheckFailed) as failure:
        require(claim, (warned("not_null(a)", "error"),), ())
    store.claims().fail(claim, str(failure.value), counts=True, park=True)
    assert found(database) == [("check_failed", True)]
    (row,) = AlertStore(database).listed()
    assert (row["topic"], row["block_id"], row["severity"]) == (TOPIC, claim.block.id, "error")
    assert "check not_null(a) failed: 1 of 10 rows have none" in row["text"]
    store.acts.release(TOPIC, "not_null(a)", "known")
    checks = (warned("not_null(a)", "error"),)
    again = store.claims().claim(TOPIC)
    store.commits.commit(again, [], [BlockStats(again.block.id, 10, 10, 1, seconds=1.0, checks=checks)], RowCounts())
    assert found(database) == [("check_failed", False)]


def test_a_check_that_only_warns_is_an_alert_for_each_block_and_over_as_it_is_told(database: Database) -> None:
    store = ready(database, 1, 2)
    checks = (warned("rows(min)"), warned("unique(a)"), warned("not_null(a)", passed=True))
    claim = store.claims().claim(TOPIC)
    store.commits.commit(claim, [], [BlockStats(claim.block.id, 10, 10, 1, seconds=1.0, checks=checks)], RowCounts())
    store.load()
    assert found(database) == [("check_warned", False), ("check_warned", False)]
    assert {row["key"] for row in AlertStore(database).listed()} == {
        f"warned:{claim.execution_id}:rows(min)",
        f"warned:{claim.execution_id}:unique(a)",
    }


def test_blocks_restated_together_share_one_warning_and_a_restatement_given_up_is_told(database: Database) -> None:
    store = ready(database, 1, 2)
    store.load()
    store.load()
    store.acts.ask_restatement(TOPIC, 1, 2, "restate", "again")
    claim = store.claims().claim(TOPIC)
    stats = [BlockStats(block.id, 10, 10, 1, seconds=1.0, checks=(warned("rows(min)"),)) for block in claim.blocks]
    store.commits.commit(claim, [], stats, RowCounts())
    assert found(database) == [("check_warned", False)]
    number = store.acts.ask_restatement(TOPIC, 1, 2, "restate", "once more")
    assert store.claims().fail(store.claims().claim(TOPIC), "ValueError: no", counts=True, park=True) == "failed"
    assert found(database) == [("check_warned", False), ("block_parked", False)]
    assert f"restatement {number} was given up: ValueError: no" in AlertStore(database).listed()[-1]["text"]


def lagging(database: Database, lag: timedelta) -> None:
    database.execute("update dwh.topic set watermark = now() - %(lag)s", lag=lag)


def test_a_topic_behind_its_promise_is_one_alert_per_episode(database: Database) -> None:
    store = ready(database, 1)
    store.load()
    assert found(database) == []  # it promises nothing
    store.apply(changed(promise=HOUR))
    assert found(database) == [("behind", True)]
    lagging(database, HOUR / 2)
    assert found(database) == [("behind", False)]
    lagging(database, 2 * HOUR)
    assert found(database) == [("behind", False), ("behind", True)]
    text = AlertStore(database).listed()[-1]["text"]
    assert text.startswith(f"topic {TOPIC} is 02:00:00 behind, its promise is 01:00:00: ")
    store.apply(changed(promise=3 * HOUR))
    assert found(database) == [("behind", False), ("behind", False)]
    store.apply(changed(promise=HOUR))
    assert found(database)[2:] == [("behind", True)]
    store.apply(changed(promise=HOUR, active=False))
    assert found(database)[2:] == [("behind", False)]


def test_a_topic_that_never_loaded_anything_is_behind_since_it_was_initialised(database: Database) -> None:
    store = Store(database)
    store.apply(changed(promise=HOUR))
    store.observe()
    assert found(database) == []
    database.execute("update dwh.block set planned_at = now() - interval '2 hours'")
    assert found(database) == [("behind", True)]


def test_a_thousand_topics_that_are_behind_are_found_and_kept_quickly(database: Database) -> None:
    fill(database, Size(modules=50, blocks=2))
    database.execute("update dwh.module set promise = '1 second'")
    store = AlertStore(database)
    began = time.monotonic()
    store.find()
    store.find()
    assert time.monotonic() - began < 10  # joined to dwh.status, 10,000 topics took more than 400 s
    assert len(store.listed()) == 1000


def test_while_one_process_looks_another_one_does_not(database: Database) -> None:
    store = ready(database, 1)
    park(store, "ValueError: x")
    with database.transaction() as connection:
        connection.execute("select pg_advisory_xact_lock(hashtextextended('dwh.alert', 0))")
        AlertStore(database).find()
        assert AlertStore(database).listed() == []
    assert found(database) == [("block_parked", True)]


def test_a_claimed_delivery_is_held_and_comes_back_when_its_holder_dies(database: Database) -> None:
    store = raised(database)
    (mine,) = store.claim("slack")
    assert store.claim("slack") == []
    database.execute("update dwh.alert_delivery set next_try = now() - interval '1 second'")
    (theirs,) = store.claim("slack")
    assert theirs.alert == mine.alert
    store.failed("slack", [mine], "too late to say so")
    store.sent("slack", [mine])
    assert delivery(store)["sent_at"] is None
    assert delivery(store)["problem"] is None
    store.sent("slack", [theirs])
    assert delivery(store)["sent_at"] is not None
    assert store.claim("slack") == []


def delivery(store: AlertStore) -> dict[str, Any]:
    return store.listed()[0]["deliveries"]["slack"]


def test_a_failed_delivery_waits_twice_as_long_each_time_up_to_an_hour(database: Database) -> None:
    store = raised(database)
    waits = []
    for _ in range(12):
        store.failed("slack", store.claim("slack"), "no answer")
        row = database.fetch_one("select extract(epoch from next_try - clock_timestamp()) as wait from dwh.alert_delivery")
        waits.append(round(float(row["wait"])) if row else None)
        database.execute("update dwh.alert_delivery set next_try = now() - interval '1 second'")
    assert waits == [15, 30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600, 3600]
    assert (delivery(store)["attempts"], delivery(store)["problem"]) == (12, "no answer")


def test_an_open_alert_is_repeated_after_its_interval_and_one_that_is_over_is_not(database: Database) -> None:
    store = raised(database)
    store.sent("slack", store.claim("slack", HOUR))
    assert store.claim("slack", HOUR) == []
    database.execute("update dwh.alert_delivery set sent_at = now() - interval '2 hours'")
    assert store.claim("slack") == []
    repeated = store.claim("slack", HOUR)
    assert len(repeated) == 1
    store.sent("slack", repeated)
    database.execute("update dwh.alert_delivery set sent_at = now() - interval '2 hours'")
    store.resolve("run:1")
    assert store.claim("slack", HOUR) == []


def test_a_new_target_learns_of_what_is_open_or_recent_only(database: Database) -> None:
    store = AlertStore(database)
    for number in range(3):
        store.raise_alert("behind", f"b:{number}", f"t.{number}", None, "warn", str(number))
    database.execute("update dwh.alert set raised_at = now() - interval '2 days'")
    store.resolve("b:0")
    store.raise_alert("run_failed", "r", None, None, "error", "now")
    store.open_deliveries(["log"])
    assert [d.alert.text for d in store.claim("log")] == ["1", "2", "now"]
    assert [row["text"] for row in store.listed()] == ["1", "2", "now"]
    assert len(store.listed(everything=True)) == 4
    assert [row["text"] for row in store.listed(["t.1"])] == ["1"]


@pytest.mark.parametrize(
    ("statement", "index"),
    [("raise_parked", "event_parked"), ("raise_warned", "load_stat_failed_check"), ("claim_deliveries", "delivery_waiting")],
)
def test_what_each_round_looks_through_is_found_by_its_index(database: Database, statement: str, index: str) -> None:
    values = {"target": "log", "repeat": None, "limit": 1, "hold": HOUR} if statement == "claim_deliveries" else None
    with database.transaction() as connection:
        connection.execute("set local enable_seqscan = off")
        plan = connection.execute(f"explain {sql(statement)}".encode(), values).fetchall()
    assert index in "\n".join(row["QUERY PLAN"] for row in plan)
