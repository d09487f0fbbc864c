"""Sweep: what is looked after now and then, beside the loading. What cannot be done is written down and stalls nothing else."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from dwh_assets.control.events import note_problem
from dwh_assets.control.statements import sql
from dwh_assets.engine.columns import note_loaded
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.late import find_late_rows
from dwh_assets.engine.lateness import observe_lateness
from dwh_assets.model.errors import ControlStoreDown, in_words
from dwh_assets.model.module import Lineage
from dwh_assets.warehouse.branches import drop, live
from dwh_assets.warehouse.expiring import expire

logger = logging.getLogger(__name__)


def sweep(engine: Engine, lineage: Lineage, columns: bool = True) -> None:
    """By whoever drives the warehouse: end what lost processes left Executing, drop the branches of dead attempts, look for late
    rows, how late rows come, and where columns come from. Lost attempts at blocks are ended by the next claim of their topic."""
    engine.batches.end_lost()
    engine.commands.end_lost()
    sweep_branches(engine, lineage)
    with _going_on(engine, "late rows could not be looked for"):
        find_late_rows(engine, lineage)
    with _going_on(engine, "how late rows come could not be observed"):
        observe_lateness(engine, lineage)
    if columns:
        with _going_on(engine, "where columns come from could not be noted"):
            note_loaded(engine, lineage)


def sweep_branches(engine: Engine, lineage: Lineage) -> list[str]:
    """Drop the branches of dead attempts; those of running attempts, of parked blocks and of running maintenance stay."""
    # Branches first, attempts second: one that forks in between is not in the list, so its branch is not taken for a dead one.
    found = [(table, branch) for table in lineage.tables for branch in _branches(engine, table)]
    kept = _needed(engine) if found else set()
    dropped: list[str] = []
    for table, branch in found:
        if branch not in kept:
            with _going_on(engine, f"table {table}: a branch of a dead attempt could not be dropped"):
                drop(engine.catalog, table, branch)
                dropped.append(f"{table}@{branch}")
    if dropped:
        logger.info("dropped the branches of dead attempts: %s", ", ".join(dropped))
    return dropped


def shorten(engine: Engine, table: str, rehearsal: bool = False) -> tuple[int, int]:
    """Forget snapshots that nobody reads any more; how many went and how many stay."""
    before, most = engine.database.clock() - engine.settings.snapshots_for, engine.settings.snapshots_most
    return expire(engine.catalog, table, before, most, lambda: engine.maintenance.needed_snapshots(table), rehearsal)


def _branches(engine: Engine, table: str) -> list[str]:
    found: list[str] = []
    with _going_on(engine, f"table {table} could not be looked at"):
        if engine.catalog.exists(table):
            found += live(engine.catalog, table)
            _shorten_if_long(engine, table)
    return found


def _shorten_if_long(engine: Engine, table: str) -> None:
    """A table that changes every second has more snapshots by tonight than its commits can carry: they are not left to the
    next maintenance. A tenth more is let be, so that it is not done at each sweep."""
    if len(engine.catalog.load(table).metadata.snapshots) > 1.1 * engine.settings.snapshots_most:
        gone, kept = shorten(engine, table)
        logger.info("table %s: forgot its %d oldest snapshots, %d are kept", table, gone, kept)


@contextmanager
def _going_on(engine: Engine, what: str) -> Iterator[None]:
    """A damaged table, or a transform that is gone, is told to people; the rest is looked after, and loaded, all the same."""
    try:
        yield
    except ControlStoreDown:
        raise
    except Exception as error:  # noqa: BLE001 - it is written down
        text = f"{what}: {in_words(error)}"
        logger.warning("%s", text)
        note_problem(engine.database, text, engine.worker)


def _needed(engine: Engine) -> set[str]:
    return {f"x{row['id']}" for row in engine.database.fetch(sql("needed_executions"))} | engine.maintenance.live_branches()
