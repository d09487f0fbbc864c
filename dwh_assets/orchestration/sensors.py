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
from dwh_assets.orchestration.partitions import PartitionLists, listed_keys, live_blocks
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
    asked = {row["topic"]: _request(context.instance, engine, known[row["module"]], row, most) for row in wanted}
    requests = [request for request in asked.values() if request]
    gone = [topic for topic, request in asked.items() if not request]
    reasons = [
        *(f"{topic}: run {run[:8]} loads it" for topic, run in running.items()),
        *(f"{topic}: what was due has changed since; the next tick looks again" for topic in gone),
        *_why(engine, now.waiting),
    ]
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


def _request(instance: DagsterInstance, engine: Engine, module: Module, row: Row, most: int | None) -> RunRequest | None:
    """None if what was due is not there any more: someone has loaded it, or taken it back, since the tick looked."""
    due = engine.partitions.due(row["topic"])
    keys = _keys(instance, engine, module, row["topic"], due)[:most]
    if not keys:
        return None
    first = due[0]
    tags = {TOPIC_TAG: row["topic"], BLOCK_TAG: str(first["id"]), BY_TAG: SENSOR}
    priority = {PRIORITY_TAG: str(row["priority"])} if row["priority"] else {}
    # Dagster remembers a run key for ever: it holds the number of runs before it, so one that died early is asked for again.
    before = instance.get_runs_count(RunsFilter(tags=tags))
    one = keys[0] if len(keys) == 1 else None
    several = {ASSET_PARTITION_RANGE_START_TAG: keys[0], ASSET_PARTITION_RANGE_END_TAG: keys[-1]}
    return RunRequest(
        run_key=f"{row['topic']}/{first['id']}/{first['attempts']}/{before}",
        asset_selection=[module_key(module)],
        asset_check_keys=[],
        partition_key=one,
        tags=tags | priority | ({} if one else several),
    )


def _keys(instance: DagsterInstance, engine: Engine, module: Module, topic: str, due: Sequence[Row]) -> list[str]:
    """What the run is asked for by: the keys of its blocks, as far as Dagster lists them, for it refuses others.

    A restatement may be of retired blocks only. Its run is named after the oldest block of the topic that is listed: it is loaded
    already, so that the run carries out the restatement and loads nothing beyond it.
    """
    listed, wanted = listed_keys(instance, module), {row["key"] for row in due}
    found = [key for key in listed if key in wanted]
    if found or not due:
        return found
    newer = {row["key"] for row in live_blocks(engine, module) if row["topic"] == topic and row["seq"] > due[-1]["seq"]}
    return [key for key in listed if key in newer][:1]


def by_area(modules: Iterable[Module]) -> dict[str, list[Module]]:
    areas: dict[str, list[Module]] = {}
    for module in modules:
        areas.setdefault(module.area, []).append(module)
    return areas
