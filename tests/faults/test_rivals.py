"""Several workers at one topic, and workers whose clocks are wrong: one works, by the database's clock."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

import dwh_assets
from dwh_assets.engine.loop import Loop
from tests.faults.nursery import Worker, eventually
from tests.faults.world import FACT, Rows, World

DAY = 86_400.0


def let_go(workers: list[Worker], barrier: Path) -> None:
    """Open the barrier once every worker stands before it, and wait for their ends."""
    assert all(worker.name for worker in workers)
    barrier.touch()
    assert [worker.wait() for worker in workers] == [0] * len(workers)


def test_of_two_workers_on_one_topic_one_loads_each_block(world: World, barrier: Path, undisturbed: dict[str, Rows]) -> None:
    workers = [world.start_worker(barrier=barrier) for _ in range(2)]
    let_go(workers, barrier)
    world.run_until_loaded()
    codes = Counter(attempt["execution_code"] for attempt in world.executions())
    assert codes.pop("Succeeded") == 2
    assert set(codes) <= {"Aborted"}
    assert world.rows() == undisturbed[FACT]
    world.assert_clean()


def test_of_many_processes_that_claim_a_topic_at_once_exactly_one_gets_it(world: World, barrier: Path) -> None:
    Loop(world.engine, topics=frozenset({FACT})).tick()
    workers = [world.start_worker(act="claim", barrier=barrier) for _ in range(6)]
    let_go(workers, barrier)
    assert Counter(result for worker in workers for result in worker.results) == {"claimed": 1, "Refused": 5}
    codes = Counter(attempt["execution_code"] for attempt in world.executions())
    assert codes == {"Executing": 1, "Aborted": 5}
    assert {attempt["token"] for attempt in world.executions()} == {1}


@pytest.mark.parametrize("off", [DAY, -DAY], ids=["a day ahead", "a day behind"])
def test_a_worker_whose_clock_is_a_day_off_steals_no_lease_and_keeps_none(
    world: World, undisturbed: dict[str, Rows], off: float
) -> None:
    holder = world.start_worker(failpoints="stage.after=stop", clock=-off)
    holder.wait_until_stopped()
    rival = world.start_worker(act="claim", clock=off)
    rival.wait()
    assert rival.results == ["Refused"]
    world.expire_leases()
    heir = world.start_worker(clock=off)
    assert heir.wait() == 0
    assert heir.results == ["committed", "committed"]
    assert holder.finish() == ["lost"]
    assert world.rows() == undisturbed[FACT]
    world.assert_clean()


def test_nothing_that_decides_about_leases_reads_the_local_clock() -> None:
    package = Path(dwh_assets.__file__).parent
    files = [*(package / "control").glob("*.py"), *(package / "engine").glob("*.py")]
    readings = {f"{file.name}: {name}" for file in files for name in _wall_clock_calls(file)}
    assert readings == {"openlineage.py: datetime.now"}  # the times of its events are for people: nothing is decided by them


def _wall_clock_calls(file: Path) -> list[str]:
    calls = [node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    names = [ast.unparse(call) for call in calls]
    return [name for name in names if name.endswith((".now", ".utcnow", ".today")) or name == "time.time"]


def test_a_worker_that_renews_its_lease_is_not_overtaken(world: World) -> None:
    """Its lease lasts half a second, its step is held for longer than that; the background thread keeps the topic."""
    holder = world.start_worker(failpoints="check.before=sleep:2*1", lease_seconds=0.6)
    began = eventually(lambda: world.executions() or None, "claim")
    ends = eventually(lambda: _renewed(world), "renewal")
    assert ends
    assert holder.wait() == 0
    assert holder.results == ["committed", "committed"]
    assert [attempt["token"] for attempt in began] == [1]


def _renewed(world: World) -> bool | None:
    found = world.fetch(
        "select t.lease_until > e.started_at + interval '1 second' as renewed from dwh.topic t join dwh.execution e"
        " on e.topic_id = t.id and e.execution_code = 'Executing' where t.name = %(topic)s",
        topic=FACT,
    )
    return True if found and found[0]["renewed"] else None
