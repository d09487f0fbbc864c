"""What every processor does: cut the next blocks, write a block to its branch, take blocks out of a branch again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql.connect.session import SparkSession

from dwh_assets.model.block import Block, RowCounts
from dwh_assets.model.module import Module
from dwh_assets.model.position import Position
from dwh_assets.model.sizing import Plan
from dwh_assets.processors.rejects import Rejects
from dwh_assets.sources.source import Cut, Source
from dwh_assets.warehouse.branches import Fork, writer_options
from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.tables import AUDIT as AUDIT_COLUMNS

AUDIT = tuple(AUDIT_COLUMNS)


@dataclass(frozen=True)
class Work:
    """One attempt, as a processor sees it. `output` is what the transforms gave, with the audit columns, in the table's order."""

    session: SparkSession
    module: Module
    output: DataFrame
    branch: str
    execution_id: int
    blocks: Sequence[Block]
    base: Source | None = None
    whole: DataFrame | None = None  # `output` with what the transforms gave beside it
    catalog: Catalog | None = None
    fork: Fork | None = None
    rejects: Rejects | None = None  # where a block may put what it cannot load
    rekeyed: bool = False  # the ids in the table were made of other fields

    @property
    def given(self) -> DataFrame:
        return self.output if self.whole is None else self.whole

    def written(self) -> DataFrame:
        """The rows of this attempt as they stand on the branch: cheaper than to run the transforms again."""
        return self.session.table(self.branch).where(f"_execution = {self.execution_id}")

    @property
    def block_list(self) -> str:
        return ", ".join(str(block.id) for block in self.blocks)


class Processor:
    """Appends by block: the behaviour of Step, which the other processors change where they differ.

    `replaces`: it changes rows that are already published, so it holds the table from fork to commit.
    `merges`: it writes row by row what its block brings, so the block's rows are kept aside while that is done.
    `whole`: it reads its base whole, not by block.
    `forgets`: earlier states of a row are not kept in the table, so it is restated from its first block.
    `extra_columns`: what it adds to the columns of the transforms.
    """

    replaces = False
    merges = False
    whole = False
    forgets = False
    extra_columns: dict[str, str] = {}  # noqa: RUF012 - a constant of the class
    partitioned = True

    def cut(self, source: Source, tail: Position, upto: datetime, plan: Plan, module: Module, shard: str | None) -> list[Cut]:
        """The next blocks behind `tail`, in order, at most `plan.count`."""
        return source.cut(tail, upto, plan.size, plan.count, shard)

    def shape(self, module: Module, output: DataFrame) -> DataFrame:
        """The rows of a block as this processor writes them."""
        return output

    def write(self, work: Work) -> RowCounts:
        append(work, work.output)
        return RowCounts()

    def clear(self, work: Work) -> None:
        """Take the rows of these blocks out of the branch, so that they can be written again or stay away."""
        mark(work)
        work.session.sql(f"DELETE FROM {work.branch} WHERE _block IN ({work.block_list})")


def append(work: Work, rows: DataFrame) -> None:
    """Append rows to the attempt's branch; the snapshot carries the execution, so that every zombie can be told (R4)."""
    writer = rows.writeTo(work.branch).options(**writer_options(work.execution_id))
    writer.option("fanout-enabled", "true").option("distribution-mode", "none").append()


def mark(work: Work) -> None:
    """Statements have no writer options: the session, which is this attempt's own, carries the execution instead (R12)."""
    for name, value in writer_options(work.execution_id).items():
        work.session.conf.set(f"spark.sql.iceberg.{name}", value)
