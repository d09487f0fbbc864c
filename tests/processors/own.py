"""Transforms and a processor of a project's own."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dwh_assets.model.module import Module
from dwh_assets.processors.processor import Processor


def doubled(block: DataFrame, src_names: DataFrame) -> DataFrame:
    """A Python transform: the block, and a declared table by its parameter's name."""
    named = src_names.select(F.col("k"), F.col("v").alias("bonus"))
    return block.join(named, "k", "left").select("pos", "id", "k", (F.col("v") * 2 + F.coalesce("bonus", F.lit(0))).alias("v"))


class OnlyEven(Processor):
    """A processor of one's own: a step that writes the rows with an even value."""

    def shape(self, module: Module, output: DataFrame) -> DataFrame:
        return output.where("v % 2 = 0")
