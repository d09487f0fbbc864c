"""Replay: the last real blocks once more, with a changed transform, on the snapshots that were read then.

Nothing is staged: both versions are read and counted by Spark and compared there. So there is no branch, no lease and no row
of the control store that a crash could leave behind, and nothing that a reader could see.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dwh_assets.control.blocks import block_of
from dwh_assets.control.statements import sql
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.naming import module_of
from dwh_assets.engine.previewing import harmless, read_now
from dwh_assets.model.block import Block
from dwh_assets.model.errors import ActRefused, SourceError
from dwh_assets.model.module import Lineage, Module
from dwh_assets.model.parameter import resolve
from dwh_assets.model.row_diff import RowDiff, compare
from dwh_assets.processors.comparing import Figures, Version, as_stored, count_version, only_in_one, some_differences
from dwh_assets.processors.output import Reading, output_rows, transforms_of
from dwh_assets.processors.processor import Processor
from dwh_assets.processors.registry import processor_named
from dwh_assets.processors.transform import code_version
from dwh_assets.warehouse.catalog import CATALOG

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Row = dict[str, Any]
TABLE, PROJECT, FILE = "the table", "the project's transform", "the file"


@dataclass(frozen=True)
class BlockReplay:
    block: int
    number: int
    before: Figures
    after: Figures
    gone: int  # rows that only the one version has
    come: int


@dataclass(frozen=True)
class Replay:
    topic: str
    before_is: str
    after_is: str
    before: Version
    after: Version
    blocks: list[BlockReplay]
    loaded_seconds: float  # what the attempts took that loaded them
    examples: RowDiff
    notes: list[str]

    @property
    def same(self) -> bool:
        return self.before.columns == self.after.columns and not any(b.gone or b.come for b in self.blocks)


def replay(engine: Engine, lineage: Lineage, name: str, last: int, file: Path | None, examples: int = 5) -> Replay:
    """Without a file, the project's transform against what the table holds; with one, it against the project's transform."""
    module, topic = module_of(lineage, name)
    processor = processor_named(module.processor)
    stored = engine.database.fetch(sql("blocks_to_replay"), topic=topic, count=last)
    _require_possible(module, processor, topic, stored, file)
    changed = module if file is None else replace(module, transforms=(_replaced(module, file),))
    readings = [(block_of(row), _reading(engine, lineage, module, topic, row, stored)) for row in stored]
    after = _together(engine, changed, processor, readings, lineage, "dwh_replay")
    if file is None:
        before = _published(engine, module, stored)
        after = as_stored(after, before)
    else:
        before = _together(engine, module, processor, readings, lineage, "dwh_before")
    old, new, differing = count_version(before), count_version(after), only_in_one(before, after)
    missing, extra = some_differences(before, after, examples) if differing else ([], [])
    none = Figures()
    blocks = [
        BlockReplay(b.id, b.seq, old.by_block.get(b.id, none), new.by_block.get(b.id, none), *differing.get(b.id, (0, 0)))
        for b, _ in readings
    ]
    names = (TABLE if file is None else PROJECT, PROJECT if file is None else file.name)
    seconds = sum(row["seconds"] for row in stored)
    notes = _notes(engine, lineage, module, readings, stored, file)
    return Replay(topic, *names, old, new, blocks, seconds, compare(missing, extra), notes)


def _require_possible(module: Module, processor: Processor, topic: str, stored: list[Row], file: Path | None) -> None:
    if module.processor == "ingest":
        raise ActRefused(f"{topic} takes events in as they are: it has no transform that could be changed. Nothing was read.")
    if not stored:
        raise ActRefused(
            f"nothing of {topic} was loaded yet, so there is no block to replay; `dwh preview {topic}` shows the next."
        )
    if file is None and processor.merges:
        raise ActRefused(
            f"{module.table} is merged: it does not hold the rows of a block as the transform gave them. Nothing was read.\n"
            "Give the changed transform with --sql FILE; it is held against the project's, both on the rows read then."
        )
    if file is None and processor.whole and len(stored) > 1:
        raise ActRefused(f"{module.table} is rebuilt with each block, so it holds the newest only: --last 1, or give --sql FILE.")


def _replaced(module: Module, file: Path) -> str:
    """The file in place of the module's only transform."""
    if not file.is_file() or file.suffix != ".sql":
        raise ActRefused(f"{file}: there is no such SQL file. Nothing was read.")
    if len(module.transforms) > 1:
        raise ActRefused(
            f"{module.name} has {len(module.transforms)} transforms, and one file cannot stand for them all. Nothing was read.\n"
            "Change the one in the project instead, and replay without --sql."
        )
    return str(file.absolute())


def _reading(engine: Engine, lineage: Lineage, module: Module, topic: str, row: Row, stored: list[Row]) -> Reading:
    """The inputs at the snapshots that the block's attempt read. One that it did not know is read as it is now."""
    now = read_now(engine, lineage, module, topic)
    then = {name: row["inputs"].get(name, snapshot) for name, snapshot in now.snapshots.items()}
    for table, snapshot in then.items():
        if snapshot is not None and not _held(engine, table, snapshot):
            raise _expired(engine, module, row, table, snapshot, stored)
    return replace(now, snapshots=then)


def _held(engine: Engine, table: str, snapshot: int) -> bool:
    return engine.catalog.load(table).snapshot_by_id(snapshot) is not None


def _expired(engine: Engine, module: Module, row: Row, table: str, snapshot: int, stored: list[Row]) -> SourceError:
    kept = [r for r in stored if all(s is None or _held(engine, t, s) for t, s in r["inputs"].items() if t in module.inputs)]
    whole = len(kept) if kept == stored[len(stored) - len(kept) :] else 0
    advice = f"The newest {whole} blocks can be replayed: --last {whole}." if whole else "None of these blocks can be replayed."
    return SourceError(
        f"block #{row['id']} read {table} at snapshot {snapshot} on {row['started_at']:%Y-%m-%d %H:%M}, and that has expired: "
        f"it cannot be read as it was then. Nothing was read or changed.\n"
        f"{advice} DWH_SNAPSHOTS_FOR says how long snapshots are kept."
    )


def _together(
    engine: Engine, module: Module, processor: Processor, readings: list[tuple[Block, Reading]], lineage: Lineage, prefix: str
) -> DataFrame:
    """Each block by itself, as it was loaded: its own snapshots, its own bounds."""
    valued, _ = harmless(module, resolve(lineage.parameters, (), module.parameters))
    parts = []
    for number, (block, reading) in enumerate(readings):
        bound = replace(reading, module=valued)
        transforms = transforms_of(
            reading.session, valued, engine.settings.transforms_folder, reading.tables(), f"{prefix}_{number}"
        )
        parts.append(output_rows(transforms, bound, [block], processor, 0))
    return reduce(lambda one, other: one.unionByName(other), parts)


def _published(engine: Engine, module: Module, stored: list[Row]) -> DataFrame:
    blocks = ", ".join(str(row["id"]) for row in stored)
    return engine.session().table(f"{CATALOG}.{module.table}").where(f"_block IN ({blocks})")


def _notes(
    engine: Engine,
    lineage: Lineage,
    module: Module,
    readings: list[tuple[Block, Reading]],
    stored: list[Row],
    file: Path | None,
) -> list[str]:
    """What a reader of the comparison must know to trust it."""
    notes = []
    stateless = [name for name, snapshot in readings[-1][1].snapshots.items() if snapshot is None]
    if stateless:
        notes.append(f"{', '.join(stateless)} keeps no states and was read as it is now")
    changed = [b.id for b, reading in readings if reading.module.base in stateless and _changed(b, reading)]
    if changed:
        notes.append(f"{module.base} has changed since in the range of {', '.join(f'#{block}' for block in changed)}")
    fresh = [name for name in module.inputs if any(name not in row["inputs"] for row in stored)]
    if fresh:
        notes.append(f"{', '.join(fresh)} was not read then, and is read as it is now")
    now = code_version(module, engine.settings.transforms_folder, resolve(lineage.parameters, (), module.parameters))
    if file is not None and any(row["code_version"] != now for row in stored):
        notes.append("some of these blocks were loaded by an earlier transform than the project's")
    return notes


def _changed(block: Block, reading: Reading) -> bool:
    if block.base_rows is None or block.hash_sum is None:
        return False
    found = reading.fingerprint(block)
    return (found.rows, found.hash_sum) != (block.base_rows, block.hash_sum)
