"""kill -9 at every point of a batch: nothing stays Executing, and the next run makes good what is missing, once."""

from __future__ import annotations

import json
import os

import psutil
import pytest

from dwh_assets.model.failpoints import BATCH_POINTS
from tests.faults.nursery import eventually
from tests.faults.world import FACT, MART, Rows, World

EXECUTING = (
    "select 'execution' as what, id from dwh.execution where execution_code = 'Executing'"
    " union all select 'batch', id from dwh.batch_instance where execution_code = 'Executing'"
)


@pytest.mark.parametrize(
    "point",
    [*BATCH_POINTS, "stage.after", *(pytest.param(f"batch.module=kill*{n}", marks=pytest.mark.exhaustive) for n in (2, 3))],
)
def test_a_batch_killed_at_any_point_is_made_good_by_the_next_run(world: World, undisturbed: dict[str, Rows], point: str) -> None:
    failpoint = point if "=" in point else f"{point}=kill"
    world.start_worker("nightly", act="batch", failpoints=failpoint).wait_until_killed()
    world.expire_leases()
    world.engine.batches.end_lost()
    ran = world.run_batch()
    assert (ran.code, ran.processing_code) == ("Succeeded", "Proceed"), ran.text
    assert world.rows(FACT) == undisturbed[FACT]
    assert len(world.rows(MART)) == len(undisturbed[FACT])
    assert world.fetch(EXECUTING) == []
    world.assert_clean()


def test_a_run_that_makes_a_lost_one_good_leaves_out_what_had_succeeded(world: World) -> None:
    world.start_worker("nightly", act="batch", failpoints="batch.module=kill*3").wait_until_killed()
    world.expire_leases()
    ran = world.run_batch()
    assert [part.name for part in ran.parts] == ["ops.note"]
    cancelled = world.fetch("select reason from dwh.execution where execution_code = 'Cancelled'")
    assert {row["reason"] for row in cancelled} == {"it succeeded in the run that this one makes good"}


def test_a_batch_that_sleeps_past_its_lease_changes_nothing_when_it_wakes(world: World) -> None:
    sleeper = world.start_worker("nightly", act="batch", failpoints="batch.ending=stop")
    sleeper.wait_until_stopped()
    world.expire_leases()
    assert world.engine.batches.end_lost() == 1
    sleeper.resume()
    assert sleeper.wait() == 1
    assert world.fetch("select execution_code from dwh.batch_instance") == [{"execution_code": "Failed"}]


def test_the_command_of_a_killed_batch_dies_with_it(world: World) -> None:
    command = ["sleep", f"600.{os.getpid()}"]
    world.engine.database.execute(
        b"update dwh.module set spec = spec || jsonb_build_object('run', %(run)s::jsonb) where name = 'ops.note'",
        run=json.dumps(command),
    )
    worker = world.start_worker("nightly", act="batch")
    eventually(lambda: _running(command) or None, "the command")
    worker.kill()
    eventually(lambda: None if _running(command) else True, "end of the command")


def _running(words: list[str]) -> bool:
    return any(process.info["cmdline"] == words for process in psutil.process_iter(["cmdline"]))
