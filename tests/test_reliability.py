"""docs/reliability.md names tests that exist, every rule and every protection."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dwh_assets.model.failpoints import PROTECTIONS

HERE = Path(__file__).parent
PAGE = (HERE.parent / "docs" / "reliability.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(test_\w+)`", PAGE)))


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_a_named_test_exists(file: str, test: str) -> None:
    assert re.search(rf"def {test}\b", (HERE / file).read_text(encoding="utf-8"))


def test_every_fault_names_a_test_or_says_that_there_is_none() -> None:
    lines = _table("## Faults")
    assert len(lines) >= 18
    assert [line for line in lines if "::test_" not in line and "not shown yet" not in line] == []


def test_every_rule_and_every_protection_is_listed() -> None:
    lines = _table("## Protections")
    assert [line.split("|")[1].strip() for line in lines] == [f"R{n}" for n in range(1, 21)]
    switches = [line.split("|")[3].strip() for line in lines]
    assert sorted(switch.strip("`") for switch in switches if switch != "none") == sorted(PROTECTIONS)


def _table(heading: str) -> list[str]:
    section = PAGE.partition(heading)[2].partition("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("| ")][1:]
