"""One sensor per area: it observes, decides, plans, and asks for a run per due topic. Its skip reason is why the rest waits."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from dagster import (
    AssetSelection,
    DagsterInstance,
    DagsterRunStatus,
    DefaultSensorStatus,
    RunRequest,
    RunsFilter,
    SensorDefinition,
    SensorEvaluationContext,
    SensorResult,
    SkipReason,
    sensor,
)
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG

from dwh_assets.engine.engine import Engine
from dwh_assets.engine.tick import tick
from dwh_assets.model.module import Module
from dwh_assets.orchestration.names import BLOCK_TAG, BY_TAG, PRIORITY_TAG, SENSOR, TOPIC_TAG, identifier, module_key
from dwh_assets.orchestration.partitions import PartitionLists
from dwh_assets.orchestration.resources import Offsets

Row = dict[str, Any]
SECONDS = 5  # Dagster's daemon looks no more often
SEPARATOR = " ·\n"  # lines in logs; in the browser, which runs lines together, a mark between them
UNFINISHED = [
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]


def area_sensor(area: str, modules: Sequence[Module]) -> SensorDefinition:
    lists = PartitionLists()

    @sensor(
        name=f"load_{identifier(area or 'default')}",
        description=f"Loads the tables of {area or 'the default area'} as they become due; says why the others wait.",
        asset_selection=AssetSelection.assets(*[module_key(module) for module in modules]),
        minimum_interval_seconds=SECONDS,
        default_status=DefaultSensorStatus.RUNNING,
    )
    def load(context: SensorEvaluationContext, offsets: Offsets) -> SensorResult | SkipReason:
        return evaluate(context, offsets.engine, area, modules, lists)

    return load


def evaluate(
    context: SensorEvaluationContext, engine: Engine, area: str, modules: Sequence[Module], lists: PartitionLists
) -> SensorResult | SkipReason:
    """One tick of an area. Modules that this code location does not know yet wait for its reload."""
    known = {module.name: module for module in modules}
    now = tick(engine, lambda row: row["module"] in known, area, timedelta(seconds=SECONDS - 1))
    lists.sync(context.instance, engine, modules)
    running = _running(context.instance, [row["topic"] for row in now.due])
    wanted = [row for row in now.due if row["topic"] not in running]
    most = engine.settings.turn_blocks if len(now.due) > engine.settings.slots else None  # a turn, where not all have a worker
    requests = [_request(context.instance, engine, known, row, most) for row in wanted]
    reasons = [*(f"{topic}: run {run[:8]} loads it" for topic, run in running.items()), *_why(engine, now.waiting)]
    for reason in reasons if requests else ():
        context.log.info(reason)
    if requests:
        return SensorResult(run_requests=requests)
    return SkipReason(SEPARATOR.join(reasons) or f"area {area} has no active tables")


def _why(engine: Engine, waiting: Sequence[Row]) -> list[str]:
    named = engine.topics.verdicts(sorted(row["topic"] for row in waiting)) if waiting else []
    return [f"{row['topic']}: {row['verdict']}, {row['reason']}" for row in sorted(named, key=lambda row: row["topic"])]


def _running(instance: DagsterInstance, topics: Sequence[str]) -> dict[str, str]:
    """Topics that a run waits for or works on."""
    if not topics:
        return {}
    wanted = RunsFilter(statuses=UNFINISHED, tags={TOPIC_TAG: list(topics)})
    return {run.tags[TOPIC_TAG]: run.run_id for run in instance.get_runs(wanted)}


def _request(instance: DagsterInstance, engine: Engine, known: dict[str, Module], row: Row, most: int | None) -> RunRequest:
    due = engine.partitions.due(row["topic"])[:most]
    first, last = due[0], due[-1]
    tags = {TOPIC_TAG: row["topic"], BLOCK_TAG: str(first["id"]), BY_TAG: SENSOR}
    priority = {PRIORITY_TAG: str(row["priority"])} if row["priority"] else {}
    # Dagster remembers a run key for ever: it holds the number of runs before it, so one that died early is asked for again.
    before = instance.get_runs_count(RunsFilter(tags=tags))
    one = {"partition_key": first["key"]} if len(due) == 1 else {}
    several = {ASSET_PARTITION_RANGE_START_TAG: first["key"], ASSET_PARTITION_RANGE_END_TAG: last["key"]}
    return RunRequest(
        run_key=f"{row['topic']}/{first['id']}/{first['attempts']}/{before}",
        asset_selection=[module_key(known[row["module"]])],
        asset_check_keys=[],
        tags=tags | priority | ({} if one else several),
        **one,
    )


def by_area(modules: Iterable[Module]) -> dict[str, list[Module]]:
    areas: dict[str, list[Module]] = {}
    for module in modules:
        areas.setdefault(module.area, []).append(module)
    return areas
