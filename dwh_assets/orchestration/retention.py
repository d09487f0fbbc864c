"""Retention of what Dagster remembers: old runs and their events go, as long as the UI shows nothing less for it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from dagster import AssetKey, AssetMaterialization, DagsterEventType, DagsterInstance, DagsterRunStatus, RunsFilter

from dwh_assets.config.settings import Settings
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.jobs import Report, Result, run_job
from dwh_assets.model.module import Lineage
from dwh_assets.orchestration.names import module_key
from dwh_assets.orchestration.specs import partitions_of

TASK = "dagster"
PAGE = 500
ENDED = [DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED]
Shown = dict[AssetKey, set[str]]


def retain(engine: Engine, lineage: Lineage, report: Report, rehearsal: bool = False) -> Result:
    """Delete the runs of this warehouse's Dagster that ended long ago; nothing where it has none."""
    folder = _folder(engine.settings)
    if not (folder / "dagster.yaml").exists():
        return Result(TASK, "", {"runs": 0}, "this warehouse has no Dagster yet")
    before = engine.database.clock() - engine.settings.dagster_for
    with DagsterInstance.from_config(str(folder)) as instance:
        if rehearsal:
            return Result(TASK, "", {"runs": len(list(old_runs(instance, lineage, before)))})
        return run_job(engine, TASK, "", lambda job: prune_runs(instance, lineage, before, report))


def prune_runs(instance: DagsterInstance, lineage: Lineage, before: datetime, report: Report) -> Result:
    found = list(old_runs(instance, lineage, before))  # all of them first: a page is found by the last run of the one before it
    for number, run_id in enumerate(found, start=1):
        instance.delete_run(run_id)
        report(TASK, number, len(found))
    return Result(TASK, "", {"runs": len(found)})


def old_runs(instance: DagsterInstance, lineage: Lineage, before: datetime) -> Iterator[str]:
    """Runs that were asked for before a moment and have ended, oldest first.

    Not those whose partitions are still listed: with the event of its run a loaded partition would be shown as missing (R11).
    """
    shown = _shown(instance, lineage)
    for run_id in _runs(instance, before):
        if not any(_is_shown(event, shown) for event in _materializations(instance, run_id)):
            yield run_id


def _runs(instance: DagsterInstance, before: datetime) -> Iterator[str]:
    cursor = None
    wanted = RunsFilter(statuses=ENDED, created_before=before)
    while page := instance.get_run_records(wanted, limit=PAGE, ascending=True, cursor=cursor):
        yield from (record.dagster_run.run_id for record in page)
        cursor = page[-1].dagster_run.run_id


def _shown(instance: DagsterInstance, lineage: Lineage) -> Shown:
    names = {module_key(module): partitions_of(module).name or "" for module in lineage.modules}
    return {key: set(instance.get_dynamic_partitions(name)) for key, name in names.items()}


def _is_shown(event: AssetMaterialization, shown: Shown) -> bool:
    return event.partition in shown.get(event.asset_key, set())


def _materializations(instance: DagsterInstance, run_id: str) -> Iterator[AssetMaterialization]:
    cursor, more = None, True
    while more:
        page = instance.get_records_for_run(run_id, cursor, DagsterEventType.ASSET_MATERIALIZATION, PAGE)
        yield from (found for record in page.records if (found := record.asset_materialization))
        cursor, more = page.cursor, page.has_more


def _folder(settings: Settings) -> Path:
    return settings.home / "dagster"
