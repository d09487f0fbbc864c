"""Late rows: base rows that appeared at or below a committed cursor (S53). Found, counted, shown; loaded by a restatement."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import Any

from dwh_assets.control.blocks import block_of
from dwh_assets.control.events import log_event
from dwh_assets.control.statements import sql
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.lateness import note_late_rows
from dwh_assets.engine.plan import CUT_OTHERWISE
from dwh_assets.model.errors import ControlStoreDown, DwhError
from dwh_assets.model.module import Lineage, Module
from dwh_assets.model.position import EARLIEST, MAX_ID, Bounds, Position
from dwh_assets.processors.registry import processor_named
from dwh_assets.sources.source import Fingerprint, ReadRange

logger = logging.getLogger(__name__)
Row = dict[str, Any]
BLOCKS = 1000  # newest committed blocks of a topic that are watched


def find_late_rows(engine: Engine, lineage: Lineage) -> dict[str, int]:
    """Count late rows in the newest blocks of every topic; returns the topics that have some."""
    modules = _watched(lineage)
    by_topic: dict[tuple[str, str, str | None], list[Row]] = defaultdict(list)
    for row in engine.database.fetch(sql("watched_blocks"), blocks=BLOCKS):
        if row["module"] in modules:
            by_topic[row["topic"], row["module"], row["shard"]].append(row)
    found = find_overlooked_rows(engine, lineage)
    for (topic, module, shard), rows in by_topic.items():
        count = _find(engine, lineage, modules[module], topic, shard, rows)
        if count:
            found[topic] = found.get(topic, 0) + count
    return found


def _watched(lineage: Lineage) -> dict[str, Module]:
    return {m.name: m for m in lineage.modules if m.active and not processor_named(m.processor).whole}


def find_overlooked_rows(engine: Engine, lineage: Lineage) -> dict[str, int]:
    """Let topics be searched again from their cursor that have rows in no block, so that these are planned like others."""
    found = overlooked(engine, lineage, _watched(lineage))
    for row, count in found:
        _search_again(engine, row, count)
    return {row["topic"]: count for row, count in found}


def overlooked(engine: Engine, lineage: Lineage, modules: dict[str, Module]) -> list[tuple[Row, int]]:
    """Rows that belong to no block: they came after their topic was told to be complete, and nothing newer came since."""
    found = []
    for row in engine.database.fetch(sql("dry_ranges")):
        module = modules.get(row["module"])
        if module is None or module.processor in CUT_OTHERWISE or not base_is_append_only(lineage, module.base):
            continue
        if count := _overlooked(engine, lineage, module, row):
            found.append((row, count))
    return found


def _overlooked(engine: Engine, lineage: Lineage, module: Module, row: Row) -> int:
    last, examined = Position(row["last_pos"], int(row["last_id"])), Position(row["examined"], MAX_ID)
    try:
        source = engine.source(module.base, lineage, module)
        return source.fingerprint(Bounds(last, examined), source.snapshot(), row["shard"]).rows
    except ControlStoreDown:
        raise
    except DwhError as error:
        logger.warning("rows beyond the cursor of %s could not be counted: %s", row["topic"], error)
        return 0


def _search_again(engine: Engine, row: Row, count: int) -> None:
    text = f"{count} rows came after {row['topic']} was complete up to {row['examined']}; they are loaded now"
    with engine.database.transaction() as connection:
        connection.execute(sql("forget_examined"), {"topic_id": row["topic_id"]})
        log_event(connection, "LATE", text, who=engine.worker, kind="information", topic=row["topic"])


def _find(engine: Engine, lineage: Lineage, module: Module, topic: str, shard: str | None, rows: list[Row]) -> int:
    if not base_is_append_only(lineage, module.base):
        return 0
    ranges = [_range(row, module.base) for row in rows]
    try:
        late = engine.source(module.base, lineage, module).late(ranges, shard)
    except ControlStoreDown:
        raise
    except DwhError as error:
        logger.warning("late rows of %s could not be counted: %s", topic, error)
        return 0
    known = {row["id"]: row["late_rows"] for row in rows}
    for block_id, count in late.items():
        if count != known[block_id]:
            _note(engine, topic, block_id, count)
            _note_lateness(
                engine, lineage, module.base, next(row for row in rows if row["id"] == block_id), count - known[block_id]
            )
    return sum(late.values())


def _range(row: Row, base: str) -> ReadRange:
    block = block_of(row)
    return block.id, block.bounds, row["inputs"].get(base), Fingerprint(block.base_rows or 0, block.hash_sum or 0)


def _note(engine: Engine, topic: str, block_id: int, count: int) -> None:
    text = f"{count} late rows lie in the range of block #{block_id}; dwh restate {topic} --late loads them"
    with engine.database.transaction() as connection:
        connection.execute(sql("note_late_rows"), {"block_id": block_id, "count": count})
        if count:
            log_event(connection, "LATE", text, who=engine.worker, kind="information", topic=topic, block_id=block_id)


def _note_lateness(engine: Engine, lineage: Lineage, base: str, row: Row, more: int) -> None:
    """For `dwh advise`; the files of an Iceberg table say it better."""
    source = next((s for s in lineage.sources if s.name == base), None)
    if source is not None and source.kind == "postgres" and more > 0:
        below = row["last_pos"] if row["last_pos"] > EARLIEST.pos else row["next_pos"]
        note_late_rows(engine, base, below, more)


def base_is_append_only(lineage: Lineage, base: str) -> bool:
    """Rows of a base that is upserted, end-dated or reloaded move or vanish: its old ranges cannot be counted again."""
    builders = [m for m in lineage.modules if m.table == base]
    return all(not processor_named(m.processor).replaces for m in builders)
