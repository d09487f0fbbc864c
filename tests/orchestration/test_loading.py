"""Blocks as partitions: what the sensor asks for, what a person materializes, what is refused."""

from __future__ import annotations

from tests.engine.project import rows
from tests.orchestration.dag import Dag, failure_of, texts


def test_a_tick_plans_blocks_as_missing_partitions_and_asks_for_one_run_that_loads_them(dag: Dag) -> None:
    dag.project.source("src.first")
    dag.project.append("src.first", rows(0, 10))
    dag.project.module("one.rows", "src.first", maxstep="5", stretch="1")
    dag.project.apply()
    (request,) = dag.requests("one")
    assert dag.keys("one.rows") == ["20260301-000001"]  # the first alone: its speed sizes the next
    assert dag.loaded_keys("one.rows") == set()
    assert dag.carry_out(request).success
    (request,) = dag.requests("one")
    assert dag.carry_out(request).success
    assert dag.keys("one.rows") == ["20260301-000001", "20260301-000002"]
    assert dag.loaded_keys("one.rows") == set(dag.keys("one.rows"))
    assert texts(dag.tick("one"))[0].startswith("one.rows: WAIT_DEP, waits for src.first, complete up to 2026-03-01 00:00:09")
    assert dag.project.verify() == []


def test_a_committed_block_is_restated_and_an_unknown_key_refused(dag: Dag) -> None:
    dag.project.source("src.again")
    dag.project.append("src.again", rows(0, 10))
    dag.project.module("again.rows", "src.again", maxstep="5", stretch="1")
    dag.project.apply()
    dag.project.load("again.rows")
    dag.tick("again")
    first, second = dag.keys("again.rows")
    assert dag.materialize("again.rows", first, second).success
    assert dag.restatements("again.rows") == [(1, 2, "committed")]
    dag.instance.add_dynamic_partitions("again.rows", ["20260301-000099", "nonsense"])
    assert "20260301-000099 is not a block of again.rows, or not any more" in failure_of(
        dag.materialize("again.rows", "20260301-000099")
    )
    assert "'nonsense' is not the key of a block" in failure_of(dag.materialize("again.rows", "nonsense"))
    assert dag.project.verify() == []
