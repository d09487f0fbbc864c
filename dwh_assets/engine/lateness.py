"""How late the rows of the sources become visible: observed now and then, counted by delay, the evidence of `dwh advise`."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from dwh_assets.engine.engine import Engine
from dwh_assets.model.errors import ControlStoreDown, DwhError
from dwh_assets.model.lateness import IN_ORDER, bucket_of, spread
from dwh_assets.model.module import Lineage, SourceTable
from dwh_assets.model.position import MICROSECOND
from dwh_assets.sources.arriving import Arrival, arrivals

logger = logging.getLogger(__name__)
Row = dict[str, Any]


def observe_lateness(engine: Engine, lineage: Lineage) -> None:
    """Count what has appeared in each source since the last look; one that fails stalls no other."""
    seen = engine.lateness.seen()
    looks = {row["name"]: row for row in engine.sources.observations()}
    for source in lineage.sources:
        if not source.active or source.events is not None:
            continue  # events get their position when they are taken in: none is late
        try:
            if source.kind == "iceberg":
                _observe_files(engine, lineage, source, seen.get(source.name))
            else:
                _observe_newest(engine, source, looks[source.name], seen.get(source.name))
        except ControlStoreDown:
            raise
        except DwhError as error:
            logger.warning("how late the rows of %s come could not be observed: %s", source.name, error)


def _observe_files(engine: Engine, lineage: Lineage, source: SourceTable, before: Row | None) -> None:
    """By the files that snapshots have added: when each was committed, and the positions between which its rows lie."""
    found = arrivals(engine.source(source.name, lineage), None if before is None else before["snapshot_id"])
    if found is None:
        return
    if before is None:
        engine.lateness.begin(source.name, found.head, None, found.newest)
    else:
        passed, counts = counted(found.files, before["passed"])
        engine.lateness.note(before, found.head, None, passed or found.newest, "rows", counts)


def counted(files: Sequence[Arrival], passed: datetime | None) -> tuple[datetime | None, dict[int, int]]:
    """How late the rows of these files came, in the order of their commits, and the greatest position after them.

    Rows beyond all that was visible before came in order: no reader has passed them, so that they need no delay. Of a file that
    lies on both sides its rows are taken to lie evenly between its bounds.
    """
    counts = Counter[int]()
    for commit in sorted({file.committed_at for file in files}):
        together = [file for file in files if file.committed_at == commit]
        for file in together:
            counts.update(_lateness_of(file, passed))
        newest = max(file.upper for file in together)
        passed = newest if passed is None else max(passed, newest)
    return passed, dict(counts)


def _lateness_of(file: Arrival, passed: datetime | None) -> dict[int, int]:
    if passed is None or file.lower > passed:
        return {IN_ORDER: file.rows}
    last = min(file.upper, passed)
    late = file.rows if last == file.upper else max(1, file.rows * ((last - file.lower) // MICROSECOND + 1) // _width(file))
    found = spread(file.committed_at - last, file.committed_at - file.lower, late)
    return found | ({IN_ORDER: file.rows - late} if file.rows > late else {})


def _width(file: Arrival) -> int:
    return (file.upper - file.lower) // MICROSECOND + 1


def _observe_newest(engine: Engine, source: SourceTable, look: Row, before: Row | None) -> None:
    """Of a table without a history: how old its newest row was, each time it was seen to have moved."""
    changed_at, newest = look["changed_at"], look["newest_pos"]
    if changed_at is None or newest is None:
        return
    if before is None:
        engine.lateness.begin(source.name, None, changed_at, newest)
    elif changed_at != before["changed_at"]:
        engine.lateness.note(before, None, changed_at, newest, "looks", {bucket_of(changed_at - newest): 1})


def note_late_rows(engine: Engine, source: str, below: datetime, rows: int) -> None:
    """Rows that were found in a block's range after it was read, in a table that does not say when they came: as late as they
    can be, since where in the range they lie is not known."""
    engine.lateness.add(source, "rows", bucket_of(engine.database.clock() - below), rows)
