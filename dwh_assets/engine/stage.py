"""Stage: a branch per attempt, inputs read at snapshots fixed now, rows written where no reader looks."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from dwh_assets.engine.damage import naming_blocks
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.lease import Lease
from dwh_assets.engine.phases import Phases
from dwh_assets.model.block import Block, Claim, RowCounts
from dwh_assets.model.failpoints import failpoint, protected
from dwh_assets.model.module import Lineage, Module
from dwh_assets.model.phase import Totals
from dwh_assets.processors.ingest import stage_columns
from dwh_assets.processors.output import Reading, output_rows, transforms_of
from dwh_assets.processors.processor import AUDIT, Processor, Work
from dwh_assets.processors.registry import processor_named
from dwh_assets.processors.rejects import Rejects
from dwh_assets.processors.transform import analysed
from dwh_assets.sources.source import NOTHING, Fingerprint
from dwh_assets.warehouse.branches import Fork, fork, qualified
from dwh_assets.warehouse.manifests import Staged, staged
from dwh_assets.warehouse.progress import counting_tasks
from dwh_assets.warehouse.tables import check_output

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession


@dataclass(frozen=True)
class StagedAttempt:
    """What an attempt has written to its branch, and what it read."""

    fork: Fork
    staged: Staged
    counts: RowCounts
    fingerprints: dict[int, Fingerprint]  # block id -> its base rows
    work: Work
    processor: Processor
    rejects: Rejects | None = None
    rejected: Staged | None = None  # what is on its branch


def stage(engine: Engine, lineage: Lineage, claim: Claim, lease: Lease, phases: Phases) -> StagedAttempt:
    phases.turn(begun=["data-extract"])
    processor = processor_named(claim.module.processor)
    rejects = _rejects(engine, claim)
    rekeyed = rejects is not None and _rekeyed(engine, lineage, claim)
    if processor.replaces or claim.kind != "load" or rekeyed:
        lease.hold_table()
    session = engine.session()
    failpoint("fork.before")
    forked = fork(engine.catalog, claim.target, claim.execution_id)
    failpoint("fork.after")
    blocks = written_blocks(engine, claim, processor)
    reading = _reading(engine, lineage, claim, session) if blocks else Reading(session, claim.module, {}, {}, claim.shard)
    branches: dict[str, dict[str, str | int | None]] = {forked.table: {"branch": forked.branch, "fork": forked.snapshot_id}}
    if rejects is not None:
        branches[rejects.table] = {"branch": rejects.name, "fork": None}
    engine.claims.note_staging(claim, branches, dict(reading.snapshots))
    failpoint("stage.before")
    with _fingerprints(claim, reading, processor) as fingerprints, naming_blocks(engine, reading.snapshots):
        if blocks:
            work, counts = _write(engine, claim, processor, reading, forked, blocks, rejects, rekeyed, phases)
        else:
            work, counts = _take_out(claim, processor, session, forked, rejects)
        lease.check()
        figures = {block_id: future.result() for block_id, future in fingerprints.items()}
    failpoint("stage.after")
    aside = staged(engine.catalog, rejects.fork) if rejects is not None and rejects.fork is not None else None
    return StagedAttempt(forked, staged(engine.catalog, forked), counts, figures, work, processor, rejects, aside)


def _rejects(engine: Engine, claim: Claim) -> Rejects | None:
    if len(claim.module.tables) == 1:
        return None
    letters = engine.ingest.dead_letters(claim.topic, replayed=True)
    known = frozenset(row["block_id"] for row in letters)
    own = {block.id for block in claim.blocks if claim.kind == "restate"}
    replayed = sorted((row["block_id"], row["reason"]) for row in letters if row["replayed_by"] and row["block_id"] in own)
    return Rejects(engine.catalog, claim.module.tables[1], claim.execution_id, known, replayed)


def _rekeyed(engine: Engine, lineage: Lineage, claim: Claim) -> bool:
    """The ids in the table were made of other fields than the source names now."""
    in_force = engine.ingest.key_fields(claim.topic_id)
    return in_force is not None and in_force != key_of(lineage, claim.module)


def key_of(lineage: Lineage, module: Module) -> tuple[str, ...]:
    """The fields that make an event of this module's source the same one."""
    source = next((s for s in lineage.sources if s.name == module.base), None)
    return source.events.key if source is not None and source.events is not None else ()


def _reading(engine: Engine, lineage: Lineage, claim: Claim, session: SparkSession) -> Reading:
    module = claim.module
    sources = {name: engine.source(name, lineage) for name in module.inputs}
    sources[module.base] = engine.source(module.base, lineage, module)
    fixed = {name: source.snapshot() if protected("snapshot") else None for name, source in sources.items()}
    return Reading(session, module, sources, fixed, claim.shard)


def window_of(lineage: Lineage, module: Module) -> timedelta:
    """How far apart two deliveries of an event may be that are told to be the same."""
    source = next((s for s in lineage.sources if s.name == module.base), None)
    return source.events.window if source is not None and source.events is not None else timedelta()


@contextmanager
def _fingerprints(claim: Claim, reading: Reading, processor: Processor) -> Iterator[dict[int, Future[Fingerprint]]]:
    """Count and hash the base rows of each block beside the Spark job, from the files, without the JVM."""
    blocks = claim.blocks if claim.kind != "rollback" else ()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="fingerprint") as pool:
        found = {block.id: pool.submit(_fingerprint, reading, block, processor) for block in blocks}
        if reading.snapshots.get(claim.module.base) is None:
            # Both read what is there at the time. A row that comes after the count is found late, and loaded once by a
            # restatement; one that came after the read and were counted would be lost in silence.
            wait(found.values())
        yield found


def _fingerprint(reading: Reading, block: Block, processor: Processor) -> Fingerprint:
    base = reading.module.base
    found = (
        NOTHING if processor.whole else reading.sources[base].fingerprint(block.bounds, reading.snapshots[base], reading.shard)
    )
    failpoint("stage.during")
    return found


def _take_out(
    claim: Claim, processor: Processor, session: SparkSession, forked: Fork, rejects: Rejects | None
) -> tuple[Work, RowCounts]:
    """Rows go and none come: neither inputs nor transforms are asked, so that what they have broken can be taken back."""
    branch = qualified(forked)
    work = Work(session, claim.module, session.table(branch), branch, claim.execution_id, claim.blocks, rejects=rejects)
    processor.clear(work)
    return work, RowCounts()


def _write(
    engine: Engine,
    claim: Claim,
    processor: Processor,
    reading: Reading,
    forked: Fork,
    blocks: tuple[Block, ...],
    rejects: Rejects | None,
    rekeyed: bool,
    phases: Phases,
) -> tuple[Work, RowCounts]:
    phases.turn(begun=["structure-transform"])
    folder, prefix = engine.settings.transforms_folder, f"dwh_{claim.execution_id}"
    transforms = transforms_of(reading.session, claim.module, folder, reading.tables(), prefix)
    rows = output_rows(transforms, reading, blocks, processor, claim.execution_id)
    given = analysed(rows, claim.label)
    if rejects is not None:
        given = stage_columns(given)
    columns = check_output(engine.catalog, claim.target, given, allow_missing=processor.forgets)
    phases.turn({"structure-transform": Totals()}, ["data-transform"])
    touched = tuple(dict.fromkeys((*claim.blocks, *blocks)))
    written = rows.select(*columns, *AUDIT)
    if processor.merges:
        written = written.localCheckpoint()  # a merge reads its source several times: it must be the same each time
    work = Work(
        reading.session,
        claim.module,
        written,
        qualified(forked),
        claim.execution_id,
        touched,
        base=reading.sources[claim.module.base],
        whole=rows,
        catalog=engine.catalog,
        fork=forked,
        rejects=rejects,
        rekeyed=rekeyed,
    )
    with counting_tasks(reading.session, partial(phases.advance, "data-transform")):
        if claim.kind != "load" and not processor.whole:
            processor.clear(work)
        counts = processor.write(work)
        if claim.module.after:
            transforms.after(reading.base(blocks, processor.whole))
    return work, counts


def written_blocks(engine: Engine, claim: Claim, processor: Processor) -> tuple[Block, ...]:
    """The blocks whose rows are written. A rollback writes none, except where the table keeps no earlier state of its rows:
    there the blocks that stay are written again."""
    if claim.kind != "rollback":
        return claim.blocks
    return tuple(engine.topics.blocks(claim.topic_id, 1, claim.block.seq - 1)) if processor.forgets else ()
