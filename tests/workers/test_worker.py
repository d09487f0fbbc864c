"""Workers as processes: they take work, report it, and can be cancelled, told to end, stopped and killed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from dwh_assets.config.settings import load_settings
from dwh_assets.control.assignments import RequestStore
from dwh_assets.control.database import Database
from dwh_assets.control.migrate import migrate
from dwh_assets.control.server import EmbeddedPostgres
from dwh_assets.sources.kafka.server import KafkaServer
from dwh_assets.workers.messages import CONTROL, HEARTBEAT, PROGRESS
from tests.faults.nursery import eventually
from tests.workers.bus_suite import read
from tests.workers.crew import SECONDS, Crew, crew_of
from tests.workers.lines import KafkaLine, PostgresLine
from tests.workers.silence import listened

FINISHED = ("FINISHED", None)


def test_what_is_asked_for_is_carried_out_and_reported(crew: Crew) -> None:
    (pid,) = crew.start()
    reader = crew.line.bus.reader(CONTROL, PROGRESS)
    crew.ask("one")
    assert crew.ended("one")["problem"] is None
    assert crew.marks("done") == [("one", pid)]
    (row,) = crew.database.fetch("select * from dwh.assignment")
    assert (row["status"], row["worker"]) == ("FINISHED", crew.id_of(pid))
    assert row["assigned_at"] <= row["accepted_at"] <= row["started_at"] <= row["finished_at"]
    said = sorted((delivery.message for delivery in read(reader, 4)), key=lambda message: message.timestamp)
    reader.close()
    assert [message.type.removeprefix("etl-execution-") for message in said] == ["assign", "accepted", "started", "finished"]


def test_a_worker_reports_its_state_at_a_fixed_rate_and_whenever_it_changes(crew: Crew) -> None:
    (pid,) = crew.start()

    def state() -> str:
        row = crew.worker(crew.id_of(pid))
        assert row is not None
        return row["state"]

    crew.ask("one", shut=True)
    crew.begun("one")
    eventually(lambda: True if state() == "busy" else None, "it says that it is busy", SECONDS)
    crew.open("one")
    crew.ended("one")
    eventually(lambda: True if state() == "idle" else None, "it says that it is idle", SECONDS)
    reader, began = crew.line.bus.reader(HEARTBEAT), time.monotonic()
    assert len(read(reader, 10)) >= 10
    reader.close()
    assert time.monotonic() - began > 0.5


def test_many_requests_are_shared_by_workers_and_none_has_two_at_once(crew: Crew) -> None:
    crew.start(2)
    names = [f"n{number}" for number in range(20)]
    crew.ask(*names)
    for name in names:
        assert crew.ended(name)["problem"] is None
        assert crew.assignments(name) == [FINISHED]
    assert sorted(name for name, _ in crew.marks("done")) == sorted(names)
    assert len({pid for _, pid in crew.marks("done")}) == 2


def test_a_failure_ends_the_request_with_its_reason_and_not_the_worker(crew: Crew) -> None:
    crew.start()
    (crew.folder / "one.bad").touch()
    crew.ask("one")
    assert crew.ended("one")["problem"] == "ValueError: bad rows"
    crew.ask("two")
    assert crew.ended("two")["problem"] is None


def test_what_no_worker_knows_waits_for_one_that_does_and_holds_up_nothing_else(crew: Crew) -> None:
    (pid,) = crew.start()
    crew.dispatch.ask("dance", "one")
    crew.ask("two")
    assert crew.ended("two")["problem"] is None
    assert crew.assignments("one") == []
    forget_kinds = "update dwh.worker set kinds = null where pid = %(pid)s"  # as a worker of an earlier version registered
    crew.database.execute(forget_kinds, pid=pid)
    eventually(lambda: True if ("REJECTED", None) in crew.assignments("one") else None, "refused")
    state = RequestStore(crew.database).state("dance", "one")
    assert state is not None
    assert state["ended_at"] is None


def test_a_cancelled_job_is_interrupted_within_two_seconds(crew: Crew) -> None:
    (pid,) = crew.start()
    crew.ask("one", shut=True)
    crew.begun("one")
    began = time.monotonic()
    assert not crew.cancel("one")
    assert crew.ended("one")["problem"] == "cancelled"
    assert time.monotonic() - began < 2
    assert crew.marks("interrupted") == [("one", pid)]
    crew.ask("two")
    assert crew.ended("two")["problem"] is None


def test_a_cancelled_request_that_waits_is_over_at_once_and_never_begun(crew: Crew) -> None:
    crew.start()
    crew.ask("one", shut=True)
    crew.begun("one")
    crew.ask("two")
    assert crew.cancel("two")
    crew.open("one")
    crew.ended("one")
    crew.ask("three")
    crew.ended("three")
    assert [name for name, _ in crew.marks("begun")] == ["one", "three"]


def test_a_cancel_whose_message_is_lost_is_found_by_looking(crew: Crew) -> None:
    crew.start()
    crew.ask("one", shut=True)
    crew.begun("one")
    crew.database.execute("update dwh.request set cancelled_at = now()")
    assert crew.ended("one")["problem"] == "cancelled"


def test_a_worker_that_is_told_to_end_finishes_its_job_first(crew: Crew) -> None:
    (pid,) = crew.start()
    crew.ask("one", shut=True)
    crew.begun("one")
    os.kill(pid, signal.SIGTERM)
    crew.ask("two")
    crew.open("one")
    assert crew.exit_code(pid) == 0
    (other,) = crew.start()
    assert crew.ended("one")["problem"] is None
    assert crew.ended("two")["problem"] is None
    assert crew.marks("done") == [("one", pid), ("two", other)]


def test_a_worker_that_is_told_twice_to_end_interrupts_its_job(crew: Crew) -> None:
    (pid,) = crew.start()
    crew.ask("one", shut=True)
    crew.begun("one")
    os.kill(pid, signal.SIGTERM)
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: True if crew.marks("interrupted") else _term(pid), "it is interrupted", SECONDS)
    assert crew.exit_code(pid) == 0


def _term(pid: int) -> None:
    """Two signals that come at once may be one."""
    os.kill(pid, signal.SIGTERM)


def test_the_job_of_a_killed_worker_is_given_to_another(crew: Crew) -> None:
    crew.start(2)
    crew.ask("one", shut=True)
    first = crew.begun("one")
    os.kill(first, signal.SIGKILL)
    crew.fall_silent(first)
    second = crew.begun("one", 2)
    crew.open("one")
    assert crew.ended("one")["problem"] is None
    assert second != first
    (lost, given) = crew.assignments("one")
    assert (lost[0], given) == ("FAILED", FINISHED)
    assert "nothing was heard of its worker" in str(lost[1])


def test_a_worker_stopped_beyond_its_silence_leaves_its_job_to_another_when_it_wakes(crew: Crew) -> None:
    crew.start(2)
    crew.ask("one", shut=True)
    first = crew.begun("one")
    os.kill(first, signal.SIGSTOP)
    crew.fall_silent(first)
    second = crew.begun("one", 2)
    os.kill(first, signal.SIGCONT)
    eventually(lambda: True if crew.marks("interrupted") == [("one", first)] else None, "the one that woke up gives up", SECONDS)
    crew.open("one")
    assert crew.ended("one")["problem"] is None
    assert crew.marks("done") == [("one", second)]
    crew.ask("two", "three", shut=True)  # and it is of use again
    assert {crew.begun("two"), crew.begun("three")} == {first, second}


def test_the_manager_is_replaced_when_its_worker_is_stopped(crew: Crew) -> None:
    (first,) = crew.start()
    os.kill(first, signal.SIGSTOP)
    (second,) = crew.start()
    crew.ask("one")
    # What the first one said before is heard late, as if it were still there.
    eventually(lambda: crew.fall_silent(first) or crew.marks("done") or None, "it is carried out", SECONDS)
    assert crew.ended("one")["problem"] is None
    assert crew.marks("done") == [("one", second)]


def test_an_outdated_worker_finishes_its_job_and_begins_anew(crew: Crew) -> None:
    (pid,) = crew.start()
    crew.ask("one", shut=True)
    crew.begun("one")
    (crew.folder / "outdated").touch()
    crew.open("one")
    assert crew.exit_code(pid) == 7
    assert crew.marks("done") == [("one", pid)]
    (row,) = crew.database.fetch("select ended_at from dwh.worker")
    assert row["ended_at"] is not None


def test_an_outdated_worker_takes_nothing_more(crew: Crew) -> None:
    (pid,) = crew.start()
    os.kill(pid, signal.SIGSTOP)
    (crew.folder / "outdated").touch()
    crew.ask("one")
    os.kill(pid, signal.SIGCONT)
    assert crew.exit_code(pid) == 7
    assert crew.marks("begun") == []
    (crew.folder / "outdated").unlink()
    crew.start()
    crew.fall_silent(pid)
    assert crew.ended("one")["problem"] is None


@pytest.mark.exhaustive
def test_a_restart_of_postgres_loses_nothing(run_folder: Path, tmp_path: Path) -> None:
    home = run_folder / "workers"
    home.mkdir()
    server = EmbeddedPostgres(home)
    database = Database(server.start(), deadline=20)
    migrate(database)
    try:
        with crew_of(database, PostgresLine(database), tmp_path) as crew:
            crew.start(2)
            crew.ask("one", shut=True)
            crew.ask("two", "three", shut=True)
            crew.begun("one")
            crew.begun("two")
            listened(database)
            server.stop(immediate=True)
            crew.open("one")
            eventually(lambda: True if [name for name, _ in crew.marks("done")] == ["one"] else None, "done without Postgres")
            server.start()
            crew.away_for_long()
            for name in ("two", "three"):
                crew.open(name)
            assert [crew.ended(name)["problem"] for name in ("one", "two", "three")] == [None, None, None]
            assert [len(crew.assignments(name)) for name in ("one", "two", "three")] == [1, 1, 1]
            assert sorted(name for name, _ in crew.marks("done")) == ["one", "three", "two"]
    finally:
        database.close()
        server.stop(immediate=True)


def test_on_kafka_a_job_is_carried_out_cancelled_and_given_again(kafka: KafkaServer, database: Database, tmp_path: Path) -> None:
    with crew_of(database, KafkaLine(database, kafka.start()), tmp_path) as crew:
        crew.start(2)
        crew.ask("one")
        assert crew.ended("one")["problem"] is None
        crew.ask("two", shut=True)
        crew.begun("two")
        assert not crew.cancel("two")
        assert crew.ended("two")["problem"] == "cancelled"
        crew.ask("three", shut=True)
        first = crew.begun("three")
        os.kill(first, signal.SIGKILL)
        crew.fall_silent(first)
        assert crew.begun("three", 2) != first
        crew.open("three")
        assert crew.ended("three")["problem"] is None


@pytest.mark.exhaustive
def test_a_broker_that_dies_and_comes_back_loses_nothing(database: Database, tmp_path: Path) -> None:
    server = KafkaServer(load_settings(home=tmp_path / "broker"))
    try:
        with crew_of(database, KafkaLine(database, server.start()), tmp_path) as crew:
            crew.start(2)
            crew.ask("one", "two", shut=True)
            crew.begun("one")
            crew.begun("two")
            listened(database)
            server.kill()
            crew.open("one")
            eventually(lambda: True if "one" in {name for name, _ in crew.marks("done")} else None, "done without a broker")
            crew.away_for_long()
            server.start()
            crew.open("two")
            assert [crew.ended(name)["problem"] for name in ("one", "two")] == [None, None]
            assert [crew.assignments(name) for name in ("one", "two")] == [[FINISHED], [FINISHED]]
    finally:
        server.stop()
