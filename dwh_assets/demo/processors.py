"""A processor of the demo's own, to show how a project adds one: name it in the Lineage as package.module:Class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwh_assets.processors.processor import Processor

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dwh_assets.model.module import Module


class FirstPerKey(Processor):
    """A step that keeps, of the rows of a block that share the module's key, the one with the lowest position."""

    def shape(self, module: Module, output: DataFrame) -> DataFrame:
        from pyspark.sql import Window
        from pyspark.sql import functions as sf

        # By block too: a restatement shapes many blocks at once, and each keeps its own rows.
        order = Window.partitionBy("_block", *module.key).orderBy(*module.position)
        return output.withColumn("_rank", sf.row_number().over(order)).where("_rank = 1").drop("_rank")
