"""What is committed is shown exactly once, and what is shown was committed (R11)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from dagster import AssetKey, AssetMaterialization, SensorResult, SkipReason, build_sensor_context

from dwh_assets.engine.restate import late_spans
from dwh_assets.orchestration.reconcile import report_forgotten, report_unfounded
from dwh_assets.orchestration.resources import Offsets
from dwh_assets.orchestration.watching import Watcher, watch_sensor
from tests.engine.project import row, rows
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
    observed = {event.asset_key.to_user_string() for event in watch(dag, watcher).asset_events}  # type: ignore[union-attr]
    assert "src/seen" in observed
    assert not getattr(watch(dag, watcher), "asset_events", None)
    dag.instance.add_dynamic_partitions("seen.rows", ["nonsense"])
    refused = dag.materialize("seen.rows", "nonsense")
    watch(dag, watcher)
    alerts = {a["key"]: a["text"] for a in dag.project.engine.alerts.listed()}
    assert "failed: 'nonsense' is not the key of a block" in alerts[f"run:{refused.run_id}"]
    assert f"run:{result.run_id}" not in alerts  # its block is parked, and that is an alert by itself


def watch(dag: Dag, watcher: Watcher) -> SensorResult | SkipReason:
    return watcher.watch(dag.instance, dag.project.engine, datetime.now(UTC))


def test_a_run_that_failed_while_nobody_watched_is_told_once_by_the_next_watch(dag: Dag) -> None:
    planned(dag, "unseen.rows", 5)
    dag.instance.add_dynamic_partitions("unseen.rows", ["nonsense"])
    run = dag.materialize("unseen.rows", "nonsense").run_id
    dag.project.engine.database.execute(
        "update dagster.runs set update_timestamp = update_timestamp - interval '1 hour' where run_id = %(run)s", run=run
    )
    now = datetime.now(UTC)
    cursor = (now - timedelta(hours=2)).isoformat()
    for _ in range(2):  # the code was reloaded before the cursor was stored
        context = build_sensor_context(instance=dag.instance, cursor=cursor, resources={"offsets": Offsets()})
        stored = watch_sensor().evaluate_tick(context).cursor
        assert stored is not None
        assert datetime.fromisoformat(stored) >= now
    assert [a["key"] for a in dag.project.engine.alerts.listed() if a["key"] == f"run:{run}"] == [f"run:{run}"]


def test_a_shard_that_is_well_does_not_hide_the_late_rows_of_another(dag: Dag) -> None:
    loaded(dag, "hiding.rows", 6, shards="[k0, k1]", shard_by="k")
    dag.project.append("src.hiding", [row(1.5, 100, k="k1")])
    watch(dag, Watcher())
    told = "1 late rows; dwh restate hiding.rows:k1 --late loads them"
    assert late_rows(dag) == (False, told)
    dag.project.append("src.hiding", rows(6, 7))
    dag.project.tick()
    requests = dag.requests("hiding")
    assert "hiding.rows:k0" in {request.tags["dwh/topic"] for request in requests}
    assert all(dag.carry_out(request).success for request in requests)
    assert late_rows(dag) == (False, told)
    for span in late_spans(dag.project.engine, dag.loaded.lineage, "hiding.rows:k1"):
        dag.project.restate_span(span)
    watch(dag, Watcher())  # another one, as after a reload: what counts is what Dagster shows
    assert late_rows(dag) == (True, "no late rows")


def late_rows(dag: Dag) -> tuple[bool, str | None]:
    found = evaluations(dag, AssetKey(["hiding", "rows"]))["late_rows"]
    return found.passed, found.description
