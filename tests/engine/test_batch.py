"""Batches of commands: order, failures, retries, nesting and what comes after (K2 to K6, D9). No Spark is needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from dwh_assets.config.settings import load_settings
from dwh_assets.engine.batch import BatchRan, BatchRunner
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.start import Starter
from dwh_assets.model.batch import Batch, Command, Link
from dwh_assets.model.module import Lineage
from dwh_assets.model.parameter import Parameter
from dwh_assets.model.window import Window


@pytest.fixture
def engine(database_url: str, tmp_path: Path) -> Iterator[Engine]:
    engine = Engine(load_settings(home=tmp_path / "home", project=tmp_path, postgres_url=database_url, slots=2), database_url)
    yield engine
    engine.close()


def command(name: str, script: str = "true", *needs: str, **more: object) -> Command:
    """It notes that it ran, then does what the script says."""
    words = ("sh", "-c", f"echo {name} >> ran; {script}")
    return replace(Command(f"ops.{name}", "command", words, depends_on=tuple(f"ops.{n}" for n in needs)), **more)


def batch(name: str, *modules: str, **more: object) -> Batch:
    return replace(Batch(name, tuple(Link(f"ops.{module}") for module in modules), retries=1), **more)


def run(engine: Engine, name: str, *things: Batch | Command, parameters: tuple[Parameter, ...] = ()) -> BatchRan:
    batches = tuple(thing for thing in things if isinstance(thing, Batch))
    commands = tuple(thing for thing in things if isinstance(thing, Command))
    engine.lineage.apply(Lineage((), (), batches=batches, commands=commands, parameters=parameters), "test")
    return BatchRunner(engine, engine.lineage.active()).run(name)


def ran(engine: Engine) -> list[str]:
    file = engine.settings.project / "ran"
    return file.read_text().split() if file.exists() else []


def instances(engine: Engine) -> list[tuple[str, str, int]]:
    joined = "dwh.execution e join dwh.topic t on t.id = e.topic_id"
    query = f"select t.name, e.execution_code, e.attempt from {joined} order by t.name, e.id"
    return [tuple(row.values()) for row in engine.database.fetch(query.encode())]


def test_a_standard_batch_runs_by_dependencies_and_goes_on_where_nothing_waits_for_a_failure(engine: Engine) -> None:
    chain = [command("c", "true", "b"), command("b", "exit 3", "a"), command("a"), command("alone")]
    done = run(engine, "nightly", batch("nightly", "c", "b", "a", "alone"), *chain)
    codes = {part.name: part.code for part in done.parts}
    assert codes == {"ops.a": "Succeeded", "ops.alone": "Succeeded", "ops.b": "Failed", "ops.c": "Cancelled"}
    assert done.code == "Failed"
    assert "ops.b: ops.b ended with exit code 3" in done.text
    assert "ops.c: it waits for ops.b, which did not succeed in this run" in done.text
    assert sorted(ran(engine)) == ["a", "alone", "b"]
    assert ran(engine).index("a") < ran(engine).index("b")


def test_a_maintenance_batch_runs_in_its_own_order_and_stops_at_the_first_failure(engine: Engine) -> None:
    things = [command("z"), command("m", "exit 1"), command("a")]
    done = run(engine, "upkeep", batch("upkeep", "z", "m", "a", kind="MAINTENANCE"), *things)
    assert (done.code, ran(engine)) == ("Failed", ["z", "m"])
    assert [row[0] for row in instances(engine)] == ["ops.m", "ops.z"]


def test_a_failing_command_is_tried_again_on_the_same_instance(engine: Engine) -> None:
    done = run(engine, "nightly", batch("nightly", "shaky", retries=3), command("shaky", "test $(wc -l < ran) = 3"))
    assert (done.code, ran(engine)) == ("Succeeded", ["shaky"] * 3)
    assert instances(engine) == [("ops.shaky", "Succeeded", 3)]


def test_a_command_that_takes_too_long_is_ended_and_says_so(engine: Engine) -> None:
    done = run(engine, "nightly", batch("nightly", "slow"), command("slow", "sleep 60", timeout=timedelta(seconds=0.5)))
    assert "ops.slow was ended: it took longer than its timeout of 500ms" in done.text


def test_a_command_learns_parameters_and_its_instance_from_its_environment_and_tells_its_rows(engine: Engine) -> None:
    script = (
        'echo "{\\"inserted\\": $DWH_PARAM_LEAST}" > $DWH_RESULT; test $DWH_BATCH = nightly && test $DWH_BATCH_INSTANCE -gt 0'
    )
    least = Parameter("least", "integer", "4")
    nightly = batch("nightly", "told", parameters=(Parameter("least", "integer", "7"),))
    done = run(engine, "nightly", nightly, command("told", script), parameters=(least,))
    assert (done.code, done.parts[0].rows) == ("Succeeded", 7)
    assert Starter(engine, engine.lineage.active()).run("ops.told").code == "Failed"  # alone it is in no batch


def test_batches_in_a_batch_come_first_and_fail_it(engine: Engine) -> None:
    inner, outer = batch("inner", "bad"), batch("outer", "last", batches=(Link("inner"),))
    done = run(engine, "outer", inner, outer, command("bad", "exit 1"), command("last"))
    assert (done.code, [part.name for part in done.parts], ran(engine)) == ("Failed", ["inner", "ops.last"], ["bad", "last"])
    (file := engine.settings.project / "ran").unlink()
    again = run(engine, "outer", inner, outer, command("bad"), command("last"))
    assert (again.code, file.read_text().split()) == ("Succeeded", ["bad"])


def test_a_batch_starts_when_all_that_it_comes_after_have_succeeded(engine: Engine) -> None:
    things = [batch("one", "a"), batch("two", "b"), batch("then", "c", after=("one", "two"))]
    commands = [command("a"), command("b"), command("c")]
    assert run(engine, "one", *things, *commands).followed == ()
    second = run(engine, "two", *things, *commands)
    assert [(done.batch, done.code) for done in second.followed] == [("then", "Succeeded")]
    assert run(engine, "two", *things, *commands).followed == ()  # not before the first has succeeded again
    assert ran(engine) == ["a", "b", "c", "b"]


def test_a_batch_is_cancelled_outside_of_its_window(engine: Engine) -> None:
    now = engine.database.fetch("select (clock_timestamp() at time zone 'UTC')::time as now")[0]["now"]
    later = Window.parse(f"{(now.hour + 2) % 24:02}:00-{(now.hour + 3) % 24:02}:00")
    done = run(engine, "nightly", batch("nightly", "a", time=later), command("a"))
    assert (done.code, done.text, ran(engine)) == ("Cancelled", "it is outside of its daily window", [])
