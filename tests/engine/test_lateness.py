"""How late rows become visible is observed once, from the files of a table and from late rows that are found."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from dwh_assets.cli.advising import advices
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.lateness import note_late_rows, observe_lateness
from dwh_assets.model.lateness import IN_ORDER, bucket_of
from dwh_assets.model.module import Lineage, Module, SourceTable
from tests.engine.project import Project, settings_of

SOURCE = SourceTable("stage.a", "iceberg")
MODULE = Module(name="fact.a", table="fact.a", depends_on=("stage.a",))
MINUTE = timedelta(minutes=1)


@pytest.fixture
def project(database_url: str, tmp_path: Path) -> Iterator[Project]:
    """A source table and a Lineage in force; nothing is loaded, so that no Spark is needed."""
    engine = Engine(settings_of(tmp_path, database_url, "sc://127.0.0.1:9"), database_url)
    project = Project(tmp_path, engine)
    project.source("stage.a")
    yield project
    engine.close()
    engine.catalog.close()


def arrive(project: Project, first: timedelta, count: int) -> None:
    """Rows that became visible now, the first one so long after its position, each second one more."""
    begin = datetime.now(UTC) - first
    project.append("stage.a", [{"pos": begin + timedelta(seconds=n), "id": Decimal(n), "k": "a", "v": 1} for n in range(count)])


def counts(project: Project) -> dict[int, int]:
    return {row["bucket"]: row["count"] for row in project.engine.lateness.counts(7)}


def test_rows_that_arrive_behind_others_are_counted_once_by_how_late_they_are(project: Project):
    lineage = Lineage((MODULE,), (SOURCE,))
    project.engine.lineage.apply(lineage, "tester")
    arrive(project, 60 * MINUTE, 10)
    observe_lateness(project.engine, lineage)
    assert counts(project) == {}  # when these became visible, nobody saw

    arrive(project, 10 * MINUTE, 100)
    observe_lateness(project.engine, lineage)
    assert counts(project) == {IN_ORDER: 100}

    arrive(project, 25 * MINUTE, 5)
    observe_lateness(project.engine, lineage)
    observe_lateness(project.engine, lineage)
    assert counts(project) == {IN_ORDER: 100, bucket_of(25 * MINUTE): 5}

    [delay, *_] = advices(project.engine.database, 7, 0.9, 60)
    assert (delay.settled, delay.proposed) == ("keep", "0")
    [strict, *_] = advices(project.engine.database, 7, 0.99, 60)
    assert (strict.settled, strict.proposed) == ("change", "30min")
    assert "stage.a: 30min covers 100.00% of 105 rows" in strict.evidence
    [stricter, *_] = advices(project.engine.database, 7, 0.9999, 60)
    assert (stricter.settled, stricter.proposed) == ("thin", "")


def test_a_postgres_source_is_judged_by_its_newest_row_and_by_late_rows(project: Project):
    source = SourceTable("shop.a", "postgres", horizon="delay", delay=timedelta(seconds=5))
    lineage = Lineage((Module(name="fact.a", table="fact.a", depends_on=("shop.a",)),), (source,))
    project.engine.lineage.apply(lineage, "tester")
    now = datetime.now(UTC)
    for seconds in (0, 60, 120):
        seen = now + timedelta(seconds=seconds)
        project.engine.sources.observed("shop.a", seen, seen - timedelta(seconds=4), seen)
        observe_lateness(project.engine, lineage)
    note_late_rows(project.engine, "shop.a", datetime.now(UTC) - 2 * MINUTE + timedelta(seconds=5), 7)
    found = [(row["unit"], row["bucket"], row["count"]) for row in project.engine.lateness.counts(7)]
    assert found == [("looks", bucket_of(timedelta(seconds=5)), 2), ("rows", bucket_of(2 * MINUTE), 7)]
    [delay, *_] = advices(project.engine.database, 7, 0.99, 60)
    assert delay.settled == "thin"
    assert "7 late rows of 0" in delay.evidence
