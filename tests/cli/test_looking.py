from __future__ import annotations

import csv
import io

from tests.cli.conftest import Project


def test_status_names_each_topic_with_its_verdict_and_why(loaded: Project):
    rows = {row["topic"]: row for row in loaded.ok("status", "--json").json}
    assert set(rows) == {"fact.orders", "mart.totals"}
    assert rows["fact.orders"]["verdict"] == "BACKOFF"
    assert rows["fact.orders"]["parked"]
    assert "dwh retry, release or skip fact.orders" in rows["fact.orders"]["why"]
    assert rows["fact.orders"]["last_pos"] == "2026-01-31T00:00:20+00:00"
    assert rows["fact.orders"]["pending_rows"] == 10
    assert isinstance(rows["mart.totals"]["lag_seconds"], float)


def test_status_fits_into_a_hundred_columns_and_breaks_no_name(loaded: Project):
    lines = loaded.ok("status").out.splitlines()
    assert max(map(len, lines)) <= 100
    assert any(line.startswith("fact.orders") and "BACKOFF" in line for line in lines)


def test_tables_can_be_had_as_csv(loaded: Project):
    rows = list(csv.DictReader(io.StringIO(loaded.ok("status", "--csv").out)))
    assert [row["topic"] for row in rows] == ["fact.orders", "mart.totals"]


def test_why_follows_the_chain_down_to_the_source(loaded: Project):
    [link] = loaded.ok("why", "mart.totals", "--json").json
    [fact] = link["waits_for"]
    [source] = fact["waits_for"]
    assert (link["verdict"], fact["name"], fact["verdict"]) == ("WAIT_DEP", "fact.orders", "BACKOFF")
    assert (source["name"], source["kind"]) == ("stage.orders", "source")
    assert link["done"] == "when a person acts"
    text = loaded.ok("why", "mart.totals").out
    assert text.index("mart.totals") < text.index("fact.orders") < text.index("stage.orders")
    assert "should be done: when a person acts" in text


def test_why_of_a_source_says_what_is_known_of_it(loaded: Project):
    assert "newest row 2026-01-31 00:00:30" in loaded.ok("why", "stage.orders").out


def test_blocks_show_plan_states_and_rows(loaded: Project):
    rows = loaded.ok("blocks", "fact.orders", "--json").json
    assert [(row["seq"], row["status"], row["rows"]) for row in rows] == [
        (1, "committed", 10),
        (2, "committed", 10),
        (3, "parked", None),
    ]
    assert [row["id"] for row in loaded.ok("blocks", "fact.orders", "--limit", "1", "--json").json] == [rows[-1]["id"]]
    assert f"#{rows[0]['id']}" in loaded.ok("blocks", "fact.orders").out


def test_a_committed_block_shows_statistics_checks_and_rows(loaded: Project):
    block_id = str(loaded.block_of("fact.orders", 1)["id"])
    found = loaded.ok("block", block_id, "--sample", "3", "--json").json
    assert (found["rows"], found["base_rows"], len(found["sample"])) == (10, 10, 3)
    assert found["checks"][0]["passed"]
    assert [e["execution_code"] for e in found["executions"]] == ["Succeeded"]
    text = loaded.ok("block", f"#{block_id}").out
    assert "10 from 10 base rows" in text
    assert "passed" in text


def test_a_parked_block_shows_its_staged_rows_and_the_ways_on(loaded: Project):
    block_id = str(loaded.block_of("fact.orders", 3)["id"])
    answer = loaded.ok("block", block_id, "--sample")
    assert "1 of 10 rows have no amount" in answer.out
    assert "10 staged rows, which readers do not see" in answer.out
    assert "dwh release fact.orders --check NAME" in answer.out


def test_alerts_tell_of_the_block_that_its_check_parked(loaded: Project):
    [alert] = loaded.ok("alerts", "--json").json
    assert (alert["kind"], alert["topic"], alert["resolved_at"]) == ("check_failed", "fact.orders", None)
    assert alert["block_id"] == loaded.block_of("fact.orders", 3)["id"]
    assert alert["deliveries"]["log"]["sent_at"]
    assert loaded.ok("alerts", "--topic", "mart.totals").out.startswith("No alert is open")
    lines = loaded.ok("alerts", "--all").out.splitlines()
    assert max(map(len, lines)) <= 100
    assert any("check_failed" in line and "open" in line for line in lines)
    assert "check_failed: topic fact.orders, block" in (loaded.folder / ".dwh" / "logs" / "dwh.log").read_text()


def test_the_log_counts_each_block_once_with_its_speed(loaded: Project):
    rows = loaded.ok("log", "--topic", "fact.orders", "--json").json
    assert [row["rows"] for row in rows] == [10, 10]
    assert {"loaded_at", "rows_per_second", "bytes", "lag_seconds", "nulls", "attempt", "seconds", "memory"} <= set(rows[0])
    assert "fact.orders" in loaded.ok("log").out


def test_the_event_log_says_who_did_what(loaded: Project):
    codes = [row["code"] for row in loaded.ok("log", "--events", "--json", "-n", "100").json]
    assert "LINEAGE" in codes
    assert codes[-1] == "PARKED" or "PARKED" in codes


def test_errors_of_the_last_day_are_grouped(loaded: Project):
    [row] = loaded.ok("errors", "--json").json
    assert (row["topic"], row["times"], row["code"]) == ("fact.orders", 1, "PARKED")
    assert "no amount" in loaded.ok("errors").out


def test_the_lineage_in_force_can_be_shown_and_looked_back_at(loaded: Project):
    assert {row["name"] for row in loaded.ok("lineage", "show", "--json").json} == {"fact.orders", "mart.totals"}
    assert "One row per order." in loaded.ok("lineage", "show", "fact.orders").out
    [version] = loaded.ok("lineage", "history", "fact.orders", "--json").json
    assert (version["version"], version["what"]) == (1, "added")


def test_a_diff_without_changes_says_so(loaded: Project):
    assert "Nothing to do" in loaded.ok("lineage", "diff").out
    assert loaded.ok("lineage", "diff", "--json").json == []


def test_verify_of_a_sound_warehouse_finds_nothing(loaded: Project):
    assert loaded.ok("verify", "--json").json == []
    assert "every invariant holds" in loaded.ok("verify").out


def test_an_unknown_topic_is_answered_with_near_names(loaded: Project):
    answer = loaded.dwh("blocks", "fact.order")
    assert answer.code == 2
    assert "no topic or table 'fact.order'. Did you mean fact.orders" in answer.err
    assert "Traceback" not in answer.err


def test_an_unknown_block_is_an_error(loaded: Project):
    assert "there is no block #999" in loaded.dwh("block", "999").err
    assert loaded.dwh("block", "many").code == 2
