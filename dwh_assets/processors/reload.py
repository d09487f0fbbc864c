"""Reload: the whole table is built again; readers see the old one or the new one (S41)."""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import functions as F

from dwh_assets.model.block import RowCounts
from dwh_assets.model.module import Module
from dwh_assets.model.position import MAX_ID, Position
from dwh_assets.model.sizing import Plan
from dwh_assets.processors.processor import Processor, Work
from dwh_assets.sources.source import Cut, Source
from dwh_assets.warehouse.branches import writer_options


class Reload(Processor):
    replaces = True
    whole = True
    partitioned = False

    def cut(self, source: Source, tail: Position, upto: datetime, plan: Plan, module: Module, shard: str | None) -> list[Cut]:
        return [Cut(Position(upto, MAX_ID), 0, True)] if upto > tail.pos else []

    def write(self, work: Work) -> RowCounts:
        writer = work.output.writeTo(work.branch).options(**writer_options(work.execution_id))
        writer.overwrite(F.lit(True))
        return RowCounts()
