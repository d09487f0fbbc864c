"""Rollback: what it would take back, what was built upon it, and how it is carried out, downstream first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dwh_assets.control.acts import ActStore
from dwh_assets.control.statements import sql
from dwh_assets.engine.attempt import Outcome, attempt
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.restate import refuse_merged, refuse_partly_reloaded
from dwh_assets.model.errors import ActRefused
from dwh_assets.model.graph import downstream, order
from dwh_assets.model.module import Lineage, Module
from dwh_assets.model.position import MICROSECOND
from dwh_assets.processors.registry import processor_named

Row = dict[str, Any]
Carry = Callable[[str, Callable[[], Outcome]], Outcome]


@dataclass(frozen=True)
class Taken:
    """The blocks of one topic that a rollback takes back; of a reloaded table none: its newest block becomes stale instead."""

    topic: str
    target: str
    first: int
    blocks: tuple[Row, ...]
    from_pos: datetime  # of the first row that goes
    upon: str = ""  # the topic whose rows it was built upon; none for the one that was asked for
    reloaded: bool = False

    @property
    def rows(self) -> int:
        return sum(block["rows"] for block in self.blocks)


@dataclass(frozen=True)
class Plan:
    asked: Taken
    others: tuple[Taken, ...]  # built upon it, each before what it was built upon

    @property
    def steps(self) -> tuple[Taken, ...]:
        """What is carried out, downstream first."""
        return tuple(taken for taken in (*self.others, self.asked) if taken.blocks and not taken.reloaded)


def plan_rollback(engine: Engine, lineage: Lineage, topic: str, first: int, end: datetime) -> Plan:
    """What goes if a topic is taken back from a block on; `end` is where the block before it ends. Changes nothing."""
    asked = _taken(engine, lineage, topic, first, end)
    found, waiting = {topic: asked}, [asked]
    while waiting:
        cause = waiting.pop()
        for row in engine.database.fetch(sql("built_upon"), table=cause.target, from_pos=cause.from_pos):
            known = found.get(row["topic"])
            if known is None or row["first"] < known.first:
                found[row["topic"]] = _taken(engine, lineage, row["topic"], row["first"], cause.from_pos, cause.topic)
                waiting.append(found[row["topic"]])
    others = (found[name] for name in _topics_below(lineage, asked.target) if name in found)
    return Plan(asked, tuple(taken for taken in others if asked.blocks or not taken.reloaded))


def _taken(engine: Engine, lineage: Lineage, topic: str, first: int, end: datetime, upon: str = "") -> Taken:
    module = _module(lineage, topic)
    processor = processor_named(module.processor)
    refuse_merged(lineage, module, processor)
    blocks = tuple(engine.database.fetch(sql("blocks_to_take_back"), topic=topic, first=first))
    reloaded = processor.whole and bool(upon)
    if not reloaded:
        refuse_partly_reloaded(module, processor, first)
    begins = [block["min_pos"] for block in blocks if block["min_pos"]] or [block["last_pos"] for block in blocks[:1]]
    from_pos = min(begins) if begins else end + MICROSECOND
    return Taken(topic, module.table, first, blocks, from_pos, upon, reloaded)


def _module(lineage: Lineage, topic: str) -> Module:
    name = topic.partition(":")[0]
    module = next((m for m in lineage.modules if m.name == name), None)
    if module is None or not module.active:
        raise ActRefused(
            f"{topic} is switched off, so its blocks cannot be taken back. Nothing was changed.\n"
            "Say active: true in its file, `dwh lineage apply`, then ask again."
        )
    return module


def require_carried(plan: Plan, cascade: bool) -> None:
    """Refuse what would pull rows away from under others, and what would do nothing."""
    if not plan.steps:
        raise ActRefused(f"{plan.asked.topic} has no finished block from number {plan.asked.first} on: nothing to take back.")
    if plan.others and not cascade:
        named = "\n".join(f"  {taken.topic}: {_numbers(taken.blocks)}" for taken in plan.others)
        raise ActRefused(
            f"{plan.asked.topic}: others have built upon the blocks that would go. Nothing was changed. Built upon them were\n"
            f"{named}\n`--cascade` takes these back, too, and leaves tables that are rebuilt as a whole stale until they are."
        )


def _numbers(blocks: Sequence[Row]) -> str:
    shown = ", ".join(f"#{block['id']}" for block in blocks[:10])
    return shown + (f" and {len(blocks) - 10} more" if len(blocks) > 10 else "")


def first_of_execution(engine: Engine, topic: str, execution_id: int) -> int:
    """The first block that an execution wrote, as a sequence number."""
    row = engine.database.fetch_one(sql("first_block_of_execution"), execution_id=execution_id)
    if row is None:
        raise ActRefused(f"there is no execution {execution_id}; `dwh block N` lists those of a block. Nothing was changed.")
    if row["topic"] != topic:
        raise ActRefused(f"execution {execution_id} belongs to {row['topic']}, not to {topic}. Nothing was changed.")
    if row["first"] is None:
        raise ActRefused(
            f"execution {execution_id} of {topic} ended as {row['execution_code']}, and no block holds rows of it: "
            "they were never published, or were taken back or replaced since. Nothing was changed."
        )
    return row["first"]


def require_truncate(engine: Engine, target: str) -> None:
    row = engine.database.fetch_one(sql("may_truncate"), target=target)
    if row is None or not row["allow_truncate"]:
        raise ActRefused(
            f"{target} may not be emptied: its file does not say allow_truncate: true. Nothing was changed.\n"
            f"Say so there and `dwh lineage apply`, or take back a part with --to BLOCK."
        )


def carry_out_rollback(engine: Engine, lineage: Lineage, acts: ActStore, plan: Plan, reason: str, carry: Carry) -> list[Taken]:
    """Take back everything of a plan, each topic by a stored act of its own; returns what was taken back, in order.

    Downstream first: a crash in between leaves tables that are behind and load again, never rows whose base is gone. A loop
    that runs beside us may load such a table again before its base is taken back; that commit marks the new blocks stale, and
    they are taken back in the next round. A base that is back lets no more of them come, so each round settles a level.
    """
    done: list[Taken] = []
    steps = plan.steps
    while steps:
        for taken in steps:
            why = f"built upon {taken.upon}: {reason}" if taken.upon else reason
            carry(taken.topic, lambda taken=taken, why=why: _ask(engine, lineage, acts, taken, why))
            done.append(taken)
        steps = _left_over(engine, lineage, plan.asked) if plan.others else ()
    return done


def _left_over(engine: Engine, lineage: Lineage, asked: Taken) -> tuple[Taken, ...]:
    """What was built upon rows that are gone, while they went: the stale blocks downstream, last tables first."""
    found = []
    for topic in _topics_below(lineage, asked.target):
        row = engine.database.fetch_one(sql("first_stale_block"), topic=topic, from_pos=asked.from_pos)
        if row is not None and row["first"] is not None:
            found.append(_taken(engine, lineage, topic, row["first"], asked.from_pos, asked.topic))
    return tuple(taken for taken in found if not taken.reloaded)


def _topics_below(lineage: Lineage, table: str) -> list[str]:
    """The topics of active modules that wait for a table, directly or not, each before those that it waits for."""
    tables = set(downstream(lineage, table))
    modules = [lineage.module(name) for name in reversed(order(lineage))]
    return [topic for module in modules if module.active and module.table in tables for topic in module.topics]


def _ask(engine: Engine, lineage: Lineage, acts: ActStore, taken: Taken, reason: str) -> Outcome:
    acts.ask_restatement(taken.topic, taken.first, taken.blocks[-1]["seq"], "rollback", reason)
    return attempt(engine, lineage, taken.topic, force=True)
