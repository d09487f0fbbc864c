"""Real workers at real blocks that are killed, stopped beyond their silence and woken, or have a wrong clock: nothing is lost,
nothing is doubled, and no execution is left Executing."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from dwh_assets.control.database import Database
from dwh_assets.control.migrate import migrate
from dwh_assets.control.server import EmbeddedPostgres
from dwh_assets.warehouse.server import SparkServer
from dwh_assets.workers.loop import asking
from tests.engine.conftest import opened, own_project  # noqa: F401 - a fixture
from tests.engine.project import Project
from tests.faults.nursery import eventually
from tests.workers.real import TOPIC, ask, ended, ready, worker
from tests.workers.silence import LONG, fall_silent, is_lost

Row = dict[str, Any]
DAY = 86_400
# Silent long before its lease runs out: what it held must be free when it is given to another.
PATIENT = {
    "DWH_BEAT_SECONDS": "0.2",
    "DWH_SILENCE_SECONDS": str(LONG),
    "DWH_EXPIRY_SECONDS": str(LONG),
    "DWH_LEASE_SECONDS": str(10 * LONG),
}
POINTS = ("claim.after", "stage.during", "stage.after", "publish.after", "commit.before")


def some(default: str) -> list[Any]:
    """One point in every run, the others on demand."""
    return [pytest.param(point, marks=() if point == default else pytest.mark.exhaustive) for point in POINTS]


def wrong_by(seconds: int) -> tuple[str, ...]:
    return (sys.executable, "-m", "tests.workers.wrong_clock", str(seconds))


def fetch(project: Project, statement: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in project.engine.database.fetch(statement.encode())]


def codes(project: Project) -> list[str]:
    return [code for (code,) in fetch(project, "select execution_code from dwh.execution order by id")]


def statuses(project: Project) -> list[str]:
    return [status for (status,) in fetch(project, "select status from dwh.assignment order by assigned_at")]


def assert_loaded_once(project: Project, count: int = 5) -> None:
    assert [id_ for id_, _, _ in project.rows(TOPIC)] == list(range(count))
    assert project.verify() == []
    assert "Executing" not in codes(project)


def is_stopped(pid: int) -> bool | None:
    return True if psutil.Process(pid).status() == psutil.STATUS_STOPPED else None


@pytest.mark.parametrize("point", some("stage.after"))
def test_the_block_of_a_killed_worker_is_loaded_by_the_next_at_once(own_project: Project, point: str) -> None:  # noqa: F811
    ready(own_project)
    with worker(own_project, DWH_FAILPOINTS=f"{point}=kill", **PATIENT) as first:
        ask(own_project)
        assert first.wait(120) == -signal.SIGKILL
        with worker(own_project, **PATIENT):
            fall_silent(own_project.engine.database, first.pid)
            assert ended(own_project)["problem"] is None
    assert statuses(own_project) == ["FAILED", "FINISHED"]
    assert codes(own_project) == ["Failed", "Succeeded"]
    assert_loaded_once(own_project)


@pytest.mark.parametrize("point", some("commit.before"))
def test_a_worker_stopped_beyond_its_silence_publishes_nothing_when_it_wakes(own_project: Project, point: str) -> None:  # noqa: F811
    ready(own_project)
    with worker(own_project, DWH_FAILPOINTS=f"{point}=stop*1", **PATIENT) as first:
        ask(own_project)
        eventually(lambda: is_stopped(first.pid), f"it comes to {point}", 120)
        with worker(own_project, **PATIENT):
            fall_silent(own_project.engine.database, first.pid)
            assert ended(own_project)["problem"] is None
            assert codes(own_project) == ["Failed", "Succeeded"]
            first.send_signal(signal.SIGCONT)
            idle = f"select from dwh.worker where pid = {first.pid} and state = 'idle' and seen_at > state_since"
            eventually(lambda: fetch(own_project, idle) or None, "it gives up and is of use again")
            assert_loaded_once(own_project)


@pytest.mark.exhaustive
def test_a_worker_stopped_in_its_commit_holds_up_the_topic_until_its_lease_ends(own_project: Project) -> None:  # noqa: F811
    """Its transaction holds the lock of the topic, so that nobody can free it: Postgres ends it, as no lease was renewed."""
    ready(own_project)
    short = PATIENT | {"DWH_LEASE_SECONDS": "15"}
    with worker(own_project, DWH_FAILPOINTS="commit.cursor=stop*1", **short) as first:
        ask(own_project)
        eventually(lambda: is_stopped(first.pid), "it comes to its commit", 120)
        with worker(own_project, **PATIENT), asking(own_project.engine, threading.Event()):
            eventually(lambda: is_lost(own_project.engine.database, first.pid), "its assignment is lost")
            eventually(lambda: True if "Succeeded" in codes(own_project) else None, "the next worker loads it")
            first.send_signal(signal.SIGCONT)
            eventually(lambda: None if "Executing" in codes(own_project) else True, "no attempt is left")
            assert_loaded_once(own_project)


def test_a_manager_that_was_away_longer_than_messages_are_kept_loses_and_doubles_nothing(own_project: Project) -> None:  # noqa: F811
    """The only worker, and manager with it, dies when its block is committed and nobody knows; what it said is forgotten."""
    ready(own_project)
    with worker(own_project, DWH_FAILPOINTS="commit.after=kill", **PATIENT) as first:
        ask(own_project)
        assert first.wait(120) == -signal.SIGKILL
    own_project.engine.database.execute("delete from dwh.message")
    with worker(own_project, **PATIENT):
        fall_silent(own_project.engine.database, first.pid)
        assert ended(own_project)["problem"] is None
    assert statuses(own_project) == ["FAILED", "FINISHED"]
    assert codes(own_project) == ["Succeeded"]
    assert_loaded_once(own_project)


@pytest.mark.parametrize("off", [pytest.param(-DAY, marks=pytest.mark.exhaustive), DAY])
def test_a_worker_on_a_wrong_clock_loads_what_another_lost(own_project: Project, off: int) -> None:  # noqa: F811
    ready(own_project)
    with worker(own_project, wrong_by(-off), DWH_FAILPOINTS="stage.after=stop*1", **PATIENT) as first:
        ask(own_project)
        eventually(lambda: is_stopped(first.pid), "it is in its block", 120)
        with worker(own_project, wrong_by(off), **PATIENT) as second:
            far = "select from dwh.worker where abs(extract(epoch from clock_timestamp() - seen_at)) > 3600"
            assert fetch(own_project, far) == []
            fall_silent(own_project.engine.database, first.pid)
            assert ended(own_project)["problem"] is None
            os.kill(first.pid, signal.SIGKILL)
            online = "select pid from ems.etl_instances where status = 'online'"
            eventually(lambda: True if fetch(own_project, online) == [(second.pid,)] else None, "only one of them is online")
            assert fetch(own_project, far) == []
    assert codes(own_project) == ["Failed", "Succeeded"]
    assert_loaded_once(own_project)


@pytest.mark.exhaustive
def test_a_restart_of_postgres_in_the_middle_of_a_block_loses_nothing(
    run_folder: Path, spark_server: SparkServer, tmp_path: Path
) -> None:
    home = run_folder / "restarted"
    home.mkdir()
    server = EmbeddedPostgres(home)
    url = server.start()
    with closing(Database(url)) as database:
        migrate(database)
    try:
        with contextmanager(opened)(tmp_path, url, spark_server) as project:
            ready(project)
            with worker(project, DWH_FAILPOINTS="stage.after=sleep:5*1", **PATIENT), asking(project.engine, threading.Event()):
                eventually(lambda: True if codes(project) == ["Executing"] else None, "it is in its block", 120)
                server.stop(immediate=True)
                server.start()
                eventually(lambda: True if "Succeeded" in codes(project) else None, "it is loaded")
                assert_loaded_once(project)
    finally:
        server.stop(immediate=True)
