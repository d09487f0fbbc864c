"""Sweep: what lost processes left Executing is ended, and the branches of attempts that are over are dropped."""

from __future__ import annotations

import logging

from dwh_assets.control.statements import sql
from dwh_assets.engine.engine import Engine
from dwh_assets.model.module import Lineage
from dwh_assets.warehouse.branches import drop, live

logger = logging.getLogger(__name__)


def sweep(engine: Engine, lineage: Lineage) -> None:
    """Now and then, by whoever drives the warehouse. Lost attempts at blocks are ended by the next claim of their topic."""
    engine.batches.end_lost()
    engine.commands.end_lost()
    sweep_branches(engine, lineage)


def sweep_branches(engine: Engine, lineage: Lineage) -> list[str]:
    """Drop the branches of dead attempts; those of running attempts, of parked blocks and of running maintenance stay."""
    tables = [table for table in lineage.tables if engine.catalog.exists(table)]
    # Branches first, attempts second: one that forks in between is not in the list, so its branch is not taken for a dead one.
    found = [(table, branch) for table in tables for branch in live(engine.catalog, table)]
    kept = _needed(engine) if found else set()
    abandoned = [(table, branch) for table, branch in found if branch not in kept]
    for table, branch in abandoned:
        drop(engine.catalog, table, branch)
    dropped = [f"{table}@{branch}" for table, branch in abandoned]
    if dropped:
        logger.info("dropped the branches of dead attempts: %s", ", ".join(dropped))
    return dropped


def _needed(engine: Engine) -> set[str]:
    return {f"x{row['id']}" for row in engine.database.fetch(sql("needed_executions"))} | engine.maintenance.live_branches()
