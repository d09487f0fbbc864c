"""Compaction of a table: day by day, only where it is at rest, each day published on its own."""

from __future__ import annotations

from functools import partial

from dwh_assets.control.maintenance import Job
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.exchange import exchange
from dwh_assets.engine.jobs import Report, Result, run_job
from dwh_assets.model.errors import DamagedData
from dwh_assets.model.module import Lineage
from dwh_assets.warehouse.branches import Fork
from dwh_assets.warehouse.compacting import Heap, heaps, rewrite, same_content
from dwh_assets.warehouse.swapping import Swap

TASK = "compact"


def compact(engine: Engine, lineage: Lineage, table: str, report: Report, rehearsal: bool = False) -> Result:
    """Rewrite many small files into larger ones; readers see the same rows before and after."""
    chosen = _at_rest(engine, table)
    if rehearsal or not chosen:
        return Result(TASK, table, {"days": len(chosen), "files": sum(len(heap.files) for heap in chosen)})
    position = _position(engine, lineage, table)
    return run_job(engine, TASK, table, lambda job: _compact(engine, job, chosen, position, report))


def _at_rest(engine: Engine, table: str) -> list[Heap]:
    settings = engine.settings
    found = heaps(engine.catalog, table, settings.compact_files, settings.compact_bytes)
    ranges = engine.maintenance.touched(table) if found else []
    return [heap for heap in found if not any(heap.touches(low, high) for low, high in ranges)]


def _position(engine: Engine, lineage: Lineage, table: str) -> tuple[str, ...]:
    """What the rows are sorted by; nothing where the table does not hold its position."""
    columns = set(engine.catalog.load(table).schema().column_names)
    position = lineage.builders(table)[0].position
    return position if columns.issuperset(position) else ()


def _compact(engine: Engine, job: Job, chosen: list[Heap], position: tuple[str, ...], report: Report) -> Result:
    figures = {"days": 0, "files": 0, "files_after": 0, "rows": 0}
    left = 0
    for number, heap in enumerate(chosen):
        report(f"{TASK} {job.table} {heap.day or ''}".rstrip(), number, len(chosen))
        swap = exchange(engine, job, partial(_rewrite, engine, heap, position), partial(_require_same, engine, heap))
        if swap is None:
            left += 1
            continue
        done = {"days": 1, "files": len(swap.removed), "files_after": len(swap.added), "rows": swap.rows_added}
        figures = {name: value + done[name] for name, value in figures.items()}
    report(f"{TASK} {job.table}", len(chosen), len(chosen))
    text = f"{left} of {len(chosen)} days were being replaced; a later round does them" if left else ""
    return Result(TASK, job.table, figures, text, "gave up" if left else "done")


def _rewrite(engine: Engine, heap: Heap, position: tuple[str, ...], fork: Fork) -> None:
    rewrite(engine.session(), fork, heap, position, engine.settings.compact_bytes)


def _require_same(engine: Engine, heap: Heap, swap: Swap) -> None:
    if not same_content(engine.session(), engine.catalog, heap, swap):
        day = f", day {heap.day}" if heap.day else ""
        raise DamagedData(
            f"compaction of {heap.table}{day}: the rewritten files do not hold the same rows.\n"
            "Nothing was published, the table is as it was. Run `dwh verify`; if it finds nothing, run the compaction again."
        )
