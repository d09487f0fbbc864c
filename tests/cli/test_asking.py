"""Looking at data by hand: dwh sql, table, export, profile. They only read."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from unittest.mock import patch

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Project


def test_a_query_is_answered_in_each_form_and_says_when_rows_are_left_out(loaded: Project) -> None:
    query = "select f.id, f.amount, s.id from fact.orders f join stage.orders s on s.id = f.id order by f.id"
    shown = loaded.ok("sql", query, "--limit", "2")
    assert "Only the first 2 rows" in shown.err
    assert loaded.ok("sql", query, "-n", "1", "--json").json == [{"id": 1, "amount": 1, "id_2": 1}]
    lines = list(csv.DictReader(io.StringIO(loaded.ok("sql", query, "-n", "0", "--csv").out)))
    assert len(lines) == 20
    assert loaded.ok("sql", "select min(pos) as first from fact.orders", "--json").json == [
        {"first": "2026-01-31T00:00:01+00:00"}
    ]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("delete from fact.orders", "is not a query but DELETE"),
        ("drop table fact.orders", "DROP"),
        ("select 1; select 2", "several statements"),
        ("select * from fact.ordres", "the table fact.ordres does not exist (did you mean fact.orders?)"),
        ("select * from fact.orders.branch_x1", "is not allowed; name it alone"),
        ("select * from parquet.`/etc`", "does not exist"),
        ("select reflect('java.lang.System', 'exit', 1)", "reflect"),
        ("select * from {{ block }}", "is for transforms"),
        ("select amuont from fact.orders", "amuont"),
        ("select 1 / 0 as x", "DIVIDE_BY_ZERO"),
        ("selct 1", "sql:1"),
    ],
)
def test_what_is_no_question_is_refused_before_spark_sees_it(loaded: Project, query: str, message: str) -> None:
    answer = loaded.dwh("sql", query)
    assert answer.code == 2
    assert message in answer.err
    assert "Traceback" not in answer.err


def test_the_prompt_answers_goes_on_after_a_refusal_and_ends(loaded: Project) -> None:
    typed = "\\d\n\\d fact.orders\nselect nothing;\nselect count(*) as n\nfrom fact.orders;\n\\q\n"
    with patch("sys.stdin", io.StringIO(typed)):
        answer = loaded.ok("sql")
    for part in ("mart.totals", "bigint", "20"):
        assert part in answer.out
    assert "nothing" in answer.err


def test_a_table_tells_its_columns_what_it_holds_and_how_fresh_it_is(loaded: Project) -> None:
    found = loaded.ok("table", "fact.orders", "--sample", "3", "--json").json
    assert [c["name"] for c in found["columns"]][:3] == ["pos", "id", "amount"]
    assert (found["holds"]["rows"], found["holds"]["upper"]["amount"], len(found["sample"])) == (20, 20, 3)
    assert [(p["name"], p["rows"]) for p in found["holds"]["partitions"]] == [("2026-01-31", 20)]
    text = loaded.ok("table", "fact.orders").out
    for part in ("One row per order.", "bigint", "2026-01-31", "20 rows", "complete up to"):
        assert part in text
    assert "a source (iceberg)" in loaded.ok("table", "stage.orders").out
    near = loaded.dwh("table", "fact.order")
    assert (near.code, "Did you mean fact.orders" in near.err) == (2, True)


def test_an_export_appears_whole_or_not_at_all(loaded: Project, tmp_path: Path) -> None:
    parquet, text = tmp_path / "orders.parquet", tmp_path / "some.csv"
    assert loaded.ok("export", "fact.orders", "--to", str(parquet), "--json").json["rows"] == 20
    assert sorted(pq.read_table(parquet).column("amount").to_pylist()) == list(range(1, 21))
    loaded.ok("export", "--sql", "select id, amount from fact.orders where id < 3 order by id", "--to", str(text))
    assert text.read_text().splitlines() == ['"id","amount"', "1,1", "2,2"]
    for arguments, message in (
        (("fact.orders", "--to", str(text)), "exists already"),
        (("fact.orders", "--to", str(tmp_path / "x.xlsx")), "its ending tells the form"),
        (("fact.orders", "--to", str(tmp_path / "no" / "x.csv")), "there is no folder"),
        (("fact.ordres", "--to", str(tmp_path / "x.csv")), "Did you mean fact.orders"),
        (("--sql", "select assert_true(id < 5) as ok from fact.orders", "--to", str(tmp_path / "x.csv")), ""),
        (("--to", str(tmp_path / "x.csv")), "in one way"),
        (("fact.orders",), "--to"),
    ):
        refused = loaded.dwh("export", *arguments)
        assert refused.code != 0
        assert message in refused.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["orders.parquet", "some.csv"]


def test_a_profile_tells_rows_and_nulls_over_blocks_and_days_without_reading_the_table(loaded: Project) -> None:
    blocks = loaded.ok("profile", "fact.orders", "--json").json
    assert [(b["rows"], b["nulls"]) for b in blocks] == [(10, {}), (10, {})]
    [day] = loaded.ok("profile", "fact.orders", "--by-day", "--json").json
    assert (day["name"], day["blocks"], day["rows"], day["max_id"]) == ("2026-01-31", 2, 20, 20)
    assert "██" in loaded.ok("profile", "fact.orders").out
    assert "0.0%" in loaded.ok("profile", "fact.orders", "amount").out
    near = loaded.dwh("profile", "fact.orders", "amuont")
    assert (near.code, "Did you mean amount" in near.err) == (2, True)
