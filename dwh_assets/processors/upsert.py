"""Upsert: the newest state per key is merged into the target (S43)."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from dwh_assets.model.block import RowCounts
from dwh_assets.model.module import Module
from dwh_assets.processors.processor import Processor, Work, mark


class Upsert(Processor):
    replaces = True
    merges = True
    forgets = True
    partitioned = False

    def shape(self, module: Module, output: DataFrame) -> DataFrame:
        """The newest state per key: by position, as a pair."""
        pos, id_ = module.position
        newest = Window.partitionBy(*module.key).orderBy(F.col(pos).desc(), F.col(id_).desc())
        ranked = output.withColumn("_rank", F.row_number().over(newest))
        kept = ranked.where("_rank = 1").drop("_rank")
        if module.tag is None:
            return kept
        own_pos, own_id = _version(module)
        return kept.withColumn(own_pos, F.col(pos)).withColumn(own_id, F.col(id_))

    def write(self, work: Work) -> RowCounts:
        mark(work)
        view = f"upsert_{work.execution_id}"
        work.output.createOrReplaceTempView(view)
        counts = _count(work, view)
        work.session.sql(_merge(work, view))
        work.session.catalog.dropTempView(view)
        return counts


def _same_key(module: Module) -> str:
    return " AND ".join(f"t.`{column}` <=> s.`{column}`" for column in module.key)


def _version(module: Module) -> tuple[str, str]:
    """Where the position of this stream's newest row is kept. Each tag has its own: what one stream brings is not older because
    another one is ahead."""
    return (f"_pos_{module.tag}", f"_id_{module.tag}") if module.tag else module.position


def _not_older(module: Module) -> str:
    """Not older than what the table holds of this stream; equal is the same row again."""
    pos, id_ = _version(module)
    return f"(t.`{pos}` IS NULL OR s.`{pos}` > t.`{pos}` OR (s.`{pos}` = t.`{pos}` AND s.`{id_}` >= t.`{id_}`))"


def _new_value(module: Module, column: str) -> str:
    """What a column is set to: the stream's value; the row's position, which streams share, only ever rises."""
    pos, id_ = module.position
    ahead = f"(t.`{pos}` > s.`{pos}` OR (t.`{pos}` = s.`{pos}` AND t.`{id_}` > s.`{id_}`))"
    return f"IF({ahead}, t.`{column}`, s.`{column}`)" if module.tag and column in module.position else f"s.`{column}`"


def _deleted(module: Module) -> str:
    return "coalesce(s._deleted, false)" if module.deleted else "false"


def _source(work: Work, view: str) -> str:
    deleted = f", ({work.module.deleted}) AS _deleted" if work.module.deleted else ""
    return f"(SELECT *{deleted} FROM {view})"


def _count(work: Work, view: str) -> RowCounts:
    module = work.module
    hit, newer, gone = "t._hit", _not_older(module), _deleted(module)
    keys = ", ".join(f"`{c}`" for c in (*module.key, *_version(module)))
    row = work.session.sql(
        f"SELECT count_if({hit} IS NULL AND NOT {gone}) AS inserted, count_if({hit} AND {newer} AND NOT {gone}) AS updated, "
        f"count_if({hit} AND {newer} AND {gone}) AS deleted, "
        f"count_if(({hit} AND NOT {newer}) OR ({hit} IS NULL AND {gone})) AS discarded "
        f"FROM {_source(work, view)} s LEFT JOIN (SELECT {keys}, true AS _hit FROM {work.branch}) t ON {_same_key(module)}"
    ).first()
    assert row is not None
    return RowCounts(inserted=row.inserted, updated=row.updated, deleted=row.deleted, discarded=row.discarded)


def _merge(work: Work, view: str) -> str:
    """Columns that this stream does not bring keep their value: only its own are set."""
    module = work.module
    columns = [column for column in work.output.columns if column not in module.key]
    update = ", ".join(f"t.`{c}` = {_new_value(module, c)}" for c in columns)
    names = ", ".join(f"`{c}`" for c in work.output.columns)
    values = ", ".join(f"s.`{c}`" for c in work.output.columns)
    newer, gone = _not_older(module), _deleted(module)
    delete = f"WHEN MATCHED AND {newer} AND {gone} THEN DELETE " if module.deleted else ""
    return (
        f"MERGE INTO {work.branch} t USING {_source(work, view)} s ON {_same_key(module)} "
        f"{delete}WHEN MATCHED AND {newer} THEN UPDATE SET {update} "
        f"WHEN NOT MATCHED AND NOT {gone} THEN INSERT ({names}) VALUES ({values})"
    )
