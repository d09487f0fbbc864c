"""docs/reliability.md names tests that exist, and each rule has a tooth: a test that goes red without its protection."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dwh_assets.model.failpoints import PROTECTIONS
from tests.faults.test_teeth import TEETH

HERE = Path(__file__).parent
PAGE = (HERE.parent / "docs" / "reliability.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(test_\w+)`", PAGE)))
RULES = [f"R{n}" for n in range(1, 21)]
SCENARIOS = "faults/test_teeth.py::test_a_fault_is_seen_when_its_protection_is_off_and_only_then"


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_a_named_test_exists(file: str, test: str) -> None:
    assert re.search(rf"def {test}\b", (HERE / file).read_text(encoding="utf-8"))


def test_every_fault_names_a_test() -> None:
    lines = _table("## Faults")
    assert len(lines) >= 20
    assert [line for line in lines if "::test_" not in line] == []


def test_every_rule_has_a_tooth_and_the_page_names_it() -> None:
    teeth = {(rule, switch, SCENARIOS) for rule, switch, _ in TEETH} | set(_marked())
    told = {(rule, switch.strip("`"), test.strip("`")) for rule, _, switch, test in map(_cells, _table("## Protections"))}
    assert told == teeth
    assert sorted({rule for rule, *_ in teeth}, key=RULES.index) == RULES


def test_every_switch_belongs_to_a_rule() -> None:
    switches = {switch for _, switch, _ in TEETH} | {switch for _, switch, _ in _marked()}
    assert switches - {"beside"} == set(PROTECTIONS)


def _marked() -> Iterator[tuple[str, str, str]]:
    """Rule, switch and name of every test that is marked as a tooth."""
    for file in sorted(HERE.rglob("test_*.py")):
        for function in [n for n in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(n, ast.FunctionDef)]:
            for mark in function.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.tooth":
                    rule, switch = (ast.literal_eval(argument) for argument in mark.args)
                    yield rule, switch, f"{file.relative_to(HERE)}::{function.name}"


def _cells(line: str) -> tuple[str, str, str, str]:
    rule, protection, switch, test = (cell.strip() for cell in line.strip().strip("|").split("|"))
    return rule, protection, switch, test


def _table(heading: str) -> list[str]:
    section = PAGE.partition(heading)[2].partition("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("| ")][1:]
