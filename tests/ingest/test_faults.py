"""Faults while events are taken in: workers killed at every point, two at once, a broker that goes away."""

from __future__ import annotations

from pathlib import Path

import pytest

from dwh_assets.model.failpoints import POINTS
from dwh_assets.sources.kafka.server import KafkaServer
from tests.faults.nursery import Nursery, Worker, eventually
from tests.ingest.stream import TABLE, Stream, event

TELLING = ("plan.inside", "stage.after", "publish.after", "commit.pointers", "commit.after")
HELD_BACK = ("fail.before", "fail.after")  # passed only by an attempt that fails


@pytest.fixture
def loaded(stream: Stream) -> Stream:
    """One block is loaded, the next one waits: new events, known ones, repeated ones, and some that cannot be loaded."""
    stream.create().declare()
    stream.project.apply()
    stream.send([event(1), event(2), b"no json"], partition=0)
    stream.project.load()
    stream.send([event(2), event(3), event(3), b"nor this", event(4)], partition=0)
    stream.send([event(4), event(5)], partition=1)
    return stream


def start(stream: Stream, nursery: Nursery, name: str, failpoints: str = "", barrier: Path | None = None) -> Worker:
    settings = stream.project.engine.settings
    environment = {
        "DWH_HOME": str(settings.home),
        "DWH_PROJECT": str(settings.project),
        "DWH_POSTGRES_URL": stream.project.engine.postgres_url,
        "DWH_SPARK_REMOTE": str(settings.spark_remote),
        "DWH_FAILPOINTS": failpoints,
        "DWH_TICK_SECONDS": "0.05",
    }
    output = stream.project.folder / f"{name}.out"
    given = {"environment": environment, "output": str(output), "clock": 0, "act": "loop", "topics": [TABLE]}
    pid = nursery.ask(start=given | {"barrier": str(barrier) if barrier else None})
    return Worker(nursery, pid, output)


def assert_whole(stream: Stream) -> None:
    assert stream.products() == [1, 2, 3, 4, 5]
    assert [(partition, offset) for partition, offset, _ in stream.dead()] == [(0, 2), (0, 6)]
    assert stream.project.verify() == []


def kill_and_repeat(stream: Stream, nursery: Nursery, point: str) -> None:
    worker = start(stream, nursery, "killed", f"{point}=kill")
    worker.wait_until_killed()
    planned = stream.project.blocks(TABLE)
    stream.project.engine.database.execute(
        "update dwh.topic set lease_until = now() - interval '1 second' where lease_until is not null"
    )
    stream.project.load()
    assert_whole(stream)
    kept = {block["id"]: block["contents"] for block in stream.project.blocks(TABLE)}
    assert all(kept[block["id"]] == block["contents"] for block in planned)


@pytest.mark.parametrize("point", TELLING)
def test_a_worker_that_is_killed_leaves_a_block_of_events_that_the_next_one_repeats(
    loaded: Stream, nursery: Nursery, point: str
) -> None:
    kill_and_repeat(loaded, nursery, point)


@pytest.mark.exhaustive
@pytest.mark.parametrize("point", [point for point in POINTS if point not in (*TELLING, *HELD_BACK)])
def test_wherever_it_is_killed(loaded: Stream, nursery: Nursery, point: str) -> None:
    kill_and_repeat(loaded, nursery, point)


def test_two_workers_at_once_take_every_event_in_once(loaded: Stream, nursery: Nursery, tmp_path: Path) -> None:
    barrier = tmp_path / "go"
    workers = [start(loaded, nursery, f"rival{n}", barrier=barrier) for n in (1, 2)]
    barrier.touch()
    assert [worker.wait() for worker in workers] == [0, 0]
    loaded.project.load()
    assert_whole(loaded)


def test_a_broker_that_restarts_in_the_middle_of_a_block_costs_time_only(
    loaded: Stream, nursery: Nursery, kafka: KafkaServer
) -> None:
    worker = start(loaded, nursery, "reader", "stage.before=stop*1")
    worker.wait_until_stopped()
    kafka.kill()
    worker.resume()
    kafka.start()
    assert worker.wait(120) == 0
    loaded.project.load()
    assert_whole(loaded)


@pytest.mark.exhaustive
def test_while_the_broker_is_away_its_topic_waits_and_says_so(loaded: Stream, kafka: KafkaServer) -> None:
    kafka.kill()
    loaded.project.load()
    assert "does not answer" in str(loaded.problem())
    assert loaded.products() == [1, 2]
    kafka.start()
    eventually(lambda: loaded.project.load() or None, "a block, once the broker answers again")
    assert_whole(loaded)


def test_events_that_come_again_in_another_order_are_known(loaded: Stream) -> None:
    loaded.project.load()
    loaded.send([event(n) for n in (5, 3, 1, 4, 2)], partition=1)
    loaded.project.load()
    assert_whole(loaded)
