"""Phases of real blocks: told by the loop and by a real worker process, with totals; cancelled in each of them."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import pytest

from dwh_assets.model.phase import PHASES
from dwh_assets.workers.loop import asking
from dwh_assets.workers.topics import KIND
from tests.engine.conftest import own_project, project  # noqa: F401 - fixtures
from tests.engine.project import Project, rows
from tests.faults.nursery import eventually
from tests.orchestration import gates
from tests.orchestration.gates import Gate
from tests.workers.real import ask, ended, ready, worker

PHASE_ROWS = (
    "select phase, status, total_in_messages, total_out_messages from ems.etl_phase_executions order by stream_started_at"
)
# Where an attempt can be held up, by the phase it is in then: at a failpoint, or by its transform.
HELD = {"data-extract": "fork.after", "structure-transform": "shut", "data-transform": "busy", "data-load": "publish.before"}


def phases(project: Project) -> list[tuple[Any, ...]]:  # noqa: F811
    return [tuple(row.values()) for row in project.engine.database.fetch(PHASE_ROWS.encode())]


def held_up(project: Project) -> None:  # noqa: F811
    ready(project, transforms="[tests.orchestration.gates:gated]")


def test_the_loop_tells_the_phases_of_each_execution_with_totals(own_project: Project) -> None:  # noqa: F811
    own_project.source("src.rows")
    own_project.append("src.rows", rows(0, 5))
    own_project.module("fact.rows", "src.rows", "select pos, id, k, v from {{ block }} where v > 0")
    own_project.apply()
    own_project.load()
    assert phases(own_project) == [
        ("data-extract", "finished", 5, 5),
        ("structure-transform", "finished", -1, -1),
        ("data-transform", "finished", 5, 4),
        ("data-load", "finished", 4, 4),
    ]


def test_the_phase_in_which_an_attempt_fails_is_told(own_project: Project) -> None:  # noqa: F811
    own_project.source("src.rows")
    own_project.append("src.rows", rows(0, 5))
    own_project.module("fact.rows", "src.rows", checks="[{expect: {predicate: v < 3, name: small}}]")
    own_project.apply()
    own_project.load()
    assert [row[:2] for row in phases(own_project)] == [
        ("data-extract", "failed"),
        ("structure-transform", "finished"),
        ("data-transform", "failed"),
    ]


def test_a_worker_loads_a_topic_and_its_phases_come_by_the_bus(own_project: Project) -> None:  # noqa: F811
    held_up(own_project)
    with worker(own_project) as process:
        ask(own_project)
        assert ended(own_project)["problem"] is None
        assert len(own_project.rows("fact.rows")) == 5
        eventually(lambda: True if len(phases(own_project)) == 4 else None, "the phases are heard of", 20)
        assert {row[:2] for row in phases(own_project)} == {(phase, "finished") for phase in PHASES}
        begins_anew(own_project, process.pid)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert own_project.verify() == []


def begins_anew(project: Project, pid: int) -> None:  # noqa: F811
    """Another Lineage is put in force: the process stays, and is another worker."""
    project.module("fact.more", "src.rows")
    project.apply()
    workers = "select pid, ended_at is null as here from dwh.worker order by started_at"

    def look() -> bool | None:
        found = [(row["pid"], row["here"]) for row in project.engine.database.fetch(workers)]
        return True if found == [(pid, False), (pid, True)] else None

    eventually(look, "the worker begins anew", 120)


def test_what_is_due_is_asked_for_by_the_loop_and_loaded_by_the_worker(own_project: Project) -> None:  # noqa: F811
    held_up(own_project)
    stop = threading.Event()
    with worker(own_project), asking(own_project.engine, stop):
        eventually(lambda: True if len(own_project.rows("fact.rows")) == 5 else None, "the worker loads it")
        own_project.append("src.rows", rows(5, 9))
        eventually(lambda: True if len(own_project.rows("fact.rows")) == 9 else None, "and what comes later")
    found = own_project.engine.database.fetch("select distinct worker from dwh.phase where worker is not null")
    assert len(found) == 1
    assert own_project.verify() == []


@pytest.mark.parametrize(
    "phase", [pytest.param(p, marks=[] if p == "data-transform" else [pytest.mark.exhaustive]) for p in PHASES]
)
def test_a_load_is_cancelled_within_two_seconds_in_each_phase(own_project: Project, phase: str) -> None:  # noqa: F811
    held_up(own_project)
    gate, held = Gate(own_project.folder / "gates"), HELD[phase]
    variables = {gates.FOLDER: str(gate.folder)}
    if held in ("shut", "busy"):
        gate.shut(held)
    else:
        variables["DWH_FAILPOINTS"] = f"{held}=sleep:60*1"
    with worker(own_project, **variables):
        dispatch = ask(own_project)
        eventually(lambda: True if (phase, "started") in {row[:2] for row in phases(own_project)} else None, f"in {phase}")
        began = time.monotonic()
        assert not dispatch.cancel(KIND, "fact.rows")
        assert ended(own_project)["problem"] == "cancelled"
        assert time.monotonic() - began < 2
        eventually(lambda: True if (phase, "failed") in {row[:2] for row in phases(own_project)} else None, "it is told", 20)
        gate.open()
        assert own_project.rows("fact.rows") == []
        ask(own_project)
        assert ended(own_project)["problem"] is None
        assert len(own_project.rows("fact.rows")) == 5
    assert own_project.verify() == []
