"""A project with Dagster on top of it, in one process: real storage, real sensors' code, real runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dagster import (
    AssetCheckEvaluation,
    AssetKey,
    DagsterEventType,
    DagsterInstance,
    Definitions,
    EventRecordsFilter,
    ExecuteInProcessResult,
    JobDefinition,
    RunConfig,
    RunRequest,
    SensorResult,
    SkipReason,
    build_sensor_context,
)
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG, PARTITION_NAME_TAG

from dwh_assets.orchestration.graph import definitions
from dwh_assets.orchestration.names import module_key
from dwh_assets.orchestration.partitions import PartitionLists
from dwh_assets.orchestration.project import Project as Loaded
from dwh_assets.orchestration.sensors import SEPARATOR, evaluate
from tests.engine.project import Project


@dataclass
class Dag:
    project: Project
    instance: DagsterInstance
    lists: PartitionLists = field(default_factory=PartitionLists)

    @property
    def loaded(self) -> Loaded:
        engine = self.project.engine
        return Loaded(engine.lineage.active(), engine.settings, "a test", engine.lineage.columns())

    @property
    def definitions(self) -> Definitions:
        return definitions(self.loaded)

    def tick(self, area: str) -> SensorResult | SkipReason:
        """One evaluation of an area's sensor."""
        modules = [m for m in self.loaded.lineage.modules if m.area == area]
        context = build_sensor_context(instance=self.instance)
        return evaluate(context, self.project.engine, area, modules, self.lists)

    def requests(self, area: str) -> list[RunRequest]:
        found = self.tick(area)
        return list(found.run_requests or []) if isinstance(found, SensorResult) else []

    def carry_out(self, request: RunRequest) -> ExecuteInProcessResult:
        assert request.asset_selection
        return self._execute(request.asset_selection[0], dict(request.tags), request.partition_key)

    def materialize(self, module: str, *keys: str, override: str = "") -> ExecuteInProcessResult:
        """What a person does in the UI: one key, or all from the first to the last, told by tags as its pages do."""
        key = module_key(self.loaded.lineage.module(module))
        one = {PARTITION_NAME_TAG: keys[0]}
        several = {ASSET_PARTITION_RANGE_START_TAG: keys[0], ASSET_PARTITION_RANGE_END_TAG: keys[-1]}
        return self._execute(key, one if len(keys) == 1 else several, None, override)

    @property
    def job(self) -> JobDefinition:
        return self.definitions.resolve_implicit_global_asset_job_def()

    def _execute(self, key: AssetKey, tags: dict[str, Any], partition: str | None, override: str = "") -> ExecuteInProcessResult:
        op = f"load_{'_'.join(key.path)}"
        config = RunConfig(ops={op: {"config": {"override": override}}})
        return self.job.execute_in_process(
            run_config=config,
            instance=self.instance,
            asset_selection=[key],
            partition_key=partition,
            tags=tags,
            raise_on_error=False,
        )

    def keys(self, module: str) -> list[str]:
        return list(self.instance.get_dynamic_partitions(module))

    def loaded_keys(self, module: str) -> set[str]:
        key = module_key(self.loaded.lineage.module(module))
        return self.instance.get_materialized_partitions(key)


def failure_of(result: ExecuteInProcessResult) -> str:
    """What the person reads on the page of a failed run."""
    (event,) = [event for event in result.all_events if event.is_step_failure]
    found = event.step_failure_data.user_failure_data
    assert found is not None
    return found.description or ""


def log_of(dag: Dag, result: ExecuteInProcessResult) -> str:
    return "\n".join(entry.user_message for entry in dag.instance.all_logs(result.run_id))


def evaluations(dag: Dag, key: AssetKey) -> dict[str, AssetCheckEvaluation]:
    """The newest result of each check of an asset."""
    found: dict[str, AssetCheckEvaluation] = {}
    records = dag.instance.event_log_storage.get_event_records(EventRecordsFilter(DagsterEventType.ASSET_CHECK_EVALUATION))
    for entry in sorted(records, key=lambda record: record.storage_id):
        event = entry.event_log_entry.dagster_event
        assert event is not None
        evaluation = event.asset_check_evaluation_data
        if evaluation.asset_key == key:
            found[evaluation.check_name] = evaluation
    return found


def texts(reasons: SensorResult | SkipReason) -> Sequence[str]:
    assert isinstance(reasons, SkipReason), reasons
    return (reasons.skip_message or "").split(SEPARATOR)
