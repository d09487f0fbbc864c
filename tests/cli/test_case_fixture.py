"""The fixture for pytest: it runs in a project of its own, with Spark and without a warehouse."""

from __future__ import annotations

import os
import subprocess
import sys

from dwh_assets.warehouse.server import SparkServer
from tests.cli.conftest import Project

CASES = """table: fact.orders
types: {stage.orders: {amount: "decimal(9,2)"}}
cases:
  - name: amounts stay
    given: {stage.orders: [{pos: 2026-01-31T00:00:00Z, id: 1, amount: 4.50}]}
    expect: [{id: 1, amount: 4.50}]
"""
TESTS = """
import pytest
from decimal import Decimal
from dwh_assets.pytest_plugin import transform_cases

@pytest.mark.parametrize("case", transform_cases(), ids=str)
def test_cases(dwh_transforms, case):
    dwh_transforms.require(case)

def test_rows(dwh_transforms):
    [row] = dwh_transforms.run("fact.orders", {"stage.orders": [{"pos": "2026-01-31T00:00:00Z", "id": 2, "amount": 7}]})
    assert (row["id"], row["amount"]) == (2, 7)

def test_wrong(dwh_transforms):
    [case] = transform_cases()
    dwh_transforms.require(case.__class__(case.file, case.line, "mart.totals", case.form, {}))
"""


def test_cases_and_rows_run_under_pytest_by_a_fixture_that_the_package_brings(files: Project, spark_server: SparkServer) -> None:
    (files.folder / "tests/transforms").mkdir(parents=True)
    (files.folder / "tests/transforms/orders.yaml").write_text(CASES)
    (files.folder / "tests/test_transforms.py").write_text(TESTS)
    environment = os.environ | files.environment | {"DWH_SPARK_REMOTE": spark_server.start()}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=files.folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert "2 passed" in ended.stdout, ended.stdout + ended.stderr
    assert "1 failed" in ended.stdout
    assert "mart.totals does not read stage.orders" in ended.stdout
    assert not (files.folder / ".dwh" / "postgres" / "data").exists()
