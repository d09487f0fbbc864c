"""For pytest: the fixture `dwh_transforms`, and `transform_cases`, which reads cases for `pytest.mark.parametrize`.

from dwh_assets.pytest_plugin import transform_cases

@pytest.mark.parametrize("case", transform_cases(), ids=str)
def test_transforms(dwh_transforms, case):
    dwh_transforms.require(case)

def test_a_voucher_takes_a_tenth_off(dwh_transforms):
    [row] = dwh_transforms.run("fact.sales#web", {"stage.web_orders": [{"pos": "2026-01-31T00:00:00Z", "id": 1, ...}]})
    assert row["amount"] == Decimal("9.00")
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dwh_assets.config.case_files import Case
    from dwh_assets.engine.cases import CaseRunner


class TransformTests:
    """The project's transforms, on rows that a test gives."""

    def __init__(self, runner: CaseRunner) -> None:
        self._runner = runner

    def run(self, table: str, given: dict[str, list[dict[str, Any]]], **options: Any) -> list[dict[str, Any]]:
        """The rows that come out; `parameters`, `bounds` and `types` as in a file of cases."""
        return self._runner.run(table, given, **options)

    def require(self, case: Case) -> None:
        """Fail with the difference in words unless the case passes."""
        __tracebackhide__ = True
        result = self._runner.check(case)
        if not result.passed:
            lines = [result.problem] if result.problem is not None else list(result.diff.lines(str))
            pytest.fail(f"{case}\n" + "\n".join(str(line) for line in lines), pytrace=False)


def transform_cases(project: Path | str | None = None) -> list[Case]:
    """The cases of a project, by default of the one that DWH_PROJECT or the current folder is."""
    from dwh_assets.config.case_files import find_cases
    from dwh_assets.config.settings import load_settings

    return find_cases(load_settings().project if project is None else Path(project).absolute(), [])


@pytest.fixture(scope="session")
def dwh_transforms() -> Iterator[TransformTests]:
    """The transforms of the project that DWH_PROJECT names, or of the current folder. Spark runs as long as it is used."""
    from dwh_assets.config.settings import load_settings
    from dwh_assets.engine.case_bench import case_runner

    with case_runner(load_settings()) as runner:
        yield TransformTests(runner)
