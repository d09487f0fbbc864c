"""Reporting: each attempt's events reach Dagster exactly once, from the ledger, by the run or by the reconciler (R11)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dagster import (
    AssetCheckEvaluation,
    AssetCheckResult,
    AssetMaterialization,
    AssetRecordsFilter,
    DagsterEventType,
    DagsterInstance,
    DagsterRun,
)
from dagster._core.events import DagsterEvent, DagsterEventBatchMetadata, StepMaterializationData
from dagster._core.instance.utils import RUNLESS_JOB_NAME, RUNLESS_RUN_ID

from dwh_assets.control.column_lineage import lineage_of_row
from dwh_assets.control.partitions import Report
from dwh_assets.control.reports import Reports
from dwh_assets.engine.attempt import Outcome
from dwh_assets.engine.engine import Engine
from dwh_assets.model.failpoints import protected
from dwh_assets.model.module import Lineage, Module
from dwh_assets.orchestration.column_lineage import column_metadata
from dwh_assets.orchestration.events import block_checks, declared_checks, materialization, topic_checks
from dwh_assets.orchestration.names import EXECUTION_TAG, input_keys, module_key

Event = AssetMaterialization | AssetCheckEvaluation
Row = dict[str, Any]


@dataclass
class Reporter:
    """Sends the events of attempts, as part of a run or, without one, as they are found."""

    instance: DagsterInstance
    engine: Engine
    lineage: Lineage
    run: DagsterRun | None = None
    planned: frozenset[str] = frozenset()  # checks whose result the run must give itself, at its end
    _results: dict[str, AssetCheckEvaluation] = field(default_factory=dict)  # Dagster keeps one result of a check a run

    def report(self, outcome: Outcome) -> None:
        """The attempt of this process: nobody can have sent its events before."""
        if outcome.claim is not None and outcome.claim.kind != "rollback":
            self.report_execution(outcome.claim.topic_id, outcome.claim.execution_id, found=False)

    def report_execution(self, topic_id: int, execution_id: int, found: bool) -> int:
        """Send what was not sent yet; returns how many blocks. What was `found` later may have been sent by a run that died."""
        with self.engine.partitions.reporting(topic_id, execution_id) as report:
            if report is None:
                return 0
            module = next((m for m in self.lineage.modules if m.name == report.execution["module"]), None)
            loaded = [] if module is None else self._loaded(module, report, found)
            self._send(loaded)
            if module is not None:
                self._send_checks(self._checks(module, report))
            report.sent(self.run.run_id if self.run else None)
            return len(loaded)

    def _loaded(self, module: Module, report: Report, found: bool) -> list[AssetMaterialization]:
        sent = _already_sent(self.instance, module, report) if found and protected("shown") else set()
        inputs, execution = input_keys(self.lineage, module), report.execution
        wanted = [block for block in report.blocks if block["key"] not in sent]
        # Dagster shows what the newest event says: one event of many is enough.
        columns = [{} for _ in wanted[1:]] + [self._columns(module)] * bool(wanted)
        return [materialization(module, inputs, execution, block, known) for block, known in zip(wanted, columns, strict=True)]

    def _columns(self, module: Module) -> dict[str, Any]:
        known = self.engine.columns.newest().get(module.name)
        return column_metadata(self.lineage, module, None if known is None else lineage_of_row(known))

    def check_newest(self, module: Module) -> None:
        """What the checks say of what is loaded now, where a person asks for them alone."""
        for topic in module.topics:
            blocks = self.engine.partitions.newest_blocks(topic)
            self._send_checks(self._checks_of(module, blocks[-1]) if blocks else [])

    def _checks(self, module: Module, report: Report) -> list[AssetCheckEvaluation]:
        if not report.blocks:  # a check stopped it: there is no block to count, only what the checks found
            return declared_checks(module, report.execution["checks"], f"#{report.execution['block_id']}")
        return self._checks_of(module, report.blocks[-1])

    def _checks_of(self, module: Module, block: Row) -> list[AssetCheckEvaluation]:
        status = Reports(self.engine.database).status(module.topics)
        declared = declared_checks(module, block["checks"], block["key"])
        return [*block_checks(module, block), *declared, *topic_checks(module, status)]

    def results(self) -> Iterator[AssetCheckResult]:
        """What the planned checks of the run found."""
        for name, found in self._results.items():
            if name in self.planned:
                yield AssetCheckResult(
                    asset_key=found.asset_key,
                    check_name=name,
                    passed=found.passed,
                    metadata=found.metadata,
                    severity=found.severity,
                    description=found.description,
                )

    def _send_checks(self, evaluations: Sequence[AssetCheckEvaluation]) -> None:
        """A later block that passes does not hide the one before it that failed."""
        for evaluation in evaluations:
            name = evaluation.check_name
            if name in self._results and not self._results[name].passed:
                continue
            self._results[name] = evaluation
            if name not in self.planned:
                self._send([evaluation])

    def _send(self, events: Sequence[Event]) -> None:
        send(self.instance, events, self.run)


def send(instance: DagsterInstance, events: Sequence[Event], run: DagsterRun | None) -> None:
    """As one batch: a thousand events one by one take a minute."""
    batch = uuid.uuid4().hex
    for number, event in enumerate(events, start=1):
        instance.report_dagster_event(
            _dagster_event(event, run.job_name if run else RUNLESS_JOB_NAME),
            run_id=run.run_id if run else RUNLESS_RUN_ID,
            batch_metadata=DagsterEventBatchMetadata(batch, number == len(events)) if len(events) > 1 else None,
        )


def _dagster_event(event: Event, job: str) -> DagsterEvent:
    if isinstance(event, AssetMaterialization):
        kind, payload = DagsterEventType.ASSET_MATERIALIZATION, StepMaterializationData(event, [])
    else:
        kind, payload = DagsterEventType.ASSET_CHECK_EVALUATION, event
    return DagsterEvent(event_type_value=kind.value, job_name=job, event_specific_data=payload)


def _already_sent(instance: DagsterInstance, module: Module, report: Report) -> set[str]:
    """The keys whose event a run sent before it died: it names this attempt."""
    keys = [block["key"] for block in report.blocks]
    wanted, found = str(report.execution["id"]), set[str]()
    if not keys:
        return found
    known: Any = instance.fetch_materializations(
        AssetRecordsFilter(module_key(module), asset_partitions=keys), limit=2 * len(keys)
    )
    for record in known.records:
        sent = record.asset_materialization
        if sent and sent.partition and sent.tags and sent.tags.get(EXECUTION_TAG) == wanted:
            found.add(sent.partition)
    return found
