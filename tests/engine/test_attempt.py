"""Attempts that cannot go on: what is away is waited for, what is wrong is written down, no neighbour parks a block."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.errors.exceptions.connect import SparkConnectGrpcException

from dwh_assets.config.machine import free_port
from dwh_assets.control.claims import ClaimStore
from dwh_assets.engine.attempt import attempt
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.loop import Loop
from dwh_assets.model.block import Claim
from dwh_assets.model.errors import PointerTaken
from dwh_assets.warehouse.session import Session
from tests.engine.project import Project, rows, settings_of


@pytest.fixture
def without_spark(own_project: Project) -> Iterator[Engine]:
    """The warehouse of the project as a process sees it that looks for Spark where nobody listens."""
    url = own_project.engine.postgres_url
    settings = settings_of(own_project.folder, url, f"sc://127.0.0.1:{free_port()}", deadline_seconds=3)
    engine = Engine(settings, url)
    yield engine
    engine.close()


def test_a_spark_that_cannot_be_reached_uses_up_nothing_and_is_waited_for(own_project: Project, without_spark: Engine) -> None:
    own_project.source("src.a")
    own_project.append("src.a", rows(0, 3))
    own_project.module("a.rows", "src.a", attempts="1", backoff="1s")
    own_project.apply()
    ended = []
    assert Loop(without_spark, report=ended.append).run(until_dry=True) == 0
    assert len(ended) > 1  # a loop that is to end waits for it, as long as the deadline
    assert {outcome.result for outcome in ended} == {"failed"}
    assert "the Spark server cannot be reached" in ended[0].text
    [block] = own_project.blocks("a.rows")
    assert (block["status"], block["failures"], block["crashes"]) == ("open", 0, 0)
    assert own_project.status("a.rows")["verdict"] == "BACKOFF"
    own_project.engine.database.execute("update dwh.topic set not_before = null")
    assert [outcome.result for outcome in own_project.load()] == ["committed"]


@pytest.fixture
def shared(own_project: Project) -> Project:
    """One table that two topics have filled; nothing but what is alive makes anybody wait."""
    for tag in ("east", "west"):
        own_project.source(f"src.{tag}")
        own_project.append(f"src.{tag}", rows(0, 3, k=tag))
        own_project.module(f"t.rows#{tag}", f"src.{tag}", attempts="1")
    own_project.apply()
    own_project.load()
    own_project.engine.settings = own_project.engine.settings.model_copy(update={"deadline_seconds": 0})
    return own_project


@contextmanager
def replacing(project: Project, topic: str) -> Iterator[Callable[[], object]]:
    """Another process replaces rows of the topic's table, until it is told to end."""
    rival = ClaimStore(project.engine.database, "rival", 600)
    project.acts().ask_restatement(topic, 1, 1, "restate", "a test")
    claim = rival.claim(topic, force=True)
    assert rival.take_table(claim)
    yield lambda: rival.fail(claim, "done", counts=False)


def test_a_block_waits_for_a_long_replacing_write_and_keeps_what_it_staged(
    shared: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.append("src.west", rows(3, 6, k="west"))
    lineage, waits, commit = shared.tick(), threading.Event(), shared.engine.commits.commit

    def commit_or_tell(*given: Any) -> None:
        try:
            commit(*given)
        except PointerTaken:
            waits.set()
            raise

    monkeypatch.setattr(shared.engine.commits, "commit", commit_or_tell)
    with replacing(shared, "t.rows#east") as end, ThreadPoolExecutor(1) as pool:
        attempted = pool.submit(attempt, shared.engine, lineage, "t.rows#west")
        assert waits.wait(60)
        end()
        assert attempted.result(60).result == "committed"
    assert [execution["attempt"] for execution in _attempts(shared, "t.rows#west")] == [1, 1]
    assert len(shared.rows("t.rows")) == 9


def test_a_replacing_write_waits_for_another_one(shared: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    waits, take = threading.Event(), shared.engine.claims.take_table

    def take_or_tell(claim: Claim) -> bool:
        taken = take(claim)
        if not taken:
            waits.set()
        return taken

    monkeypatch.setattr(shared.engine.claims, "take_table", take_or_tell)
    with replacing(shared, "t.rows#east") as end, ThreadPoolExecutor(1) as pool:
        restated = pool.submit(shared.restate, "t.rows#west", 1, 1)
        assert waits.wait(60)
        end()
        assert restated.result(60).result == "committed"


def _attempts(project: Project, topic: str) -> list[dict[str, Any]]:
    return project.engine.database.fetch(
        "select e.* from dwh.execution e join dwh.topic t on t.id = e.topic_id where t.name = %(topic)s order by e.id",
        topic=topic,
    )


def test_a_transform_that_is_gone_after_the_apply_fails_in_the_ledger_and_stalls_no_other(own_project: Project) -> None:
    project = own_project
    project.source("src.a")
    project.append("src.a", rows(0, 3))
    project.module("gone.rows", "src.a", attempts="2")
    project.module("kept.rows", "src.a")
    project.apply()
    text = project.folder / "sql/transforms/t/gone_rows_0.sql"
    kept = text.read_text()
    text.unlink()
    ended = {(outcome.topic, outcome.result) for outcome in project.load()}
    assert ended == {("gone.rows", "failed"), ("gone.rows", "parked"), ("kept.rows", "committed")}
    reasons = [e["reason"] for e in _attempts(project, "gone.rows")]
    assert len(reasons) == 2
    assert all("its file" in reason and "gone_rows_0.sql is gone" in reason for reason in reasons)
    assert [row["topic"] for row in project.engine.database.fetch("select topic from dwh.errors")] == ["gone.rows"]
    text.write_text(kept)
    project.acts().retry("gone.rows", "it is back")
    project.load()
    assert project.rows("gone.rows") == project.rows("kept.rows")


def test_a_block_is_taken_back_though_its_transform_is_gone(own_project: Project) -> None:
    own_project.source("src.a")
    own_project.append("src.a", rows(0, 3))
    own_project.module("gone.rows", "src.a")
    own_project.apply()
    own_project.load()
    (own_project.folder / "sql/transforms/t/gone_rows_0.sql").unlink()
    own_project.acts().ask_restatement("gone.rows", 1, 1, "rollback", "a test")
    assert attempt(own_project.engine, own_project.engine.lineage.active(), "gone.rows", force=True).result == "committed"
    assert own_project.rows("gone.rows") == []


def test_a_job_that_reaches_spark_after_its_session_was_ended_is_not_begun(project: Project) -> None:
    engine = project.engine
    before = engine.session()
    engine.end_session()
    late = Session(connection=f"{engine.spark.start()}/;session_id={before.session_id}")
    with pytest.raises(SparkConnectGrpcException, match="SESSION_CLOSED"):
        late.range(3).count()
    late.client._channel.close()
    assert engine.session().range(3).count() == 3
