"""Plan: the next blocks of a topic, cut at row boundaries below its horizon and stored before any of them is read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from dwh_assets.control.topics import PlannedBlock, PlanningState
from dwh_assets.engine.engine import Engine
from dwh_assets.model.errors import ControlStoreDown, in_words
from dwh_assets.model.module import Lineage, Module
from dwh_assets.model.position import MICROSECOND
from dwh_assets.model.sizing import next_blocks
from dwh_assets.processors.registry import processor_named
from dwh_assets.sources.source import Cut

Row = dict[str, Any]
PLANNABLE = ("DUE", "DUE_FULL", "LOCKED")
CUT_OTHERWISE = ("range", "reload", "ingest")  # not at rows below the horizon: spans of time, all rows, offsets


def plan(engine: Engine, lineage: Lineage, verdicts: Sequence[Row]) -> int:
    """Plan every topic that wants blocks; one that fails is held back and stalls no other. Returns how many were stored."""
    modules = {module.name: module for module in lineage.modules}
    return sum(_plan_or_hold_back(engine, lineage, modules[row["module"]], row) for row in verdicts if wants_blocks(row, modules))


def wants_blocks(row: Row, modules: dict[str, Module]) -> bool:
    """There may be unplanned rows below the horizon, and the stored plan is not long enough."""
    if row["verdict"] not in PLANNABLE or not row["unexamined"] or row["module"] not in modules:
        return False
    if row["verdict"] == "LOCKED" or row["planned"]:
        return row["last_planned_full"] and row["planned"] < modules[row["module"]].ahead // 2
    return True


def _plan_or_hold_back(engine: Engine, lineage: Lineage, module: Module, row: Row) -> int:
    try:
        return plan_topic(engine, lineage, module, row)
    except ControlStoreDown:
        raise
    except Exception as error:  # noqa: BLE001 - it is written down, and one bad topic stalls no other
        engine.topics.fail_plan(row, in_words(error), engine.worker)
        return 0


def plan_topic(engine: Engine, lineage: Lineage, module: Module, row: Row) -> int:
    state = engine.topics.planning_state(row["topic_id"])
    if state is None or (state.rows_per_second is None and _begun(row)):
        return 0
    upto, cuts = _horizon(engine, lineage, module, row, state)
    if cuts is None:
        return 0
    blocks = [PlannedBlock(cut.next, cut.rows, cut.takes_all, cut.contents) for cut in cuts]
    examined = upto if not cuts or cuts[-1].takes_all else cuts[-1].next.pos - MICROSECOND
    stored = engine.topics.store_plan(row["topic_id"], state, blocks, upto, examined)
    return len(blocks) if stored else 0


def _horizon(
    engine: Engine, lineage: Lineage, module: Module, row: Row, state: PlanningState
) -> tuple[datetime, list[Cut] | None]:
    """Rows that came after the topic was told to be complete get blocks of their own: what has read on without them is stale."""
    upto: datetime = row["upto"]
    told = state.watermark
    if told is not None and state.tail.pos < told < upto and module.processor not in CUT_OTHERWISE:
        late = _cut(engine, lineage, module, row, state, told)
        if late is None or late:
            return told, late
    return upto, _cut(engine, lineage, module, row, state, upto)


def _begun(row: Row) -> bool:
    """A first block is on its way: its figure sizes the rest, so they wait for it."""
    return bool(row["planned"] or row["open_block"])


def _cut(engine: Engine, lineage: Lineage, module: Module, row: Row, state: PlanningState, upto: datetime) -> list[Cut] | None:
    """The next blocks; None where enough are planned."""
    wanted = next_blocks(
        module.maxstep, module.stretch, module.ahead, state.planned, state.rows_per_second, engine.settings.block_seconds
    )
    if not wanted.count:
        return None
    source = engine.source(module.base, lineage, module)
    return processor_named(module.processor).cut(source, state.tail, upto, wanted, module, row["shard"])
