"""A small project of two tables on one source, driven by the dwh command as a person would."""

from __future__ import annotations

import io
import itertools
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from psycopg import sql

from dwh_assets.cli.main import run
from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.server import SparkServer
from tests.conftest import run_sql, with_database

DAY = datetime(2026, 1, 31, tzinfo=UTC)
_numbers = itertools.count(1)
_FILES = {
    "lineage/sources/stage.yaml": "name: stage.orders\nkind: iceberg\n",
    "lineage/fact/orders.yaml": """table: fact.orders
description: One row per order.
depends_on: [stage.orders]
maxstep: 10
stretch: 1
attempts: 1
repeat: 1ms
checks:
  - not_null: [amount]
""",
    "lineage/mart/totals.yaml": """table: mart.totals
depends_on: [fact.orders]
repeat: 1ms
""",
    "sql/transforms/fact/orders.sql": "select pos, id, amount from {{ block }}\n",
    "sql/transforms/mart/totals.sql": "select max(pos) as pos, max(id) as id, sum(amount) as total from {{ block }}\n",
}


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Project:
    """A project folder and the environment in which dwh is called."""

    folder: Path
    environment: dict[str, str]

    def dwh(self, *arguments: str) -> Answer:
        out, err = io.StringIO(), io.StringIO()
        with patch.dict(os.environ, self.environment), redirect_stdout(out), redirect_stderr(err):
            code = run(arguments)
        return Answer(code, out.getvalue(), err.getvalue())

    def ok(self, *arguments: str) -> Answer:
        answer = self.dwh(*arguments)
        assert answer.code == 0, f"{answer.out}\n{answer.err}"
        return answer

    def deliver(self, ids: range, without_amount: int | None = None) -> None:
        """Rows of the source, one a second; one of them may have no amount."""
        catalog = Catalog(self.environment["DWH_POSTGRES_URL"], str(self.folder / ".dwh" / "warehouse"))
        catalog.sql.create_namespace_if_not_exists("stage")
        table = catalog.sql.create_table_if_not_exists("stage.orders", _SCHEMA)
        columns = {
            "pos": [DAY + timedelta(seconds=i) for i in ids],
            "id": list(ids),
            "amount": [None if i == without_amount else i for i in ids],
        }
        table.append(pa.table(columns, _SCHEMA))
        catalog.close()

    def block_of(self, topic: str, number: int) -> dict[str, Any]:
        return next(b for b in self.ok("blocks", topic, "--json").json if b["seq"] == number)


_SCHEMA = pa.schema(
    [
        pa.field("pos", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("id", pa.int64(), nullable=False),
        pa.field("amount", pa.int64()),
    ]
)


def write_files(folder: Path, **changed: str) -> None:
    for name, text in (_FILES | changed).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def environment(folder: Path, **more: str) -> dict[str, str]:
    settings = {"DWH_HOME": str(folder / ".dwh"), "DWH_PROJECT": str(folder), "COLUMNS": "100", "NO_COLOR": "1"}
    return settings | {"DWH_TICK_SECONDS": "0.1"} | more


@contextmanager
def project_on(postgres_url: str, template: str, remote: str, folder: Path) -> Iterator[Project]:
    name = f"cli_{next(_numbers)}"
    run_sql(postgres_url, sql.SQL("create database {} template {}").format(sql.Identifier(name), sql.Identifier(template)))
    write_files(folder)
    url = with_database(postgres_url, name)
    yield Project(folder, environment(folder, DWH_POSTGRES_URL=url, DWH_SPARK_REMOTE=remote))
    run_sql(postgres_url, sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture
def files(tmp_path: Path) -> Project:
    """The project's files alone: no control store, no Spark."""
    write_files(tmp_path)
    return Project(tmp_path, environment(tmp_path))


@pytest.fixture
def project(postgres_url: str, template: str, spark_server: SparkServer, tmp_path: Path) -> Iterator[Project]:
    """A project with rows in its source, its Lineage not yet applied."""
    with project_on(postgres_url, template, spark_server.start(), tmp_path) as made:
        made.deliver(range(1, 31), without_amount=25)
        yield made


@pytest.fixture(scope="module")
def loaded(
    postgres_url: str, template: str, spark_server: SparkServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    """Applied and run: two blocks of ten rows are committed, the third is parked by its check. Tests only look at it."""
    folder = tmp_path_factory.mktemp("loaded")
    with project_on(postgres_url, template, spark_server.start(), folder) as made:
        made.deliver(range(1, 31), without_amount=25)
        made.ok("lineage", "apply", "--yes")
        assert made.dwh("run", "--until-dry").code == 2
        yield made
