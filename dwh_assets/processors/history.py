"""History: end-dated versions per key (S46). Each row names the block that wrote it and the block that closed it."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from dwh_assets.model.block import RowCounts
from dwh_assets.model.module import Module
from dwh_assets.processors.processor import Processor, Work, append, mark


class History(Processor):
    replaces = True
    merges = True
    partitioned = False
    extra_columns = {  # noqa: RUF012 - a constant of the class
        "valid_from": "timestamp",
        "valid_to": "timestamp",
        "is_current": "boolean",
        "_closed_by": "bigint",
    }

    def shape(self, module: Module, output: DataFrame) -> DataFrame:
        """Each row is valid until the next one of its key in the same blocks, or still."""
        pos, id_ = module.position
        order = Window.partitionBy(*module.key).orderBy(pos, id_)
        return (
            output.withColumn("valid_from", F.col(pos))
            .withColumn("valid_to", F.lead(pos).over(order))
            .withColumn("is_current", F.lead(F.lit(1)).over(order).isNull())
            .withColumn("_closed_by", F.lead("_block").over(order))
        )

    def write(self, work: Work) -> RowCounts:
        mark(work)
        view = f"history_{work.execution_id}"
        work.output.createOrReplaceTempView(view)
        closed = _close(work, view)
        append(work, work.output)
        work.session.catalog.dropTempView(view)
        return RowCounts(updated=closed)

    def clear(self, work: Work) -> None:
        """The versions of these blocks go, and what they had closed is open again."""
        super().clear(work)
        work.session.sql(
            f"UPDATE {work.branch} SET valid_to = NULL, is_current = true, _closed_by = NULL "
            f"WHERE _closed_by IN ({work.block_list})"
        )


def _close(work: Work, view: str) -> int:
    """End the current version of each key at its first new one; returns how many were ended."""
    keys = ", ".join(f"`{c}`" for c in work.module.key)
    same = " AND ".join(f"t.`{c}` <=> s.`{c}`" for c in work.module.key)
    earliest = f"min(struct(valid_from, `{work.module.position[1]}`, _block)) AS earliest"
    first = f"(SELECT {keys}, {earliest} FROM {view} GROUP BY {keys})"
    row = work.session.sql(f"SELECT count(*) AS n FROM {work.branch} t JOIN {first} s ON {same} WHERE t.is_current").first()
    assert row is not None
    if row.n:
        work.session.sql(
            f"MERGE INTO {work.branch} t USING {first} s ON {same} AND t.is_current WHEN MATCHED THEN UPDATE SET "
            "t.valid_to = s.earliest.valid_from, t.is_current = false, t._closed_by = s.earliest._block"
        )
    return row.n
