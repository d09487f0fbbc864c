from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime, timedelta

import pytest

from dwh_assets.cli.page import page, together
from dwh_assets.cli.plots import Point, plot
from tests.cli.conftest import Project


def test_the_reports_are_listed_with_a_line_each(loaded: Project):
    rows = {row["name"]: row["about"] for row in loaded.ok("report", "--json").json}
    assert {"not-succeeded", "completeness", "html"} <= set(rows)
    assert all(rows.values())
    assert "newest first, with rows and bytes a second" in loaded.ok("report").out


@pytest.mark.parametrize(
    "name",
    [
        "common-errors",
        "completeness",
        "disabled",
        "load-log",
        "no-audit",
        "not-run",
        "not-succeeded",
        "running-long",
        "time-spent",
    ],
)
def test_every_report_is_had_as_table_json_and_csv(loaded: Project, name: str):
    rows = loaded.ok("report", name, "--json").json
    assert max(map(len, loaded.ok("report", name).out.splitlines())) <= 100
    assert len(list(csv.DictReader(io.StringIO(loaded.ok("report", name, "--csv").out)))) == len(rows)


def test_reports_tell_of_the_loaded_project(loaded: Project):
    [failed] = loaded.ok("report", "not-succeeded", "--json").json
    assert (failed["name"], failed["block_state"]) == ("fact.orders", "parked")
    assert "no amount" in loaded.ok("report", "not_succeeded").out
    [day] = [row for row in loaded.ok("report", "completeness", "--json").json if row["topic"] == "fact.orders"]
    assert (day["blocks"], day["base_rows"], day["waiting_rows"], day["share"]) == (2, 20, 10, pytest.approx(0.6667))
    assert loaded.ok("report", "no-audit", "--json").json == []


def test_a_limit_shows_the_first_and_says_that_there_is_more(loaded: Project):
    answer = loaded.ok("report", "load-log", "--limit", "1")
    assert "The first 1;" in answer.out
    assert len(loaded.ok("report", "load-log", "-n", "1", "--json").json) == 1


def test_an_unknown_report_and_a_file_for_another_are_refused(loaded: Project):
    answer = loaded.dwh("report", "disabld")
    assert answer.code == 2
    assert "Did you mean disabled?" in answer.err
    assert "is for `dwh report html`" in loaded.dwh("report", "disabled", "-o", "x.html").err


def test_the_page_is_one_file_that_needs_nothing_else(loaded: Project):
    file = loaded.folder / "out" / "report.html"
    assert loaded.ok("report", "html", "-o", str(file), "--json").json["file"] == str(file)
    text = file.read_text()
    assert text.count("<svg") == 8  # four plots of two tables
    assert "BACKOFF" in text
    assert "not_null(amount)" in text or "no amount" in text
    assert not re.search(r"https?://|<script|<link|@import|url\(", text)
    loaded.ok("report", "html")
    assert (loaded.folder / ".dwh" / "report.html").exists()


def test_a_page_that_cannot_be_written_names_the_place(loaded: Project):
    answer = loaded.dwh("report", "html", "-o", "/proc/nowhere/report.html")
    assert answer.code == 2
    assert "could not be written to /proc/nowhere/report.html" in answer.err


def test_everything_on_the_page_is_escaped():
    evil = "<script>alert('x')</script>"
    now = datetime(2026, 1, 1, tzinfo=UTC)
    status = {
        "topic": evil, "verdict": evil, "why": evil, "last_pos": now, "lag_seconds": 1.0, "pending_rows": 1, "more": True,
        "due": True, "parked": True, "stale_blocks": 1, "late_rows": 1,
    }  # fmt: skip
    block = {"table_name": evil, "loaded_at": now, "rows": 1, "nulls": 0, "seconds": 1.0, "lag_seconds": None}
    text = page([status], [block], {evil: (evil, [{evil: evil, "share": 0.5}])})
    assert "<script" not in text
    assert text.count("&lt;script&gt;") >= 7


def test_an_empty_warehouse_has_a_page_too():
    text = page([], [], {"disabled": ("about", [])})
    assert "No Lineage is in force yet." in text
    assert "Nothing was loaded yet." in text


def test_a_plot_tells_each_point_and_bears_equal_times_and_values():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    text = plot("rows", [Point(now, 0), Point(now, 0)], lambda value: f"{value:.0f} rows", "stems")
    assert text.count("<title>0 rows, 01-01 00:00</title>") == 2
    assert "nan" not in text
    assert "no values" in plot("lag", [], str)


def test_neighbours_are_put_together_without_losing_a_row():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        {
            "loaded_at": now + timedelta(minutes=n),
            "rows": n,
            "nulls": 1,
            "seconds": float(n),
            "lag_seconds": None if n % 2 else 1.0,
        }
        for n in range(205)
    ]
    groups = together(rows, most=80)
    assert len(groups) == 69
    assert sum(group["rows"] for group in groups) == sum(range(205))
    assert groups[0]["seconds"] == 2.0
