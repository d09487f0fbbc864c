"""A backfill before it begins: how many rows and blocks wait for a topic, and how long they should take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from dwh_assets.control.reports import Reports
from dwh_assets.control.statements import sql
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.observe import observe
from dwh_assets.model.errors import ActRefused
from dwh_assets.model.module import Lineage, Module
from dwh_assets.model.position import Position
from dwh_assets.model.sizing import next_blocks
from dwh_assets.processors.registry import processor_named
from dwh_assets.sources.counting import rows_waiting

LIKE = (
    ("own", "its own blocks"),
    ("same_base", "topics that read {base}"),
    ("same_processor", "topics of processor {processor}"),
)


@dataclass(frozen=True)
class Forecast:
    """What a backfill will be, from statistics: `rows_per_second` is None where nothing like it was loaded yet."""

    topic: str
    cursor: Position
    upto: datetime | None
    rows: int
    blocks: int
    rows_per_second: float | None
    rate_of: str

    @property
    def takes(self) -> timedelta | None:
        return timedelta(seconds=self.rows / self.rows_per_second) if self.rows_per_second else None


def forecast(engine: Engine, lineage: Lineage, topic: str) -> Forecast:
    """Looks at the sources and at what is known of their rows; reads none of them."""
    module = lineage.module(topic.partition(":")[0])
    _require_steps(module, topic)
    observe(engine, lineage, set(module.inputs))
    row = Reports(engine.database).status([topic])[0]
    if row["last_pos"] is None:
        raise ActRefused(f"topic {topic} has no cursor yet; say where it begins: --from earliest or a day. Nothing was changed.")
    cursor = Position(row["last_pos"], int(row["last_id"]))
    rows = 0
    if row["upto"] is not None and row["upto"] > cursor.pos:
        rows = rows_waiting(engine.source(module.base, lineage, module), cursor, row["upto"], row["shard"])
    rate, rate_of = _rate(engine, module, topic)
    plan = next_blocks(module.maxstep, module.stretch, module.ahead, 0, rate, engine.settings.block_seconds)
    return Forecast(topic, cursor, row["upto"], rows, math.ceil(rows / plan.size), rate, rate_of)


def _rate(engine: Engine, module: Module, topic: str) -> tuple[float | None, str]:
    known = engine.database.fetch_one(sql("like_rates"), topic=topic) or {}
    for name, text in LIKE:
        if known.get(name):
            return float(known[name]), text.format(base=module.base, processor=module.processor)
    return None, "nothing like it was loaded yet"


def _require_steps(module: Module, topic: str) -> None:
    if processor_named(module.processor).whole:
        raise ActRefused(
            f"{topic} is rebuilt as a whole with each block, so there is nothing to backfill. Nothing was changed.\n"
            f"`dwh restate {topic} --from 1 --reason ...` builds it anew."
        )
