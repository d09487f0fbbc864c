"""Blocks as partitions: what the sensor asks for, what a person materializes, what is refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from dagster import AssetKey, SensorResult

from dwh_assets.sources.kafka.server import KafkaServer
from tests.engine.project import ALL, rows
from tests.faults.nursery import eventually
from tests.ingest.stream import TABLE, Stream, event
from tests.orchestration.dag import Dag, evaluations, failure_of, log_of, texts


def loaded(dag: Dag, name: str, count: int = 10, **fields: str) -> list[str]:
    """A table of blocks of five rows, all loaded by the plain loop; its keys."""
    planned(dag, name, count, **fields)
    dag.project.load(*dag.loaded.lineage.module(name).topics)
    dag.tick(name.split(".")[0])
    return dag.keys(name)


def planned(dag: Dag, name: str, count: int = 10, **fields: str) -> None:
    source = f"src.{name.split('.')[0]}"
    dag.project.source(source)
    dag.project.append(source, rows(0, count))
    dag.project.module(name, source, **({"maxstep": "5", "stretch": "1"} | fields))
    dag.project.apply()


def test_a_tick_plans_blocks_as_missing_partitions_and_asks_for_one_run_that_loads_them(dag: Dag) -> None:
    planned(dag, "one.rows", 20)
    (request,) = dag.requests("one")
    assert dag.keys("one.rows") == ["20260301-000001"]  # the first alone: its speed sizes the next
    assert dag.loaded_keys("one.rows") == set()
    assert dag.carry_out(request).success
    (request,) = dag.requests("one")
    assert dag.keys("one.rows") == [f"20260301-00000{n}" for n in (1, 2, 3, 4)]
    assert dag.carry_out(request).success
    assert dag.loaded_keys("one.rows") == set(dag.keys("one.rows"))
    assert texts(dag.tick("one"))[0].startswith("one.rows: WAIT_DEP, waits for src.one, complete up to 2026-03-01 00:00:19")
    assert dag.project.verify() == []


def test_a_run_has_a_turn_of_blocks_where_others_wait_and_the_priority_of_its_module(dag: Dag) -> None:
    turn = dag.project.engine.settings.turn_blocks
    for name in ("turn.one", "turn.two"):
        planned(dag, name, turn + 3, maxstep="1", priority="7")
    assert all(dag.carry_out(request).success for request in dag.requests("turn"))
    first, second = dag.requests("turn")
    assert first.tags["dagster/priority"] == second.tags["dagster/priority"] == "7"
    assert dag.carry_out(first).success
    assert sorted(len(dag.loaded_keys(name)) for name in ("turn.one", "turn.two")) == [1, 1 + turn]


def test_a_run_whose_worker_is_to_end_ends_after_its_block_and_the_rest_is_asked_for_again(
    dag: Dag, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(dag, "ending.rows", 20)
    (request,) = dag.requests("ending")
    assert dag.carry_out(request).success
    (request,) = dag.requests("ending")
    with monkeypatch.context() as told:
        told.setattr(dag.project.engine, "ending", lambda: True)
        assert dag.carry_out(request).success
        first, second, third, fourth = dag.keys("ending.rows")
        assert dag.loaded_keys("ending.rows") == {first, second}
        assert "1 of 2 blocks are left" in failure_of(dag.materialize("ending.rows", third, fourth))
    (request,) = dag.requests("ending")
    assert dag.carry_out(request).success
    assert dag.loaded_keys("ending.rows") == {first, second, third, fourth}


def test_committed_blocks_are_restated_in_one_job_and_unknown_keys_refused(dag: Dag) -> None:
    first, second = loaded(dag, "again.rows")
    assert dag.materialize("again.rows", first, second).success
    assert dag.project.restatements("again.rows") == [(1, 2, "committed")]
    dag.instance.add_dynamic_partitions("again.rows", ["20260301-000099", "nonsense"])
    assert "20260301-000099 is not a block of again.rows" in failure_of(dag.materialize("again.rows", "20260301-000099"))
    assert "'nonsense' is not the key of a block" in failure_of(dag.materialize("again.rows", "nonsense"))
    assert dag.project.verify() == []


def test_a_block_out_of_order_is_refused_with_the_one_that_comes_first(dag: Dag) -> None:
    planned(dag, "order.rows", 20)
    (request,) = dag.requests("order")
    assert dag.carry_out(request).success
    dag.tick("order")
    _, second, third, _ = dag.keys("order.rows")
    refusal = failure_of(dag.materialize("order.rows", third))
    assert f"blocks are loaded in order, and {second} comes before" in refusal
    assert dag.materialize("order.rows", second, third).success
    assert dag.loaded_keys("order.rows") == set(dag.keys("order.rows")[:3])
    assert dag.project.restatements("order.rows") == []


def test_a_topic_that_is_not_due_is_refused_by_its_verdict_unless_a_person_says_why(dag: Dag) -> None:
    planned(dag, "window.rows", 5)
    dag.requests("window")
    night = "03:00-03:01" if datetime.now(UTC).hour > 12 else "20:00-20:01"
    dag.project.module("window.rows", "src.window", ALL, maxstep="5", stretch="1", time=night)
    dag.project.apply()
    (key,) = dag.keys("window.rows")
    refusal = failure_of(dag.materialize("window.rows", key))
    assert refusal.startswith(f"topic window.rows is not due: WINDOW, runs only {night}")
    result = dag.materialize("window.rows", key, override="the books close today")
    assert result.success
    assert "are passed over: the books close today" in log_of(dag, result)


def test_a_block_that_another_worker_holds_is_refused_and_names_it(dag: Dag) -> None:
    planned(dag, "held.rows", 5)
    dag.tick("held")
    claim = dag.project.engine.claims.claim("held.rows")
    (key,) = dag.keys("held.rows")
    refusal = failure_of(dag.materialize("held.rows", key))
    assert f"worker {dag.project.engine.worker} holds it" in refusal
    dag.project.engine.claims.fail(claim, "a test", counts=False)
    assert dag.materialize("held.rows", key, override="the holder is gone").success


def test_shards_have_keys_of_their_own_and_a_run_each(dag: Dag) -> None:
    planned(dag, "parts.rows", 6, shards="[k0, k1]", shard_by="k")
    requests = dag.requests("parts")
    assert sorted(request.tags["dwh/topic"] for request in requests) == ["parts.rows:k0", "parts.rows:k1"]
    assert sorted(dag.keys("parts.rows")) == ["20260301-000001:k0", "20260301-000001:k1"]
    assert all(dag.carry_out(request).success for request in requests)
    assert dag.loaded_keys("parts.rows") == set(dag.keys("parts.rows"))


def test_a_block_that_was_taken_back_comes_again_under_a_key_of_its_own(dag: Dag) -> None:
    first, second = loaded(dag, "back.rows")
    position = dag.project.blocks("back.rows")[0]
    dag.project.reset("back.rows", position["next_pos"], position["next_id"])
    dag.tick("back")
    assert dag.keys("back.rows") == [first, f"{second}r2"]
    assert f"{second}r2" not in dag.loaded_keys("back.rows")
    (request,) = dag.requests("back")
    assert dag.carry_out(request).success
    assert f"{second}r2" in dag.loaded_keys("back.rows")


def test_a_check_that_parks_a_block_fails_the_run_and_is_shown_with_its_number(dag: Dag) -> None:
    planned(dag, "bad.rows", 5, checks="[{expect: {predicate: v < 3, name: small}}]")
    (request,) = dag.requests("bad")
    result = dag.carry_out(request)
    assert "check expect(small) failed: 3 of 5 rows meet" in failure_of(result)
    found = evaluations(dag, AssetKey(["bad", "rows"]))
    assert (found["expect_small"].passed, found["expect_small"].metadata["value"].value) == (False, 0.6)
    assert dag.loaded_keys("bad.rows") == set()
    (reason,) = texts(dag.tick("bad"))
    assert reason.startswith("bad.rows: BACKOFF, block #")
    assert "is parked" in reason


def test_every_block_carries_the_numbers_that_the_page_plots(dag: Dag) -> None:
    (key,) = loaded(dag, "plot.rows", 5, measures="{total: sum(v)}")
    assert dag.materialize("plot.rows", key).success
    event = dag.instance.get_latest_materialization_event(AssetKey(["plot", "rows"]))
    assert event is not None
    assert event.asset_materialization is not None
    shown = {name: value.value for name, value in event.asset_materialization.metadata.items()}
    assert (shown["rows"], shown["base_rows"], shown["measure/total"], shown["nulls"]) == (5, 5, 10, 0)
    assert {"seconds", "rows_per_second", "lag_seconds", "bytes", "execution", "block"} <= shown.keys()
    found = evaluations(dag, AssetKey(["plot", "rows"]))
    assert found["block_rows"].metadata["rows"].value == 5
    assert found["nulls"].passed
    assert found["late_rows"].passed


def test_a_run_that_died_before_its_attempt_is_asked_for_again(dag: Dag) -> None:
    planned(dag, "lost.rows", 5)
    (request,) = dag.requests("lost")
    run = dag.instance.create_run_for_job(
        dag.job, tags=dict(request.tags), asset_selection=frozenset(request.asset_selection or ())
    )
    assert texts(dag.tick("lost")) == [f"lost.rows: run {run.run_id[:8]} loads it"]
    dag.instance.report_run_failed(run)
    again = dag.tick("lost")
    assert isinstance(again, SensorResult)
    assert again.run_requests
    assert again.run_requests[0].run_key != request.run_key


@pytest.mark.timeout(1800)  # a thousand blocks are loaded one by one first
@pytest.mark.exhaustive
def test_a_thousand_blocks_are_restated_by_one_run(dag: Dag) -> None:
    keys = loaded(dag, "many.rows", 1000, maxstep="1", ahead="1000")
    assert len(keys) == 1000
    assert dag.materialize("many.rows", keys[0], keys[-1]).success
    assert dag.project.restatements("many.rows") == [(1, 1000, "committed")]
    assert dag.loaded_keys("many.rows") == set(keys)
    assert dag.project.verify() == []


def test_dead_letters_of_a_block_of_events_are_a_check_with_their_number(dag: Dag, kafka: KafkaServer) -> None:
    stream = Stream(kafka.start(), dag.project).create()
    stream.declare("checks: [{dead_letters: {max_ratio: 0.5}}]\n")
    dag.project.apply()
    key = AssetKey(TABLE.split("."))
    for bad, passed in ((1, True), (3, False)):
        stream.send([event(bad), *(b"no json" for _ in range(bad))], partition=0)
        request = eventually(
            lambda: next(iter(dag.requests("stage")), None), "the stage is due again, a second after its last run"
        )
        assert dag.carry_out(request).success == passed
        check = evaluations(dag, key)["dead_letters"]
        assert (check.passed, check.metadata["value"].value) == (passed, bad)
