"""What the blocks of a table hold, as one hash sum each."""

from __future__ import annotations

from pyspark.sql import functions as F
from pyspark.sql.connect.session import SparkSession

from dwh_assets.sources.content import row_hash


def content_by_block(session: SparkSession, table: str, snapshot: int) -> dict[int, int]:
    """Block -> hash sum of its rows, of the whole table in one job."""
    frame = session.read.option("versionAsOf", str(snapshot)).table(f"dwh.{table}")
    summed = F.sum(row_hash(frame.schema.fields).cast("decimal(38,0)")).alias("hash")
    return {found["_block"]: int(found["hash"]) for found in frame.groupBy("_block").agg(summed).collect()}
