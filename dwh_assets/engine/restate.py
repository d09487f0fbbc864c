"""Restatement and rollback: committed blocks are run again, or taken back, by one stored act that survives any crash."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dwh_assets.control.acts import ActStore
from dwh_assets.control.statements import sql
from dwh_assets.engine.attempt import Outcome, attempt
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.late import find_late_rows
from dwh_assets.model.errors import ActRefused
from dwh_assets.model.graph import order
from dwh_assets.model.module import Lineage, Module
from dwh_assets.model.position import Position
from dwh_assets.processors.processor import Processor
from dwh_assets.processors.registry import processor_named

Row = dict[str, Any]


@dataclass(frozen=True)
class Span:
    """Blocks of one topic to be run again, by sequence number."""

    topic: str
    first: int
    last: int
    blocks: int
    rows: int
    seconds: float | None = None  # about how long it takes; none where nothing is known
    from_pos: datetime | None = None
    because: str = ""


def restate(engine: Engine, lineage: Lineage, acts: ActStore, span: Span, reason: str) -> Outcome:
    """Ask for the restatement and carry it out; if this process dies, the loop finishes it."""
    acts.ask_restatement(span.topic, span.first, span.last, "restate", reason)
    return attempt(engine, lineage, span.topic, force=True)


def span_of(engine: Engine, lineage: Lineage, topic: str, first: int, last: int | None) -> Span:
    """The blocks to restate, widened where the processor needs it: end-dated tables to their end, merged tables whole."""
    module = lineage.module(topic.partition(":")[0])
    processor = processor_named(module.processor)
    refuse_merged(lineage, module, processor)
    widened_first = 1 if processor.forgets else first
    widened_last = None if processor.replaces else last
    found = engine.database.fetch_one(sql("span_of_blocks"), topic=topic, first=widened_first, last=widened_last)
    if found is None or not found["blocks"]:
        raise ActRefused(f"topic {topic} has no committed blocks from {first} to {last or 'its end'}; see `dwh blocks {topic}`.")
    if processor.whole:
        return Span(topic, found["last"], found["last"], 1, found["rows"], found["seconds"], found["from_pos"])
    return Span(topic, found["first"], found["last"], found["blocks"], found["rows"], _seconds(found), found["from_pos"])


def _seconds(found: Row) -> float | None:
    """At the topic's speed: its blocks are run in one job. Else as long as they took one by one."""
    speed = found["rows_per_second"]
    return found["rows"] / speed if speed and found["rows"] else found["seconds"]


def refuse_merged(lineage: Lineage, module: Module, processor: Processor) -> None:
    """A row that several streams were merged into names only the last of them: taken away for one, it is lost for the others.
    So is the chain of end-dated versions, where the next version came by another stream."""
    streams = sorted(m.name for m in lineage.modules if m.table == module.table)
    if processor.merges and len(streams) > 1:
        raise ActRefused(
            f"{module.table} is merged from {', '.join(streams)}: to run or take back blocks of {module.name} alone "
            "would lose what the others brought to the same rows. Nothing was changed.\n"
            "Let the source send the rows again, or build the table anew under another name."
        )


def refuse_partly_reloaded(module: Module, processor: Processor, first: int) -> None:
    """A table that is rebuilt as a whole holds the rows of its newest block only: no earlier state is left to go back to."""
    if processor.whole and first > 1:
        raise ActRefused(
            f"{module.table} is rebuilt as a whole with each block, so it cannot go back to an earlier one. "
            f"Nothing was changed.\n`dwh restate` builds it anew; `dwh rollback {module.name} --all` empties it, where allowed."
        )


def stale_spans(engine: Engine, lineage: Lineage) -> list[Span]:
    """What restatements and rollbacks have made stale, in the order in which it must be rebuilt."""
    found = {row["topic"]: row for row in engine.database.fetch(sql("stale_blocks"))}
    topics = [topic for name in order(lineage) for topic in lineage.module(name).topics if topic in found]
    return [span_of(engine, lineage, topic, found[topic]["first"], found[topic]["last"]) for topic in topics]


def late_spans(engine: Engine, lineage: Lineage, topic: str | None = None) -> list[Span]:
    """The blocks that late rows belong to, looked for now."""
    find_late_rows(engine, lineage)
    found = engine.database.fetch(sql("late_blocks"), topic=topic)
    return [span_of(engine, lineage, row["topic"], row["first"], row["last"]) for row in found]


def reset_backward(engine: Engine, lineage: Lineage, acts: ActStore, topic: str, to: Position, reason: str) -> Outcome:
    """Roll back every block beyond a block's bound; the cursor goes back with the rows."""
    row = engine.database.fetch_one(sql("block_after"), topic=topic, pos=to.pos, id=to.id)
    if row is None:
        near = engine.database.fetch(sql("bounds_near"), topic=topic, pos=to.pos)
        known = ", ".join(f"{Position(r['next_pos'], int(r['next_id']))}" for r in near)
        raise ActRefused(
            f"topic {topic}: {to} is not the end of a block. The nearest ends are {known}; see `dwh blocks {topic}`."
        )
    module = lineage.module(topic.partition(":")[0])
    processor = processor_named(module.processor)
    refuse_merged(lineage, module, processor)
    refuse_partly_reloaded(module, processor, row["seq"])
    acts.ask_restatement(topic, row["seq"], row["last"], "rollback", reason)
    return attempt(engine, lineage, topic, force=True)
