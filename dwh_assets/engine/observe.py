"""Observe: what the sources hold now, and how far the topics are that have nothing to do."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from dwh_assets.engine.engine import Engine
from dwh_assets.model.errors import ControlStoreDown, in_words
from dwh_assets.model.module import Lineage, SourceTable


def observe(engine: Engine, lineage: Lineage, names: Collection[str] | None = None, age: timedelta = timedelta()) -> None:
    """Store the watermark of every source, or of those named; one that fails keeps what was known of it and stalls no other.

    Those that were observed less than `age` ago are left alone: several sensors may watch the same source.
    """
    now = engine.database.clock()
    recent = {row["name"] for row in engine.sources.observations() if row["seen_at"] and now - row["seen_at"] < age}
    for source in lineage.sources:
        if source.active and source.name not in recent and (names is None or source.name in names):
            _observe(engine, lineage, source, now)
    engine.topics.advance_dry()


def _observe(engine: Engine, lineage: Lineage, source: SourceTable, now: datetime) -> None:
    try:
        seen = engine.source(source.name, lineage).observe(now)
    except ControlStoreDown:
        raise
    except Exception as error:  # noqa: BLE001 - it is written down, and one bad source stalls no other
        engine.sources.failed(source.name, in_words(error))
    else:
        engine.sources.observed(source.name, seen.watermark, seen.newest, now, seen.problem)
        for module in lineage.modules if seen.pending else ():
            if module.base == source.name and seen.pending >= module.maxstep:
                engine.ingest.expect_full(module.name)
