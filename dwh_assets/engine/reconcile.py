"""Reconcile: control store and tables come from different moments; bring pointers and cursors to what the tables really hold.

A table is read at the newest state in its folder that the control store knows and whose files are all there; blocks that are not
in it are taken back, and loaded again from their base. So are blocks that the control store does not know: where no state without
them is left, their rows go. Tables that are not built here go forward to their newest state: nobody writes their rows again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dwh_assets.control.reconciles import ReconcileStore, TakeBack
from dwh_assets.engine.attempt import attempt
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.exchange import exchange
from dwh_assets.engine.jobs import Result, run_job
from dwh_assets.engine.restate import refuse_merged
from dwh_assets.model.errors import DamagedData, Transient
from dwh_assets.model.graph import order
from dwh_assets.model.module import Lineage
from dwh_assets.processors.registry import processor_named
from dwh_assets.warehouse.publish import discard
from dwh_assets.warehouse.reconciling import State, is_whole, newer, next_state, rows_of, states
from dwh_assets.warehouse.swapping import delete_blocks

Row = dict[str, Any]
TASK = "reconcile"


@dataclass(frozen=True)
class TablePlan:
    """What becomes of one table."""

    table: str
    pointer: str
    state: State
    moves: bool
    foreign: Mapping[int, int] = field(default_factory=dict)  # block that the control store does not know -> its rows
    text: str = ""


@dataclass(frozen=True)
class Plan:
    tables: tuple[TablePlan, ...]
    back: tuple[TakeBack, ...]
    greatest: tuple[int, int] = (1, 1)  # block and execution that any table names

    @property
    def empty(self) -> bool:
        return not self.back and not any(table.moves or table.foreign for table in self.tables)

    def lines(self) -> list[Row]:
        """For people: what is done to what."""
        moved = [{"what": table.table, "act": table.text} for table in self.tables if table.moves or table.foreign]
        return [*moved, *({"what": one.topic, "act": one.text} for one in self.back)]


def plan_reconciliation(engine: Engine, lineage: Lineage) -> Plan:
    """Look at every table of the catalog; changes nothing."""
    store = ReconcileStore(engine.database, engine.worker)
    tables, back, greatest = [], [], (1, 1)
    for table, pointer in store.pointers().items():
        if table not in lineage.tables:
            tables += _not_built(engine, table, pointer)
            continue
        state = _known_state(engine, store, table, pointer)
        held = rows_of(state)
        letters = next((m for m in lineage.modules if m.table != table and table in m.tables), None)
        ledger = store.ledger(letters.table if letters else table)
        known = {row["block_id"] for row in ledger}
        foreign = {block: rows for (block, _), rows in held.items() if block not in known}
        greatest = _greatest(greatest, held, state)
        tables.append(_table(state, pointer, foreign))
        missing = [] if letters else _take_back(state, ledger, held)
        for one in missing:
            module = lineage.module(one.topic.partition(":")[0])
            refuse_merged(lineage, module, processor_named(module.processor))
        back += missing
    return Plan(tuple(tables), tuple(_once(back)), greatest)


def _known_state(engine: Engine, store: ReconcileStore, table: str, pointer: str) -> State:
    """The newest whole state that only attempts have led to which the control store knows; else the newest whole one."""
    unknown: State | None = None
    for state in states(engine.catalog, table, pointer):
        if not is_whole(state):
            continue
        if store.succeeded(sorted(state.executions)):
            return state
        unknown = unknown or state
    if unknown is None:
        raise DamagedData(
            f"table {table}: no state of it is left whose files are all there; the catalog names {pointer}.\n"
            "Nothing was changed. Restore the warehouse folder from a copy, or drop the table and load it anew."
        )
    return unknown


def _table(state: State, pointer: str, foreign: Mapping[int, int]) -> TablePlan:
    moves = state.location != pointer or not state.is_head
    said = [f"is read at snapshot {state.snapshot_id} of {state.location.rpartition('/')[2]}"] if moves else []
    if foreign:
        said.append(f"loses {sum(foreign.values())} rows of {len(foreign)} blocks that the control store does not know")
    return TablePlan(state.table, pointer, state, moves, foreign, "; ".join(said))


def _not_built(engine: Engine, table: str, pointer: str) -> list[TablePlan]:
    """A source goes forward: to the newest state that was made from the one that the catalog names."""
    first = next(states(engine.catalog, table, pointer), None)
    if first is None:
        return []
    ahead = newer(engine.catalog, table, pointer) if first.location == pointer else [first]
    chosen = next((state for state in ahead if is_whole(state)), None)
    return [] if chosen is None else [_table(chosen, pointer, {})]


def _take_back(state: State, ledger: list[Row], held: Mapping[tuple[int, int], int]) -> list[TakeBack]:
    """For each topic the first block that the table does not hold as the ledger says, and all behind it."""
    found: dict[str, Row] = {}
    for row in ledger:
        if row["topic"] not in found and _is_missing(state, row, held):
            found[row["topic"]] = row
    return [_asked(row, max(r["seq"] for r in ledger if r["topic"] == topic)) for topic, row in found.items()]


def _is_missing(state: State, row: Row, held: Mapping[tuple[int, int], int]) -> bool:
    processor = processor_named(row["processor"])
    if processor.whole:
        return row["newest"] and held.get((row["block_id"], row["execution_id"]), 0) != row["rows"]
    if processor.replaces:  # later blocks change its rows: only the line of snapshots tells
        oldest = min(state.executions, default=0)
        return row["execution_id"] not in state.executions and row["execution_id"] >= oldest
    return held.get((row["block_id"], row["execution_id"]), 0) != row["rows"]


def _asked(row: Row, last: int) -> TakeBack:
    if processor_named(row["processor"]).whole:
        return TakeBack(row["topic"], "restate", row["seq"], row["seq"], f"is built anew, block {row['seq']}")
    text = f"blocks {row['seq']} to {last} are taken back and loaded again"
    return TakeBack(row["topic"], "rollback", row["seq"], last, text)


def _once(back: list[TakeBack]) -> list[TakeBack]:
    """A topic that writes two tables goes back to where both are whole."""
    first = {one.topic: min(other.first for other in back if other.topic == one.topic) for one in back}
    seen = {one.topic: one for one in sorted(back, key=lambda one: -one.first) if one.first == first[one.topic]}
    return list(seen.values())


def _greatest(so_far: tuple[int, int], held: Mapping[tuple[int, int], int], state: State) -> tuple[int, int]:
    blocks, executions = zip(*held, strict=True) if held else ((), ())
    return max((so_far[0], *blocks)), max((so_far[1], *executions, *state.executions))


def reconcile(engine: Engine, lineage: Lineage, plan: Plan, who: str, reason: str) -> None:
    """Carry the plan out: pointers and wishes in one transaction; then rows that are unknown go, and blocks are taken back.

    What a crash leaves undone a second call finds again; blocks to take back are done by whoever loads next.
    """
    pointers = [next_state(engine.catalog, table.state, table.pointer) for table in plan.tables if table.moves]
    try:
        ReconcileStore(engine.database, who).reconcile(pointers, plan.back, plan.greatest, reason)
    except BaseException:
        for pointer in pointers:
            discard(pointer)
        raise
    for table in plan.tables:
        if table.foreign:
            run_job(engine, TASK, table.table, lambda job, table=table: _remove_foreign(engine, job, table))
    topics = [topic for name in reversed(order(lineage)) for topic in lineage.module(name).topics]
    for one in sorted(plan.back, key=lambda one: topics.index(one.topic)):  # downstream first
        outcome = attempt(engine, lineage, one.topic, force=True)
        if outcome.result != "committed":
            raise Transient(f"{one.topic}: {outcome.text}\nIt is stored: `dwh run` tries it again, then loading goes on.")


def _remove_foreign(engine: Engine, job: Any, table: TablePlan) -> Result:
    done = exchange(engine, job, lambda fork: delete_blocks(engine.session(), fork, sorted(table.foreign)), lambda swap: None)
    if done is None:
        return Result(TASK, table.table, {}, "others were faster; run it again", "gave up")
    return Result(TASK, table.table, {"rows": sum(table.foreign.values())})
