"""A worker at the topics of the loop: they take turns, and a worker that is to begin anew goes no further than its block."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from dwh_assets.control.assignments import ManagerStore, Move, RequestStore, WorkerStore
from dwh_assets.engine.loop import Loop
from dwh_assets.workers.bus import PostgresBus
from dwh_assets.workers.freshness import MEGABYTE, Freshness
from dwh_assets.workers.job import Job
from dwh_assets.workers.loop import ask_for
from dwh_assets.workers.manager import Dispatch
from dwh_assets.workers.topics import KIND, load, topic_handler
from dwh_assets.workers.worker import Worker
from tests.engine.conftest import own_project  # noqa: F401 - a fixture
from tests.engine.project import Project, rows

A, B, C = "fact.a", "fact.b", "fact.c"


def backlog(project: Project, *topics: str, blocks: int) -> None:
    """Topics with so many blocks to load. One was loaded before: its speed sizes those that follow."""
    for topic in topics:
        source = project.source(f"src.{topic[-1]}")
        project.append(source, rows(0, 1))
        project.module(topic, source, maxstep="1", stretch="1")
    project.apply()
    project.load()
    for topic in topics:
        project.append(f"src.{topic[-1]}", rows(1, 1 + blocks))
    project.tick()


def loaded(project: Project, topic: str) -> int:
    """Blocks of the backlog."""
    return len([block for block in project.blocks(topic) if block["status"] == "committed"]) - 1


def job_of(topic: str) -> Job:
    return Job(uuid4(), {"kind": KIND, "name": topic}, uuid4(), lambda *messages: None)


def work(project: Project, outdated: Callable[[], str | None], *topics: str) -> bool:
    """A worker in this process, from when the topics are asked for until it ends."""
    engine = project.engine
    for topic in topics:
        RequestStore(engine.database).ask(KIND, topic, topic)
    handlers = {KIND: topic_handler(engine)}
    return Worker(engine.database, PostgresBus(engine.database), handlers, engine.settings, outdated).work()


def take_turns(project: Project, count: int) -> list[str]:
    """The topics of so many turns of the only worker. After each, what is due is asked for, as every tick does."""
    engine, worker = project.engine, uuid4()
    manager, order = ManagerStore(engine.database), []
    WorkerStore(engine.database).register(worker, "here", 1)
    dispatch = Dispatch(engine.database, PostgresBus(engine.database), engine.settings.model_copy(update={"beat_seconds": 0.001}))
    for _ in range(count):
        ask_for(dispatch, Loop(engine).tick()[1])  # it gives nothing: by its settings the worker was not heard of for long
        given = manager.assign(600)
        assert given is not None
        load(engine, Job(given["id"], given["configuration"], worker, lambda *messages: None))
        manager.note([], [Move(given["id"], worker, "FINISHED")], [])
        order.append(given["configuration"]["name"])
    return order


def test_topics_that_wait_for_the_same_worker_have_a_block_each_in_turn_whoever_has_waited_longest_first(
    own_project: Project,  # noqa: F811
) -> None:
    backlog(own_project, A, B, C, blocks=3)
    own_project.engine.database.execute("update dwh.topic set last_end = now() - interval '1 hour' where name like 'fact.c%%'")
    order = take_turns(own_project, 6)
    assert order[0] == C
    assert sorted(order[:3]) == [A, B, C]
    assert order[3:] == order[:3]
    assert [loaded(own_project, topic) for topic in (A, B, C)] == [2, 2, 2]


def test_a_topic_gives_way_after_a_block_where_another_waits_and_only_there(own_project: Project) -> None:  # noqa: F811
    backlog(own_project, A, B, blocks=4)
    engine = own_project.engine
    RequestStore(engine.database).ask(KIND, B, B)
    load(engine, job_of(A))
    assert (loaded(own_project, A), loaded(own_project, B)) == (1, 0)
    WorkerStore(engine.database).register(uuid4(), "here", 1)  # it is free for the other
    load(engine, job_of(A))
    assert (loaded(own_project, A), loaded(own_project, B)) == (4, 0)


def test_a_topic_of_a_higher_priority_gives_way_only_to_who_has_waited_a_minute_for_each_step(own_project: Project) -> None:  # noqa: F811
    backlog(own_project, A, B, blocks=4)
    engine, worker = own_project.engine, uuid4()
    WorkerStore(engine.database).register(worker, "here", 1)
    RequestStore(engine.database).ask(KIND, A, A, priority=60)
    given = ManagerStore(engine.database).assign(600)
    assert given is not None
    job = Job(given["id"], given["configuration"], worker, lambda *messages: None)
    RequestStore(engine.database).ask(KIND, B, B)
    engine.database.execute("update dwh.request set asked_at = now() - interval '61 minutes' where name = %(name)s", name=B)
    load(engine, job)
    assert (loaded(own_project, A), loaded(own_project, B)) == (1, 0)
    engine.database.execute("update dwh.request set asked_at = now() where name = %(name)s", name=B)
    load(engine, job)
    assert (loaded(own_project, A), loaded(own_project, B)) == (4, 0)


def test_a_worker_whose_lineage_is_another_by_now_goes_no_further_than_its_block(own_project: Project) -> None:  # noqa: F811
    backlog(own_project, A, blocks=3)
    fresh = Freshness(own_project.engine.lineage, own_project.engine.settings)

    def outdated() -> str | None:
        if loaded(own_project, A) == 1:
            own_project.module("fact.more", "src.a")
            own_project.apply()
        return fresh.outdated()

    assert not work(own_project, outdated, A)
    assert loaded(own_project, A) == 1
    assert own_project.verify() == []


def test_a_worker_begins_anew_after_the_block_with_which_its_memory_exceeds_its_limit(own_project: Project) -> None:  # noqa: F811
    backlog(own_project, A, B, blocks=3)
    limited = own_project.engine.settings.model_copy(update={"worker_memory": 500})

    def memory() -> int:
        return (400 + 60 * (loaded(own_project, A) + loaded(own_project, B))) * MEGABYTE

    fresh = Freshness(own_project.engine.lineage, limited, memory)
    assert not work(own_project, fresh.outdated, A, B)
    assert (loaded(own_project, A), loaded(own_project, B)) == (1, 1)  # the first gave way to the second
