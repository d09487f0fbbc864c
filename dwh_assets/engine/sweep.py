"""Sweep: branches of attempts that are over, and whose rows nobody needs to look at, are dropped."""

from __future__ import annotations

import logging

from dwh_assets.control.statements import sql
from dwh_assets.engine.engine import Engine
from dwh_assets.model.module import Lineage
from dwh_assets.warehouse.branches import drop_abandoned

logger = logging.getLogger(__name__)


def sweep_branches(engine: Engine, lineage: Lineage) -> list[str]:
    """Drop the branches of dead attempts; those of running attempts and of parked blocks stay."""
    kept = {f"x{row['id']}" for row in engine.database.fetch(sql("needed_executions"))}
    dropped = []
    for table in sorted({module.table for module in lineage.modules}):
        if engine.catalog.exists(table):
            dropped += [f"{table}@{branch}" for branch in drop_abandoned(engine.catalog, table, kept)]
    if dropped:
        logger.info("dropped the branches of dead attempts: %s", ", ".join(dropped))
    return dropped
