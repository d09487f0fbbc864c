"""Verify: the invariants I1 to I6, looked at from outside: source rows, what readers see, and the control tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from dwh_assets.config.sql_parameters import bound
from dwh_assets.control.blocks import block_of
from dwh_assets.control.reconciles import ReconcileStore
from dwh_assets.control.statements import sql
from dwh_assets.engine.damage import naming_blocks
from dwh_assets.engine.deep import changed_blocks, has_steady_rows
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.late import base_is_append_only, overlooked
from dwh_assets.engine.stage import key_of, window_of
from dwh_assets.model.errors import DamagedData, DwhError
from dwh_assets.model.module import Lineage, Module
from dwh_assets.model.parameter import resolve
from dwh_assets.model.position import Bounds, Position
from dwh_assets.processors.figures import rows_and_writers
from dwh_assets.processors.ingest import doubled_events
from dwh_assets.processors.registry import processor_named
from dwh_assets.processors.transform import keeps_rows
from dwh_assets.sources.source import Fingerprint
from dwh_assets.warehouse.publish import executions_on_main, snapshot_of
from dwh_assets.warehouse.reconciling import newer

Row = dict[str, Any]
PLAIN = ("step", "one_day_step", "range")  # write what the transforms give, as it is

Seen = dict[int | None, tuple[int, set[int]]]  # block -> its rows in the table, and who wrote them


@dataclass(frozen=True)
class Finding:
    """One thing that does not hold. A `late` finding is no fault of the loader: rows came after their block was read."""

    invariant: str
    topic: str
    block_id: int | None
    text: str
    severity: Literal["error", "late"] = "error"


def verify(
    engine: Engine, lineage: Lineage, progress: Callable[[str], None] = lambda text: None, deep: bool = False
) -> list[Finding]:
    """Everything that does not hold on this warehouse now; an empty list is the proof. `deep`: every value, too."""
    findings = [*_ledger(engine), *_beyond_the_cursor(engine, lineage)]
    for table in lineage.tables:
        progress(table)
        findings += _lasting(lambda table=table: _readable(table, _table(engine, lineage, table, deep)))
    for module in lineage.modules:
        progress(module.name)
        findings += _lasting(lambda module=module: list(_sources(engine, lineage, module)))
        if module.processor == "ingest":
            findings += _lasting(lambda module=module: _readable(module.name, _events(engine, lineage, module)))
    return [*findings, *left_behind(engine, lineage)]


def _events(engine: Engine, lineage: Lineage, module: Module) -> Iterator[Finding]:
    """Every event of a committed block is in the table, a known one, or a dead letter; and none is there twice (B2)."""
    if not engine.catalog.exists(module.table):
        return
    dead = _count_blocks(engine, module.tables[1])
    for row in engine.database.fetch(sql("verify_ingest"), topic=module.name):
        kept = dead.get(row["block_id"], (0, set()))[0]
        if kept != row["dead"]:
            text = f"{module.tables[1]} holds {kept} dead letters of this block, the ledger says {row['dead']}"
            yield Finding("I1", module.name, row["block_id"], text)
        if row["rows_read"] is not None and row["rows_read"] != row["rows_accounted"]:
            text = f"{row['rows_read']} events were read, {row['rows_accounted']} are loaded, known or dead letters"
            yield Finding("I1", module.name, row["block_id"], text)
    if key_of(lineage, module):
        snapshot = snapshot_of(engine.catalog, module.table)
        if doubles := doubled_events(engine.session(), module.table, snapshot, module.position[0], window_of(lineage, module)):
            yield Finding("I1", module.name, None, f"{doubles} events are in {module.table} more than once")


def _table(engine: Engine, lineage: Lineage, table: str, deep: bool) -> Iterator[Finding]:
    if not engine.catalog.exists(table):
        return
    yield from _published(engine, table)
    yield from _rows_by_block(engine, lineage, table)
    if deep and has_steady_rows(lineage, table):
        for topic, block_id, text in changed_blocks(engine, table):
            yield Finding("I1", topic, block_id, text)


def _lasting(look: Callable[[], list[Finding]]) -> list[Finding]:
    """What is there at a second look, too: rows and ledger are read one after the other, and what is committed in between is
    in one of them only."""
    found = look()
    if all(finding.severity == "late" for finding in found):
        return found
    before = {(finding.invariant, finding.topic, finding.block_id) for finding in found}
    return [finding for finding in look() if (finding.invariant, finding.topic, finding.block_id) in before]


def _readable(table: str, findings: Iterator[Finding]) -> list[Finding]:
    """A damaged file of one table is a finding, and the other tables are looked at all the same."""
    try:
        return list(findings)
    except DamagedData as error:
        return [Finding("I1", table, None, str(error))]


def left_behind(engine: Engine, lineage: Lineage) -> Iterator[Finding]:
    """Tables that are not built here and whose folder is ahead of the catalog, after a restore: rows that nobody sees.

    Without one, such a file is what a writer left that died, or belongs to another catalog over the same folder."""
    store = ReconcileStore(engine.database, engine.worker)
    if not store.was_restored():
        return
    for table, pointer in store.pointers().items():
        if table not in lineage.tables and (ahead := len(newer(engine.catalog, table, pointer))):
            repair = "`dwh repair --reconcile --reason ...` reads the newest"
            yield Finding("I1", table, None, f"its folder holds {ahead} newer states than the catalog names; {repair}")


def _ledger(engine: Engine) -> Iterator[Finding]:
    """Tiling, cursors and attempts, from the control tables alone."""
    for name in ("verify_tiling", "verify_cursors", "verify_attempts", "verify_tokens"):
        for row in engine.database.fetch(sql(name)):
            yield Finding(row["invariant"], row["topic"], row["block_id"], row["text"])


def _beyond_the_cursor(engine: Engine, lineage: Lineage) -> Iterator[Finding]:
    """Rows that no block holds and no block is planned for, though their topic was told to be complete there."""
    for row, count in overlooked(engine, lineage, {module.name: module for module in lineage.modules}):
        text = f"{count} rows came after it was complete up to {row['examined']}; the loop loads them when it next looks"
        yield Finding("I1", row["topic"], None, text, "late")


def _published(engine: Engine, table: str) -> Iterator[Finding]:
    """Every snapshot that readers can reach was committed by an attempt that succeeded (I5)."""
    executions = executions_on_main(engine.catalog, table)
    rows = engine.database.fetch(sql("executions_not_succeeded"), ids=sorted(executions))
    for row in rows:
        text = f"readers of {table} see a snapshot of execution {row['id']}, which ended as {row['execution_code']}"
        yield Finding("I5", row["topic"] or table, row["block_id"], text)


def _rows_by_block(engine: Engine, lineage: Lineage, table: str) -> Iterator[Finding]:
    """Each committed block is in the table with the rows and the hash sum that the ledger says, and nothing else is (I1, I5)."""
    modules = lineage.builders(table)
    if not modules or any(processor_named(m.processor).forgets for m in modules):
        yield from _uncommitted(engine, table, _count_blocks(engine, table))
        return
    seen = _count_blocks(engine, table)
    yield from _uncommitted(engine, table, seen)
    for row in engine.database.fetch(sql("ledger_of_table"), table=table):
        found, executions = seen.get(row["block_id"], (0, set()))
        if found != row["rows"]:
            text = f"{table} holds {found} rows of this block, the ledger says {row['rows']}"
            yield Finding("I1", row["topic"], row["block_id"], text)
        elif executions - {row["execution_id"]}:
            text = f"{table} holds rows of executions {sorted(executions)}, the ledger names {row['execution_id']}"
            yield Finding("I5", row["topic"], row["block_id"], text)


def _count_blocks(engine: Engine, table: str) -> Seen:
    snapshot = snapshot_of(engine.catalog, table)
    with naming_blocks(engine, {table: snapshot}):
        return rows_and_writers(engine.session(), table, snapshot)


def _uncommitted(engine: Engine, table: str, seen: Seen) -> Iterator[Finding]:
    for row in engine.database.fetch(sql("blocks_not_committed"), ids=sorted(b for b in seen if b is not None)):
        text = f"{table} shows {seen[row['id']][0]} rows of a block that is {row['status']}"
        yield Finding("I5", row["topic"] or table, row["id"], text)
    if None in seen:
        yield Finding("I5", table, None, f"{table} shows {seen[None][0]} rows that name no block")


def _sources(engine: Engine, lineage: Lineage, module: Module) -> Iterator[Finding]:
    """Count the base rows of every committed block again and compare them with what was read (I1)."""
    if processor_named(module.processor).whole or not base_is_append_only(lineage, module.base):
        return
    for topic in module.topics:
        rows = engine.database.fetch(sql("committed_blocks"), topic=topic)
        try:
            yield from _recount(engine, lineage, module, topic, rows)
        except DwhError as error:
            yield Finding("I1", topic, None, f"the base rows in {module.base} could not be counted: {error}")


def _recount(engine: Engine, lineage: Lineage, module: Module, topic: str, rows: list[Row]) -> Iterator[Finding]:
    source = engine.source(module.base, lineage, module)
    snapshot = source.snapshot()
    for row in rows:
        block = block_of(row)
        if row["base_expired"] is not None and block.bounds.last.pos < row["base_expired"]:
            continue  # rows of the base were kept long enough and are gone
        read = Fingerprint(block.base_rows or 0, block.hash_sum or 0)
        now = source.fingerprint(block.bounds, snapshot, row["shard"])
        if now == read:
            yield from _same_rows(engine, lineage, module, topic, row, now)
        elif now.rows > read.rows:
            text = f"{now.rows - read.rows} rows came to {module.base} after it was read; dwh restate {topic} --late loads them"
            yield Finding("I1", topic, block.id, text, "late")
        else:
            text = f"{module.base} holds {_shown(now)} in its range, read were {_shown(read)}"
            yield Finding("I1", topic, block.id, text)


def _same_rows(engine: Engine, lineage: Lineage, module: Module, topic: str, row: Row, base: Fingerprint) -> Iterator[Finding]:
    """Where the transforms keep each base row as one row with its position, the table must hold the very same positions."""
    if row["expired_at"] is not None:
        return
    valued = bound(module, resolve(lineage.parameters, (), module.parameters))
    if module.processor not in PLAIN or not keeps_rows(valued, engine.settings.transforms_folder):
        return
    if len(lineage.builders(module.table)) > 1:
        return
    table = engine.source(module.table, lineage, module)
    bounds = Bounds(Position(row["last_pos"], int(row["last_id"])), Position(row["next_pos"], int(row["next_id"])))
    found = table.fingerprint(bounds, table.snapshot(), row["shard"])
    if found != base:
        text = f"{module.table} holds {_shown(found)} with its positions, the base {_shown(base)}"
        yield Finding("I1", topic, row["id"], text)


def _shown(fingerprint: Fingerprint) -> str:
    return f"{fingerprint.rows} rows (hash {fingerprint.hash_sum})"
