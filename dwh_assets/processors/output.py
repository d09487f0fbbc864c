"""The rows that an attempt writes: base rows of its blocks at fixed snapshots, transformed, each naming its block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.types import StructField, StructType

from dwh_assets.model.block import Block
from dwh_assets.model.module import Module
from dwh_assets.model.position import Bounds
from dwh_assets.processors.processor import AUDIT, Processor
from dwh_assets.processors.transform import Transforms, Views, analysed, block_of_row, runs_by_row, with_audit
from dwh_assets.sources.source import Fingerprint, Source


@dataclass(frozen=True)
class Reading:
    """The inputs of an attempt at snapshots that were resolved after the claim (R15)."""

    session: SparkSession
    module: Module
    sources: Mapping[str, Source]  # every input by its name, the base with the module's position
    snapshots: Mapping[str, int | None]
    shard: str | None = None

    def base(self, blocks: Sequence[Block], whole: bool) -> DataFrame:
        """The base rows of neighbouring blocks, or all of them."""
        bounds = None if whole else Bounds(blocks[0].bounds.last, blocks[-1].bounds.next)
        name = self.module.base
        return self.sources[name].read(self.session, bounds, self.snapshots[name], self.shard)

    def fingerprint(self, block: Block) -> Fingerprint:
        name = self.module.base
        return self.sources[name].fingerprint(block.bounds, self.snapshots[name], self.shard)

    def tables(self) -> dict[str, DataFrame]:
        return {name: source.read(self.session, None, self.snapshots[name], None) for name, source in self.sources.items()}


def transforms_of(
    session: SparkSession, module: Module, folder: Path, frames: Mapping[str, DataFrame], prefix: str
) -> Transforms:
    """The module's transforms, bound to these tables."""
    views = Views(session, prefix)
    names = {name: views.add(frame) for name, frame in frames.items()}
    return Transforms(session, module, folder, views, names, frames)


def output_rows(
    transforms: Transforms, reading: Reading, blocks: Sequence[Block], processor: Processor, execution_id: int
) -> DataFrame:
    """The rows of all these blocks, each naming its block.

    Many blocks are one query where the transforms go row by row; else one query a range, put together: what a transform makes
    of a block (a sum, say) must not depend on how many blocks are run at once.
    """
    module = transforms.module
    if len(blocks) == 1 or processor.whole:
        output = transforms.output(reading.base(blocks, processor.whole))
        rows = with_audit(output, blocks[-1].id, execution_id)
    elif runs_by_row(module, transforms.folder):
        output = transforms.output(reading.base(blocks, whole=False))
        named = output.selectExpr("*", f"{block_of_row(blocks, module.position)} AS _block")
        rows = with_audit(named, None, execution_id)
    else:
        parts = [with_audit(transforms.output(reading.base([block], whole=False)), block.id, execution_id) for block in blocks]
        rows = reduce(lambda together, part: together.unionByName(part), parts)
    return processor.shape(module, rows)


def output_columns(
    session: SparkSession, module: Module, processor: Processor, folder: Path, frames: Mapping[str, DataFrame]
) -> StructType:
    """The columns that a module's transforms give; nothing is run, and nothing written."""
    prefix = f"dwh_preview_{module.name.replace('.', '_').replace('#', '_')}"
    transforms = transforms_of(session, module.without_writes(), folder, frames, prefix)
    rows = processor.shape(module, with_audit(transforms.output(frames[module.base]), 0, 0))
    return StructType([_optional(field) for field in analysed(rows, module.name) if field.name not in AUDIT])


def _optional(field: StructField) -> StructField:
    """Whether a value must be there is for checks to say; a table column that refuses nulls could never be widened."""
    return StructField(field.name, field.dataType, True)


def empty_table(session: SparkSession, columns: StructType) -> DataFrame:
    """A built table that does not exist yet, as its readers will see it."""
    audit = ["CAST(NULL AS bigint) AS _block", "CAST(NULL AS bigint) AS _execution", "CAST(NULL AS timestamp) AS _loaded_at"]
    return session.createDataFrame([], columns).selectExpr("*", *audit)
