"""Dagster's old runs go; a partition that the UI lists keeps the event that says it is loaded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dagster import AssetMaterialization, DagsterInstance, DagsterRun, DagsterRunStatus

from dwh_assets.model.module import Lineage, Module
from dwh_assets.orchestration.names import module_key
from dwh_assets.orchestration.reports import send
from dwh_assets.orchestration.retention import prune_runs
from dwh_assets.orchestration.specs import partitions_of

MODULE = Module(name="fact.sales", table="fact.sales", depends_on=("src.sales",))
LINEAGE = Lineage((MODULE,), ())


def _run(instance: DagsterInstance, partition: str | None, status: DagsterRunStatus = DagsterRunStatus.SUCCESS) -> str:
    run = instance.add_run(DagsterRun(job_name="load", status=status))
    if partition:
        send(instance, [AssetMaterialization(module_key(MODULE), partition=partition)], run)
    return run.run_id


def _prune(instance: DagsterInstance, before: datetime) -> int:
    return prune_runs(instance, LINEAGE, before, lambda *_: None).figures["runs"]


def test_runs_that_ended_long_ago_go_unless_their_partitions_are_listed() -> None:
    with DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(partitions_of(MODULE).name or "", ["20260301-000002"])
        retired, listed = _run(instance, "20260301-000001"), _run(instance, "20260301-000002")
        empty, running = _run(instance, None), _run(instance, None, DagsterRunStatus.STARTED)
        assert _prune(instance, datetime.now(UTC) - timedelta(days=1)) == 0
        assert _prune(instance, datetime.now(UTC) + timedelta(days=1)) == 2
        assert {run.run_id for run in instance.get_runs()} == {listed, running}
        assert instance.get_materialized_partitions(module_key(MODULE)) == {"20260301-000002"}
        assert not instance.get_records_for_run(retired).records
        assert not instance.get_records_for_run(empty).records
