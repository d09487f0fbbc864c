"""A worker at the topics of the loop: they take turns, and a worker that is to begin anew goes no further than its block."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from dwh_assets.control.assignments import RequestStore
from dwh_assets.workers.bus import PostgresBus
from dwh_assets.workers.freshness import MEGABYTE, Freshness
from dwh_assets.workers.job import Job
from dwh_assets.workers.topics import KIND, load, topic_handler
from dwh_assets.workers.worker import Worker
from tests.engine.conftest import own_project  # noqa: F401 - a fixture
from tests.engine.project import Project, rows

A, B = "fact.a", "fact.b"


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


def test_a_topic_gives_way_after_its_turn_where_another_waits_and_only_there(own_project: Project) -> None:  # noqa: F811
    backlog(own_project, A, B, blocks=4)
    engine = own_project.engine
    engine.settings = engine.settings.model_copy(update={"turn_blocks": 2})
    RequestStore(engine.database).ask(KIND, B, B)
    load(engine, job_of(A))
    assert (loaded(own_project, A), loaded(own_project, B)) == (2, 0)
    RequestStore(engine.database).cancel(KIND, B)
    load(engine, job_of(A))
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
    fresh = Freshness(own_project.engine.lineage, limited, lambda: (400 + 60 * loaded(own_project, A)) * MEGABYTE)
    assert not work(own_project, fresh.outdated, A, B)
    assert (loaded(own_project, A), loaded(own_project, B)) == (2, 0)
