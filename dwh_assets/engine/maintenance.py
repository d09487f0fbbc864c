"""Maintenance: its tasks in their order. None of them blocks loading, and readers notice none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dwh_assets.control.pruning import EVENTS, HISTORY, PruneStore
from dwh_assets.engine.compact import compact
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.jobs import Report, Result, run_job
from dwh_assets.engine.keep import keep
from dwh_assets.engine.sweep import shorten, sweep_branches
from dwh_assets.model.errors import ConfigError
from dwh_assets.model.module import Lineage
from dwh_assets.warehouse.orphans import orphans, remove

Task = Callable[[Engine, Lineage, str, Report, bool], Result]


def expire_snapshots(engine: Engine, lineage: Lineage, table: str, report: Report, rehearsal: bool = False) -> Result:
    """Forget snapshots that nobody reads any more: not the head, a branch, or what a running attempt reads."""
    gone, kept = shorten(engine, table, rehearsal)
    report(f"expire_snapshots {table}", 1, 1)
    return Result("expire_snapshots", table, {"snapshots": gone, "kept": kept})


def remove_orphans(engine: Engine, lineage: Lineage, table: str, report: Report, rehearsal: bool = False) -> Result:
    """Delete files that nothing refers to, once they are so old that no running attempt can have written them."""
    before = engine.database.clock() - engine.settings.orphans_after
    found = orphans(engine.catalog, table, before)
    if found and not rehearsal:
        remove(engine.catalog, table, found, lambda n: report(f"remove_orphans {table}", n, len(found)))
    return Result("remove_orphans", table, {"files": len(found), "bytes": sum(file.bytes for file in found)})


def prune_control(engine: Engine, lineage: Lineage, table: str, report: Report, rehearsal: bool = False) -> Result:
    """Delete old attempts that loaded nothing, alerts, workers, runs of batches and events."""
    if rehearsal:
        return _prune(engine, report, rehearsal=True)
    return run_job(engine, "prune_control", "", lambda job: _prune(engine, report, rehearsal=False))


def _prune(engine: Engine, report: Report, rehearsal: bool) -> Result:
    store = PruneStore(engine.database)
    now, figures = engine.database.clock(), dict[str, int]()
    kinds = (*HISTORY, EVENTS)
    for number, kind in enumerate(kinds):
        report(f"prune_control {kind}", number, len(kinds))
        age = engine.settings.events_for if kind == EVENTS else engine.settings.history_for
        figures[kind] = store.prune(kind, now - age, rehearsal)
    report("prune_control", len(kinds), len(kinds))
    return Result("prune_control", "", figures)


OF_TABLES: dict[str, Task] = {
    "keep": keep,
    "compact": compact,
    "expire_snapshots": expire_snapshots,
    "remove_orphans": remove_orphans,
}
OF_STORE: dict[str, Task] = {"prune_control": prune_control}
TASKS = (*OF_TABLES, *OF_STORE)


def maintain(
    engine: Engine,
    lineage: Lineage,
    tasks: Sequence[str] = TASKS,
    table: str | None = None,
    report: Report = lambda what, done, total: None,
    rehearsal: bool = False,
) -> Iterator[Result]:
    """Do these tasks in their order, each for every built table, or for one. What was done is given as it is done."""
    tables = _tables(engine, lineage, table)
    if not rehearsal:
        sweep_branches(engine, lineage)
    for name in (name for name in OF_TABLES if name in tasks):
        for one in tables:
            yield OF_TABLES[name](engine, lineage, one, report, rehearsal)
    for name in (name for name in OF_STORE if name in tasks and table is None):
        yield OF_STORE[name](engine, lineage, "", report, rehearsal)


def _tables(engine: Engine, lineage: Lineage, table: str | None) -> list[str]:
    built = lineage.tables
    if table is not None and table not in built:
        raise ConfigError(f"{table} is not built here, so it is not maintained here. Built are: {', '.join(built) or 'none'}.")
    return [name for name in built if table in (None, name) and engine.catalog.exists(name)]
