"""A transform in Python that reads a parameter."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame


def above(block: DataFrame, params: dict[str, Any]) -> DataFrame:
    return block.where(block.v >= params["least"]).select("pos", "id", "k", "v")
