"""Keep (S14): rows that are older than their module says go, by whole blocks, once nobody needs them."""

from __future__ import annotations

from functools import partial

from dwh_assets.control.maintenance import Expiry, Job
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.exchange import exchange
from dwh_assets.engine.jobs import Report, Result, run_job
from dwh_assets.model.errors import DamagedData, PointerTaken
from dwh_assets.model.module import Lineage, Module
from dwh_assets.warehouse.branches import Fork
from dwh_assets.warehouse.swapping import Swap, delete_blocks

TASK = "keep"
BLOCKS = 500  # whose rows are taken out at once


def keep(engine: Engine, lineage: Lineage, table: str, report: Report, rehearsal: bool = False) -> Result:
    """Remove the blocks of a table's modules that end before now - keep."""
    modules = [module for module in lineage.builders(table) if module.keep is not None]
    if rehearsal:
        found = [_to_expire(engine, module, None) for module in modules]
        return Result(TASK, table, {"blocks": sum(len(e.blocks) for e in found), "rows": sum(e.rows for e in found)})
    if not any(_to_expire(engine, module, 1).blocks for module in modules):
        return Result(TASK, table, {"blocks": 0, "rows": 0})
    return run_job(engine, TASK, table, lambda job: _keep(engine, job, modules, report))


def _to_expire(engine: Engine, module: Module, limit: int | None) -> Expiry:
    assert module.keep is not None
    return engine.maintenance.to_expire(module.table, module.name, module.keep, limit)


def _keep(engine: Engine, job: Job, modules: list[Module], report: Report) -> Result:
    figures = {"blocks": 0, "rows": 0}
    for module in modules:
        total = len(_to_expire(engine, module, None).blocks)
        while (expiry := _to_expire(engine, module, BLOCKS)).blocks:
            report(f"{TASK} {module.name}", figures["blocks"], figures["blocks"] + total)
            if not _expire(engine, job, expiry):
                return Result(TASK, job.table, figures, "its rows are being replaced; a later round goes on", "gave up")
            total -= len(expiry.blocks)
            figures = {"blocks": figures["blocks"] + len(expiry.blocks), "rows": figures["rows"] + expiry.rows}
    report(f"{TASK} {job.table}", figures["blocks"], figures["blocks"])
    return Result(TASK, job.table, figures)


def _expire(engine: Engine, job: Job, expiry: Expiry) -> bool:
    if not expiry.rows:
        return _note(engine, job, expiry)
    return exchange(engine, job, partial(_delete, engine, expiry), partial(_require_ledger, expiry), expiry) is not None


def _note(engine: Engine, job: Job, expiry: Expiry) -> bool:
    """Blocks without rows expire in the ledger alone."""
    try:
        engine.maintenance.publish(job, None, expiry)
    except PointerTaken:
        return False
    return True


def _delete(engine: Engine, expiry: Expiry, fork: Fork) -> None:
    delete_blocks(engine.session(), fork, expiry.ids)


def _require_ledger(expiry: Expiry, swap: Swap) -> None:
    gone = swap.rows_removed - swap.rows_added
    if gone != expiry.rows:
        raise DamagedData(
            f"{expiry.table}: {len(expiry.blocks)} blocks that are to expire hold {gone} rows, the ledger says {expiry.rows}.\n"
            "Nothing was removed. Run `dwh verify`, which names the block, and restate it; then maintenance goes on."
        )
