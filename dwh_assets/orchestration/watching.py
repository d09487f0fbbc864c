"""One sensor beside those of the areas: it watches what changes while nothing is loaded, and tells people about it."""

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from dagster import (
    AssetCheckEvaluation,
    AssetCheckKey,
    AssetKey,
    AssetObservation,
    DagsterEventType,
    DagsterInstance,
    DagsterRunStatus,
    DefaultSensorStatus,
    MetadataValue,
    RunRecord,
    RunsFilter,
    SensorDefinition,
    SensorEvaluationContext,
    SensorResult,
    SkipReason,
    sensor,
)
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from dwh_assets.control.reports import Reports
from dwh_assets.control.statements import sql
from dwh_assets.engine.alerts import alert_round
from dwh_assets.engine.audit_rounds import AuditRounds
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.sweep import sweep
from dwh_assets.model.module import Lineage, Module
from dwh_assets.orchestration.events import topic_checks
from dwh_assets.orchestration.names import TOPIC_TAG, module_key
from dwh_assets.orchestration.reconcile import report_forgotten, report_unfounded
from dwh_assets.orchestration.reports import send
from dwh_assets.orchestration.resources import Offsets

SECONDS = 10
SLOW_SECONDS = 60.0  # what costs more, or changes less, than the rest
LOOK_BACK = timedelta(minutes=10)  # failed runs are read again for so long: each process that ends one has a clock of its own
PAGE = 200
TOPIC_CHECKS = ("late_rows", "freshness")


class Watcher:
    """What was told before, so that Dagster hears of changes only."""

    def __init__(self) -> None:
        self._slow = 0.0
        self._observed: dict[str, Any] = {}
        self._failing: dict[AssetCheckKey, Any] | None = None  # what each check said that does not pass
        self._failed: set[str] = set()
        self._audits: AuditRounds | None = None

    def watch(self, instance: DagsterInstance, engine: Engine, since: datetime) -> SensorResult | SkipReason:
        """Everything that happened since the watch before this one, however long ago that was."""
        lineage = engine.lineage.active()
        told = []
        if time.monotonic() - self._slow > SLOW_SECONDS:
            self._slow = time.monotonic()
            sweep(engine, lineage)
            told += [f"event without a block: {name}" for name in report_unfounded(instance, engine, lineage)]
        self._audit(engine, lineage)
        if found := report_forgotten(instance, engine, lineage):
            told.append(f"{found} blocks were committed without an event; it was sent")
        send(instance, list(self._changed_checks(instance, engine, lineage)), None)
        self._raise_failed_runs(instance, engine, since)
        alert_round(engine)
        observations = list(self._observations(engine))
        if observations:
            return SensorResult(asset_events=observations, skip_reason="\n".join(told) or None)
        return SkipReason("\n".join(told) or "everything that was committed is shown, and nothing is shown that was not")

    def _audit(self, engine: Engine, lineage: Lineage) -> None:
        """Beside the ticks, while no request waits for a worker."""
        if self._audits is None:
            self._audits = AuditRounds(engine, lambda: bool(engine.database.fetch(sql("requests_wait"))[0]["found"]))
        self._audits.begin_if_due(lineage)

    def _observations(self, engine: Engine) -> Iterator[AssetObservation]:
        """Sources whose newest row has moved on since they were last told of."""
        for row in engine.sources.observations():
            seen = (row["newest_pos"], row["problem"])
            if self._observed.get(row["name"]) != seen:
                self._observed[row["name"]] = seen
                yield AssetObservation(AssetKey(row["name"].split(".")), metadata=_observed(row))

    def _changed_checks(self, instance: DagsterInstance, engine: Engine, lineage: Lineage) -> Iterator[AssetCheckEvaluation]:
        """Late rows and freshness of every table, where the answer is another than before; at first, than what Dagster shows."""
        modules = [module for module in lineage.modules if module.active]
        if self._failing is None:
            self._failing = dict.fromkeys(_shown_as_failed(instance, modules), "as Dagster shows it")
        status = {row["topic"]: row for row in Reports(engine.database).status()}
        for module in modules:
            for found in topic_checks(module, [status[topic] for topic in module.topics if topic in status]):
                said = None if found.passed else (found.metadata.get("late_rows"), found.metadata.get("changed_blocks"))
                if self._failing.get(found.asset_check_key) != said:
                    self._failing[found.asset_check_key] = said
                    yield found

    def _raise_failed_runs(self, instance: DagsterInstance, engine: Engine, since: datetime) -> None:
        for record in _failed_runs(instance, since - LOOK_BACK):
            run = record.dagster_run
            if run.run_id not in self._failed:
                topic, problem = run.tags.get(TOPIC_TAG), _problem(instance, record)
                if problem is not None:
                    engine.alerts.raise_alert("run_failed", f"run:{run.run_id}", topic, None, "error", problem)
                self._failed.add(run.run_id)


def _shown_as_failed(instance: DagsterInstance, modules: Sequence[Module]) -> list[AssetCheckKey]:
    keys = [AssetCheckKey(module_key(module), name) for module in modules for name in TOPIC_CHECKS]
    shown = instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)
    return [key for key, record in shown.items() if record.status == AssetCheckExecutionRecordStatus.FAILED]


def _failed_runs(instance: DagsterInstance, after: datetime) -> Iterator[RunRecord]:
    cursor = None
    wanted = RunsFilter(statuses=[DagsterRunStatus.FAILURE], updated_after=after)
    while page := instance.get_run_records(wanted, limit=PAGE, cursor=cursor):
        yield from page
        cursor = page[-1].dagster_run.run_id


def _observed(row: dict[str, Any]) -> dict[str, Any]:
    lag = None if row["newest_pos"] is None else (row["seen_at"] - row["newest_pos"]).total_seconds()
    told = {
        "watermark": None if row["watermark"] is None else str(row["watermark"]),
        "newest": None if row["newest_pos"] is None else str(row["newest_pos"]),
        "lag_seconds": lag,
        "problem": row["problem"],
    }
    return {name: value for name, value in told.items() if value is not None}


def _problem(instance: DagsterInstance, record: RunRecord) -> str | None:
    """The text that the person would read on the page of the run. None if its block is parked: that is an alert by itself."""
    run = record.dagster_run
    selected: Sequence[AssetKey] = sorted(run.asset_selection or ())
    what = ", ".join(key.to_user_string() for key in selected) or run.job_name
    for entry in instance.all_logs(run.run_id, of_type=DagsterEventType.STEP_FAILURE):
        data = entry.dagster_event.step_failure_data if entry.dagster_event else None
        found = data.user_failure_data if data else None
        if found and found.metadata.get("result") == MetadataValue.text("parked"):
            return None
        if found and found.description:
            return f"run {run.run_id[:8]} of {what} failed: {found.description}"
    return f"run {run.run_id[:8]} of {what} failed; its page in Dagster says why"


def watch_sensor() -> SensorDefinition:
    watcher = Watcher()

    @sensor(
        name="watch",
        description="Shows what was committed without an event, observes sources, counts late rows, sends alerts.",
        minimum_interval_seconds=SECONDS,
        default_status=DefaultSensorStatus.RUNNING,
    )
    def watch(context: SensorEvaluationContext, offsets: Offsets) -> SensorResult | SkipReason:
        began = datetime.now(UTC)
        since = datetime.fromisoformat(context.cursor) if context.cursor else began
        found = watcher.watch(context.instance, offsets.engine, since)
        context.update_cursor(began.isoformat())
        return found

    return watch
