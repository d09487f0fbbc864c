"""Stage: a branch per attempt, inputs read at snapshots fixed now, rows written where no reader looks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from dwh_assets.engine.engine import Engine
from dwh_assets.engine.lease import Lease
from dwh_assets.engine.transform import Transforms, Views, block_of_row, runs_by_row, with_audit
from dwh_assets.model.block import Block, Claim, RowCounts
from dwh_assets.model.failpoints import failpoint, protected
from dwh_assets.model.module import Lineage
from dwh_assets.model.position import Bounds
from dwh_assets.processors.processor import AUDIT, Processor, Work
from dwh_assets.processors.registry import processor_named
from dwh_assets.sources.source import Fingerprint, Source
from dwh_assets.warehouse.branches import Fork, fork, qualified
from dwh_assets.warehouse.manifests import Staged, staged
from dwh_assets.warehouse.session import spark_errors
from dwh_assets.warehouse.tables import check_output


@dataclass(frozen=True)
class StagedAttempt:
    """What an attempt has written to its branch, and what it read."""

    fork: Fork
    staged: Staged
    counts: RowCounts
    fingerprints: dict[int, Fingerprint]  # block id -> its base rows
    work: Work
    processor: Processor


@dataclass(frozen=True)
class Reading:
    """The inputs of an attempt at snapshots that were resolved after the claim (R15)."""

    session: SparkSession
    base: Source
    snapshots: dict[str, int | None]
    shard: str | None

    def block(self, block: Block, base: str) -> DataFrame:
        return self.base.read(self.session, block.bounds, self.snapshots[base], self.shard)


def stage(engine: Engine, lineage: Lineage, claim: Claim, lease: Lease) -> StagedAttempt:
    processor = processor_named(claim.module.processor)
    if processor.replaces or claim.kind != "load":
        lease.hold_table(engine.settings.deadline_seconds)
    session = engine.session()
    failpoint("fork.before")
    forked = fork(engine.catalog, claim.target, claim.execution_id)
    failpoint("fork.after")
    reading = _reading(engine, lineage, claim, session)
    branches = {forked.table: {"branch": forked.branch, "fork": forked.snapshot_id}}
    engine.claims.note_staging(claim, branches, reading.snapshots)
    failpoint("stage.before")
    with _fingerprints(claim, reading) as fingerprints, _views(session, claim) as views, spark_errors():
        work, counts = _write(engine, lineage, claim, processor, reading, views, forked)
        lease.check()
        figures = {block_id: future.result() for block_id, future in fingerprints.items()}
    failpoint("stage.after")
    return StagedAttempt(forked, staged(engine.catalog, forked), counts, figures, work, processor)


def _reading(engine: Engine, lineage: Lineage, claim: Claim, session: SparkSession) -> Reading:
    module = claim.module
    base = engine.source(module.base, lineage, module.position)
    fixed = {name: engine.source(name, lineage).snapshot() for name in module.inputs}
    if not protected("snapshot"):
        fixed = dict.fromkeys(fixed)
    return Reading(session, base, fixed, claim.shard)


@contextmanager
def _views(session: SparkSession, claim: Claim) -> Iterator[Views]:
    views = Views(session, f"dwh_{claim.execution_id}")
    try:
        yield views
    finally:
        views.drop()


@contextmanager
def _fingerprints(claim: Claim, reading: Reading) -> Iterator[dict[int, Future[Fingerprint]]]:
    """Count and hash the base rows of each block beside the Spark job, from the files, without the JVM."""
    processor = processor_named(claim.module.processor)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="fingerprint") as pool:
        yield {block.id: pool.submit(_fingerprint, reading, claim, block, processor.whole) for block in read_blocks(claim)}


def read_blocks(claim: Claim) -> Sequence[Block]:
    """The blocks whose base rows are read: none for a rollback."""
    return claim.blocks if claim.kind != "rollback" else ()


def _fingerprint(reading: Reading, claim: Claim, block: Block, whole: bool) -> Fingerprint:
    if whole:
        found = Fingerprint(0, 0)
    else:
        found = reading.base.fingerprint(block.bounds, reading.snapshots[claim.module.base], claim.shard)
    failpoint("stage.during")
    return found


def _write(
    engine: Engine, lineage: Lineage, claim: Claim, processor: Processor, reading: Reading, views: Views, forked: Fork
) -> tuple[Work, RowCounts]:
    frames = _frames(engine, lineage, claim, reading)
    names = {name: views.add(frame) for name, frame in frames.items()}
    folder = engine.settings.transforms_folder
    transforms = Transforms(reading.session, claim.module, folder, views, names, frames)
    blocks = written_blocks(engine, claim, processor)
    rows = output_rows(transforms, claim, blocks or claim.blocks, processor, reading, runs_by_row(claim.module, folder))
    columns = check_output(engine.catalog, claim.target, rows.schema, allow_missing=processor.forgets)
    touched = tuple(dict.fromkeys((*claim.blocks, *blocks)))
    work = Work(reading.session, claim.module, rows.select(*columns, *AUDIT), qualified(forked), claim.execution_id, touched)
    if claim.kind != "load" and not processor.whole:
        processor.clear(work)
    counts = RowCounts()
    if blocks:
        counts = processor.write(work)
        if claim.module.after:
            transforms.after(_base_rows(claim.module.base, blocks, processor, reading))
    return work, counts


def written_blocks(engine: Engine, claim: Claim, processor: Processor) -> tuple[Block, ...]:
    """The blocks whose rows are written. A rollback writes none, except where the table keeps no earlier state of its rows:
    there the blocks that stay are written again."""
    if claim.kind != "rollback":
        return claim.blocks
    return tuple(engine.topics.blocks(claim.topic_id, 1, claim.block.seq - 1)) if processor.forgets else ()


def _frames(engine: Engine, lineage: Lineage, claim: Claim, reading: Reading) -> dict[str, DataFrame]:
    return {
        name: engine.source(name, lineage).read(reading.session, None, reading.snapshots[name], None)
        for name in claim.module.inputs
    }


def _base_rows(base: str, blocks: Sequence[Block], processor: Processor, reading: Reading) -> DataFrame:
    bounds = None if processor.whole else Bounds(blocks[0].bounds.last, blocks[-1].bounds.next)
    return reading.base.read(reading.session, bounds, reading.snapshots[base], reading.shard)


def output_rows(
    transforms: Transforms, claim: Claim, blocks: Sequence[Block], processor: Processor, reading: Reading, by_row: bool
) -> DataFrame:
    """The rows of all these blocks, each naming its block.

    Many blocks are one query where the transforms go row by row; else one query a range, put together: what a transform makes
    of a block (a sum, say) must not depend on how many blocks are run at once.
    """
    base = claim.module.base
    if len(blocks) == 1 or processor.whole:
        output = transforms.output(_base_rows(base, blocks, processor, reading))
        rows = with_audit(output, blocks[-1].id, claim.execution_id)
    elif by_row:
        output = transforms.output(_base_rows(base, blocks, processor, reading))
        named = output.selectExpr("*", f"{block_of_row(blocks, claim.module.position)} AS _block")
        rows = with_audit(named, None, claim.execution_id)
    else:
        parts = [with_audit(transforms.output(reading.block(block, base)), block.id, claim.execution_id) for block in blocks]
        rows = reduce(lambda together, part: together.unionByName(part), parts)
    return processor.shape(claim.module, rows)
