"""What is committed is shown exactly once, and what is shown was committed (R11)."""

from __future__ import annotations

import pytest
from dagster import AssetKey, AssetMaterialization

from dwh_assets.orchestration.reconcile import report_forgotten, report_unfounded
from dwh_assets.orchestration.watching import Watcher
from tests.faults.scenarios import switched_off
from tests.orchestration.dag import Dag, evaluations
from tests.orchestration.test_loading import loaded, planned


def events_of(dag: Dag, *path: str) -> list[str]:
    """The keys of all materializations, in order."""
    records = dag.instance.fetch_materializations(AssetKey(path), limit=1000, ascending=True).records
    return [str(record.partition_key) for record in records]


def forgotten(dag: Dag) -> int:
    return report_forgotten(dag.instance, dag.project.engine, dag.loaded.lineage, age=0)


def test_blocks_that_were_loaded_without_dagster_are_shown_once(dag: Dag) -> None:
    keys = loaded(dag, "plain.rows")
    assert events_of(dag, "plain", "rows") == []
    assert forgotten(dag) == 2
    assert forgotten(dag) == 0
    assert events_of(dag, "plain", "rows") == keys
    assert evaluations(dag, AssetKey(["plain", "rows"]))["block_rows"].passed


def test_a_run_that_died_between_its_event_and_the_mark_is_not_shown_twice(dag: Dag) -> None:
    planned(dag, "torn.rows", 5)
    (request,) = dag.requests("torn")
    assert dag.carry_out(request).success
    dag.project.engine.database.execute("update dwh.execution set reported_at = null")
    forgotten(dag)
    assert events_of(dag, "torn", "rows") == dag.keys("torn.rows")


@pytest.mark.tooth("R11", "shown")
def test_without_a_look_at_what_was_sent_it_is_shown_twice(dag: Dag) -> None:
    planned(dag, "doubled.rows", 5)
    (request,) = dag.requests("doubled")
    assert dag.carry_out(request).success
    dag.project.engine.database.execute("update dwh.execution set reported_at = null")
    with switched_off("shown"):
        forgotten(dag)
    assert events_of(dag, "doubled", "rows") == 2 * dag.keys("doubled.rows")


def test_a_restated_block_is_shown_again(dag: Dag) -> None:
    first, second = loaded(dag, "twice.rows")
    forgotten(dag)
    dag.project.restate("twice.rows", 1)
    assert forgotten(dag) == 2
    assert events_of(dag, "twice", "rows") == [first, second, first, second]


def test_an_event_without_a_block_is_an_alert(dag: Dag) -> None:
    loaded(dag, "ghost.rows", 5)
    forgotten(dag)
    assert [name for name in unfounded(dag) if name.startswith("ghost")] == []
    dag.instance.report_runless_asset_event(AssetMaterialization(AssetKey(["ghost", "rows"]), partition="20260301-000777"))
    assert [name for name in unfounded(dag) if name.startswith("ghost")] == ["ghost.rows 20260301-000777"]
    unfounded(dag)
    raised = [a["text"] for a in dag.project.engine.alerts.listed() if a["kind"] == "event_without_block"]
    assert raised == [
        "Dagster shows 20260301-000777 of ghost.rows as materialized, but no such block was ever committed. No data is affected."
    ]


def unfounded(dag: Dag) -> list[str]:
    return report_unfounded(dag.instance, dag.project.engine, dag.loaded.lineage)


def test_the_watch_tells_of_sources_that_moved_on_and_of_runs_that_failed(dag: Dag) -> None:
    planned(dag, "seen.rows", 5, checks="[{not_null: [v]}, {rows: {min: 50}}]")
    (request,) = dag.requests("seen")
    result = dag.carry_out(request)
    watcher = Watcher()
    observed = {event.asset_key.to_user_string() for event in watcher.watch(dag.instance, dag.project.engine).asset_events}  # type: ignore[union-attr]
    assert "src/seen" in observed
    assert not getattr(watcher.watch(dag.instance, dag.project.engine), "asset_events", None)
    dag.instance.add_dynamic_partitions("seen.rows", ["nonsense"])
    refused = dag.materialize("seen.rows", "nonsense")
    watcher.watch(dag.instance, dag.project.engine)
    alerts = {a["key"]: a["text"] for a in dag.project.engine.alerts.listed()}
    assert "failed: 'nonsense' is not the key of a block" in alerts[f"run:{refused.run_id}"]
    assert f"run:{result.run_id}" not in alerts  # its block is parked, and that is an alert by itself
