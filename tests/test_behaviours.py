"""The list of behaviours in tests/README.md names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(test_\w+)`", (HERE / "README.md").read_text())))


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_a_named_test_exists(file: str, test: str) -> None:
    assert re.search(rf"def {test}\b", (HERE / file).read_text())


def test_the_list_is_not_empty() -> None:
    assert len(NAMED) > 40
