"""Files of cases: what they hold, and what is wrong with them, by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dwh_assets.config.case_files import find_cases, read_cases
from dwh_assets.model.errors import ConfigError
from dwh_assets.model.position import Position

GOOD = """table: fact.orders
cases:
  - name: one
    given: {stage.orders: [{pos: 2026-01-31T00:00:00Z, id: 1}]}
    block: {last: [2026-01-31T00:00:00Z, 0], next: [2026-01-31T00:00:01Z, 9]}
    expect: []
"""


def test_a_case_keeps_its_file_line_and_bounds(tmp_path: Path) -> None:
    (tmp_path / "tests/transforms").mkdir(parents=True)
    (tmp_path / "tests/transforms/orders.yaml").write_text(GOOD)
    [case] = find_cases(tmp_path, [])
    assert (str(case), case.line, case.module) == ("tests/transforms/orders.yaml: one", 3, "fact.orders")
    assert case.bounds is not None
    assert isinstance(case.bounds.last, Position)
    assert case.form.given["stage.orders"][0]["pos"] == "2026-01-31T00:00:00Z"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("table: fact.orders\ncases: []\n", "cases.yaml:2: cases: List should have at least 1 item"),
        (GOOD.replace("expect: []", "expcet: []"), "cases.yaml:6: cases.0.expcet: Extra inputs are not permitted"),
        (GOOD.replace("[2026-01-31T00:00:00Z, 0]", "yesterday"), "must be [instant, id]"),
        (GOOD + GOOD.partition("cases:\n")[2], "several cases are called 'one'"),
        ("table: [", "cases.yaml:1: not valid YAML"),
    ],
)
def test_what_is_wrong_with_a_file_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "cases.yaml").write_text(text)
    with pytest.raises(ConfigError) as refused:
        read_cases(tmp_path / "cases.yaml", tmp_path)
    assert message in str(refused.value)


def test_a_project_without_cases_says_where_they_go(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="tests/transforms"):
        find_cases(tmp_path, [])
