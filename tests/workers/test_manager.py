"""The manager: statuses go forward only, what is lost is given again, and two of them do no harm."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from dwh_assets.config.settings import load_settings
from dwh_assets.control.assignments import ManagerStore, RequestStore, WorkerStore
from dwh_assets.control.database import Database
from dwh_assets.model.phase import PHASES, Phase
from dwh_assets.workers.bus import Bus, Delivery, Reader
from dwh_assets.workers.manager import Dispatch, Manager
from dwh_assets.workers.messages import (
    CONTROL,
    Accepted,
    Assign,
    Cancel,
    Failed,
    Finished,
    Heartbeat,
    Message,
    Rejected,
    Started,
    StreamFailed,
    StreamFinished,
    StreamStarted,
    StreamStats,
)
from tests.faults.nursery import eventually
from tests.workers.lines import Line
from tests.workers.silence import LONG, listened, not_accepted, unheard

SETTINGS = load_settings(beat_seconds=1, silence_seconds=LONG, expiry_seconds=LONG)
Row = dict[str, Any]


class Counted:
    """A bus that counts what is read from it; a test may do something while the manager listens."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self.publish, self.prune = bus.publish, bus.prune
        self.count = 0
        self.meanwhile: Callable[[], None] = lambda: None

    def reader(self, *topics: str, group: str | None = None) -> Reader:
        reader = self._bus.reader(*topics, group=group)
        read = reader.read

        def counting(seconds: float) -> list[Delivery]:
            found = read(seconds)
            self.meanwhile()
            self.count += len(found)
            return found

        reader.read = counting
        return reader


class Office:
    """A manager that steps when a test says so, and workers that are only what they say."""

    def __init__(self, database: Database, line: Line) -> None:
        self.database = database
        self.line = line
        self.bus = line.bus
        self.requests = RequestStore(database)
        self.heard = Counted(line.bus)
        self.said = 0
        self.manager = Manager(uuid4(), database, self.heard, SETTINGS)
        self.control: Reader = self.bus.reader(CONTROL)

    def worker(self, *kinds: str) -> UUID:
        worker = uuid4()
        WorkerStore(self.database).register(worker, "here", 1, kinds or None)
        return worker

    def ask(self, *names: str, **fields: Any) -> None:
        for name in names:
            Dispatch(self.database, self.bus, SETTINGS).ask("gate", name, **fields)

    def say(self, *messages: Message) -> None:
        """Until the manager has heard it."""
        self.bus.publish(*messages)
        self.said += len(messages)
        assert self.manager.step()
        while self.heard.count < self.said:
            assert self.manager.step()

    def given(self) -> list[Assign]:
        """What workers are told since the last time, by now: up to a message that is sent now."""
        last = Cancel(assignee=uuid4(), etl_execution_id=uuid4())
        self.bus.publish(last)
        found: list[Message] = []
        while last not in found:
            found += [delivery.message for delivery in self.control.read(1)]
        return [message for message in found if isinstance(message, Assign)]

    def given_again(self, *beats: tuple[UUID, str]) -> Assign:
        """Step, with these workers reporting, when what was given is not accepted in time."""
        self.say(*(Heartbeat(id=id_, state=state) for id_, state in beats))  # type: ignore[arg-type]
        assert self.given() == []
        not_accepted(self.database)
        listened(self.database)
        self.say(*(Heartbeat(id=id_, state=state) for id_, state in beats))  # type: ignore[arg-type]
        (assign,) = self.given()
        return assign

    def statuses(self) -> list[str]:
        return [row["status"] for row in self.database.fetch("select status from dwh.assignment order by assigned_at")]

    def open(self) -> list[str]:
        return [row["name"] for row in self.database.fetch("select name from dwh.request where ended_at is null order by id")]

    def close(self) -> None:
        self.control.close()
        self.manager._retire()


@pytest.fixture
def office(database: Database, line: Line) -> Iterator[Office]:
    office = Office(database, line)
    yield office
    office.close()


def told(assign: Assign) -> dict[str, Any]:
    return {"etl_execution_id": assign.etl_execution_id, "assignee": assign.assignee}


def streams(assign: Assign, phase: Phase, failed: bool) -> list[Message]:
    stream: dict[str, Any] = {"etl_execution_id": assign.etl_execution_id, "instance_id": assign.assignee}
    stream |= {"phase": phase, "data_stream_name": "fact.sales"}
    totals = StreamStats(**stream, total_in_messages=5, total_out_messages=4, total_failed_messages=-1)
    return [StreamStarted(**stream), totals, StreamFailed(**stream) if failed else StreamFinished(**stream)]


def test_an_idle_worker_is_told_at_once_and_has_one_thing_at_a_time(office: Office) -> None:
    worker = office.worker()
    office.ask("one", "two")
    (assign,) = office.given()
    assert (assign.assignee, assign.configuration) == (worker, {"kind": "gate", "name": "one"})
    office.say(Accepted(**told(assign)), Started(**told(assign)))
    assert office.given() == []
    office.say(Finished(**told(assign)), Heartbeat(id=worker, state="idle"))
    (second,) = office.given()
    assert second.configuration["name"] == "two"


def test_what_is_asked_for_twice_is_one_request_until_it_has_ended(office: Office) -> None:
    worker = office.worker()
    office.ask("one", "one")
    (assign,) = office.given()
    office.say(Failed(**told(assign), reason="x"), Heartbeat(id=worker, state="idle"))
    assert office.open() == []
    office.ask("one")
    assert len(office.given()) == 1


def test_nothing_is_given_to_a_worker_that_is_busy_or_not_heard_of(office: Office) -> None:
    worker = office.worker()
    office.say(Heartbeat(id=worker, state="busy"))
    office.ask("one")
    assert office.given() == []
    office.database.execute("update dwh.worker set state = 'idle', seen_at = now() - interval '1 minute'")
    assert office.manager.step()
    assert office.given() == []
    office.say(Heartbeat(id=worker, state="idle"))
    assert len(office.given()) == 1


def test_each_kind_of_request_goes_to_a_worker_that_knows_it_however_long_another_has_waited(office: Office) -> None:
    many = office.worker("dance", "gate")
    for name in ("one", "two"):
        RequestStore(office.database).ask("dance", name)
    office.ask("three", "four")
    few = {office.worker("gate") for _ in range(3)}
    dispatch = Dispatch(office.database, office.bus, SETTINGS)
    assert dispatch.give() == 2
    by_name = {assign.configuration["name"]: assign.assignee for assign in office.given()}
    assert by_name.pop("one") == many
    assert by_name.keys() == {"three", "four"}
    assert few.issuperset(by_name.values())
    assert dispatch.give() == 0
    another = office.worker("dance")
    assert dispatch.give() == 1
    (assign,) = office.given()
    assert (assign.configuration["name"], assign.assignee) == ("two", another)


def test_who_knows_several_kinds_is_left_to_what_only_it_knows_and_all_is_given_in_its_order(office: Office) -> None:
    versatile, simple = {office.worker("dance", "gate") for _ in range(3)}, office.worker("gate")
    for kind, name in (("gate", "one"), ("dance", "two"), ("gate", "three"), ("dance", "four"), ("gate", "five")):
        RequestStore(office.database).ask(kind, name)
    assert Dispatch(office.database, office.bus, SETTINGS).give() == 4
    given = {assign.configuration["name"]: assign.assignee for assign in office.given()}
    assert given.pop("one") == simple
    assert given.keys() == {"two", "three", "four"}
    assert set(given.values()) == versatile


def test_a_rejected_assignment_is_given_to_another(office: Office) -> None:
    first = office.worker()
    office.ask("one")
    (assign,) = office.given()
    second = office.worker()
    office.say(Rejected(**told(assign)), Heartbeat(id=first, state="busy"), Heartbeat(id=second, state="idle"))
    (again,) = office.given()
    assert (again.assignee, office.statuses()) == (second, ["REJECTED", "ASSIGNED"])
    assert again.etl_execution_id != assign.etl_execution_id


def test_an_assignment_that_nobody_accepts_expires_and_a_worker_that_comes_too_late_may_not_begin(office: Office) -> None:
    first = office.worker()
    office.ask("one")
    (assign,) = office.given()
    second = office.worker()
    again = office.given_again((first, "busy"), (second, "idle"))
    assert office.statuses() == ["FAILED", "ASSIGNED"]
    assert not WorkerStore(office.database).start(assign.etl_execution_id, first)
    assert WorkerStore(office.database).start(again.etl_execution_id, second)
    office.say(Accepted(**told(assign)), Started(**told(assign)), Finished(**told(assign)))
    assert office.statuses() == ["FAILED", "RUNNING"]
    assert office.open() == ["one"]


def test_a_worker_on_a_wrong_clock_is_judged_by_the_clock_of_the_bus(office: Office) -> None:
    worker = office.worker()
    for day in ("2020-01-01", "2099-01-01"):
        office.say(Heartbeat(timestamp=datetime.fromisoformat(f"{day}T00:00:00Z"), id=worker, state="idle"))
        (row,) = office.database.fetch("select abs(extract(epoch from clock_timestamp() - seen_at)) < 5 as near from dwh.worker")
        assert row["near"]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_ten_thousand_duplicated_and_shuffled_messages_change_nothing_but_once(office: Office, seed: int) -> None:
    """Every message many times and in any order: each assignment ends as the first end that was heard of says, once."""
    chance = random.Random(seed)
    workers = [office.worker() for _ in range(10)]
    office.ask(*(f"n{number}" for number in range(10)))
    given = office.given()
    assert len(given) == 10
    messages: list[Message] = []
    for number, assign in enumerate(given):
        foreign: dict[str, Any] = told(assign) | {"assignee": chance.choice([w for w in workers if w != assign.assignee])}
        end = Failed(**told(assign), reason="x") if number % 2 else Finished(**told(assign))
        messages += [Accepted(**told(assign)), Started(**told(assign)), end, Failed(**foreign, reason="not mine")]
        messages += [message for phase in PHASES for message in streams(assign, phase, failed=number % 2 == 1)]
    many = messages * 64
    chance.shuffle(many)
    for start in range(0, len(many), 1000):
        office.say(*many[start : start + 1000])
    rows = office.database.fetch("select status, comment, accepted_at, started_at, finished_at from dwh.assignment")
    assert Counter((row["status"], row["comment"]) for row in rows) == {("FINISHED", None): 5, ("FAILED", "x"): 5}
    assert all(row["accepted_at"] <= row["finished_at"] for row in rows)
    assert office.open() == []
    everything = "select a.*, p.* from dwh.assignment a join dwh.phase p on p.assignment_id = a.id order by a.id, p.phase"
    before = office.database.fetch(everything)
    office.say(*messages)
    assert office.database.fetch(everything) == before
    found = office.database.fetch(
        "select status, total_in_messages, total_out_messages, total_failed_messages, count(*) as n"
        " from ems.etl_phase_executions where stream_started_at is not null group by 1, 2, 3, 4 order by 1"
    )
    assert [tuple(row.values()) for row in found] == [("failed", 5, 4, -1, 20), ("finished", 5, 4, -1, 20)]


def test_a_manager_that_was_away_longer_than_the_retention_loses_nothing(office: Office) -> None:
    """All that was said meanwhile is gone: an end, a rejection, an acceptance. Each request still comes to an end."""
    workers = [office.worker() for _ in range(3)]
    office.ask("ended", "rejected", "runs")
    ended, rejected, runs = office.given()
    bus = office.bus
    bus.publish(Accepted(**told(ended)), Started(**told(ended)), Finished(**told(ended)), Rejected(**told(rejected)))
    bus.publish(Accepted(**told(runs)))
    assert WorkerStore(office.database).start(runs.etl_execution_id, runs.assignee)
    office.line.forget()
    not_accepted(office.database)
    again: dict[str, int] = Counter()

    def all_ended() -> bool | None:
        listened(office.database)
        state = dict.fromkeys(workers, "idle") | {runs.assignee: "busy"}
        office.say(*(Heartbeat(id=id_, state=said) for id_, said in state.items()))  # type: ignore[arg-type]
        for assign in office.given():
            again[assign.configuration["name"]] += 1
            office.say(Accepted(**told(assign)), Finished(**told(assign)))
        return True if office.open() == ["runs"] else None

    eventually(all_ended, "what was lost is carried out again", 20)
    assert again == {"ended": 1, "rejected": 1}
    office.say(Finished(**told(runs)))
    assert office.open() == []


def test_a_manager_that_comes_back_listens_before_it_judges(office: Office) -> None:
    worker = office.worker()
    office.ask("one")
    (assign,) = office.given()
    office.database.execute("update dwh.worker set seen_at = now() - interval '1 hour'")
    assert office.manager.step()
    assert office.statuses() == ["ASSIGNED"]
    office.say(Heartbeat(id=worker, state="busy"), Accepted(**told(assign)))
    listened(office.database)
    office.say(Heartbeat(id=worker, state="busy"))
    assert office.statuses() == ["ACCEPTED"]
    unheard(office.database, 1)
    assert office.manager.step()
    assert office.statuses() == ["FAILED"]


def test_a_manager_that_was_stopped_while_it_listened_judges_nobody_until_it_has_listened_anew(office: Office) -> None:
    """It does not know that it was; a busy machine, or one that was suspended, must not make all workers look lost."""
    office.worker()
    office.ask("one")
    assert office.manager.step()
    listened(office.database)

    def stopped() -> None:
        office.database.execute("update dwh.manager set until = clock_timestamp() - interval '1 hour'")
        unheard(office.database, 1)

    office.heard.meanwhile = stopped
    assert office.manager.step()
    assert office.statuses() == ["ASSIGNED"]
    office.heard.meanwhile = lambda: None
    assert office.manager.step()
    assert office.statuses() == ["ASSIGNED"]
    listened(office.database)
    assert office.manager.step()
    assert office.statuses() == ["FAILED"]


def test_of_two_managers_one_leads_and_both_at_once_do_no_harm(office: Office) -> None:
    other = Manager(uuid4(), office.database, office.bus, SETTINGS)
    assert office.manager.step()
    assert not other.step()
    workers = [office.worker() for _ in range(4)]
    stores = [ManagerStore(office.database) for _ in range(4)]
    for number in range(12):
        office.requests.ask("gate", f"n{number}")
    with ThreadPoolExecutor(4) as pool:
        given = [row for row in pool.map(lambda store: store.assign(60), stores * 4) if row is not None]
    assert len({row["worker"] for row in given}) == len(given) <= len(workers)
    (row,) = office.database.fetch("select count(*) as n, count(distinct request_id) as requests from dwh.assignment")
    assert row["n"] == row["requests"] == len(given)


def test_a_step_of_priority_is_worth_a_minute_of_waiting_and_nobody_waits_for_ever(office: Office) -> None:
    office.ask("low")
    office.ask("high", priority=5)
    office.ask("old")
    office.database.execute("update dwh.request set asked_at = asked_at - interval '6 minutes' where name = 'old'")
    order = []
    for _ in range(3):
        office.say(Heartbeat(id=office.worker(), state="idle"))
        order += [assign.configuration["name"] for assign in office.given()]
    assert order == ["old", "high", "low"]


def test_streams_of_an_unknown_execution_or_of_another_worker_leave_nothing(office: Office) -> None:
    office.worker()
    office.ask("one")
    (assign,) = office.given()
    unknown = replace(assign, etl_execution_id=uuid4())
    foreign = replace(assign, assignee=uuid4())
    office.say(*streams(unknown, "data-load", False), *streams(foreign, "data-load", False))
    assert office.database.fetch("select * from dwh.phase") == []


def test_workers_are_online_unknown_or_offline_by_the_age_of_their_last_report(office: Office) -> None:
    assert office.manager.step()
    ages = {"online": 0, "unknown": 10, "offline": 60}
    office.database.execute("update dwh.manager set online_seconds = 5, silence_seconds = 30")
    for age in ages.values():
        parameters = {"id": office.worker(), "age": age}
        office.database.execute(
            "update dwh.worker set seen_at = now() - make_interval(secs => %(age)s) where id = %(id)s", **parameters
        )
    found = office.database.fetch("select status from ems.etl_instances order by last_heartbeat_at desc")
    assert [row["status"] for row in found] == list(ages)
    office.database.execute("update dwh.worker set ended_at = now()")
    assert office.database.fetch("select distinct status from ems.etl_instances") == [{"status": "offline"}]


def test_the_views_have_the_names_of_the_seed(office: Office) -> None:
    office.worker()
    office.ask("one")
    (row,) = office.database.fetch("select * from ems.etl_executions")
    assert (row["status"], row["configuration"]) == ("ASSIGNED", {"kind": "gate", "name": "one"})
    assert {"etl_execution_id", "assignee", "assigned_at", "accepted_at", "started_at", "finished_at", "comment"} <= row.keys()
