"""Ingest: events into their stage table, each once; what cannot be loaded goes to the table of dead letters beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.types import StructType

from dwh_assets.model.block import RowCounts
from dwh_assets.model.errors import ConfigError
from dwh_assets.model.events import Events
from dwh_assets.model.failpoints import protected
from dwh_assets.model.module import Module
from dwh_assets.processors.processor import AUDIT, Processor, Work, append, mark
from dwh_assets.sources.decoding import DETAIL, REASON, RECORD, UNIQUE, columns_of, unique_ids
from dwh_assets.sources.source import Source
from dwh_assets.warehouse.branches import tip
from dwh_assets.warehouse.catalog import CATALOG
from dwh_assets.warehouse.manifests import data_files
from dwh_assets.warehouse.membership import Keys, held
from dwh_assets.warehouse.reading import read_columns
from dwh_assets.warehouse.session import spark_errors


class Ingest(Processor):
    def shape(self, module: Module, output: DataFrame) -> DataFrame:
        """What is kept of a record is needed for dead letters only."""
        raw = [F.when(F.col(REASON).isNotNull(), F.col(f"_{name}")).alias(f"_{name}") for name in RECORD]
        kept = [column for column in output.columns if column.removeprefix("_") not in RECORD or not column.startswith("_")]
        return output.select(*kept, *raw)

    def write(self, work: Work) -> RowCounts:
        """Decoded once and kept aside: who is new is found out before the rows are written."""
        events = events_of(work.base)
        if work.rekeyed:
            _make_ids_anew(work, events)
        rows = work.given.persist()
        try:
            seen = _Seen.of(rows, work.module.position)
            dead = seen.dead()
            append(work, _without(rows.where(F.col(REASON).isNull()), work, seen.known(work, events)))
            if dead:
                _append_dead(work, rows.where(F.col(REASON).isNotNull()), dead)
        finally:
            rows.unpersist()
        return RowCounts(read=len(seen.reason), rejected=sum(rows for *_, rows in dead))

    def clear(self, work: Work) -> None:
        super().clear(work)
        if work.rejects is not None and any(block.id in work.rejects.known for block in work.blocks):
            work.session.sql(f"DELETE FROM {work.rejects.branch()} WHERE _block IN ({work.block_list})")


def stage_columns(given: StructType) -> StructType:
    """Those of the stage table, without what is kept for dead letters."""
    aside = {f"_{name}" for name in RECORD} | {REASON, DETAIL}
    return StructType([column for column in given.fields if column.name not in aside])


def events_of(source: Source | None) -> Events:
    events = getattr(source, "events", None)
    if not isinstance(events, Events):
        raise ConfigError(f"{source.name if source else 'nothing'} is no source of events; processor ingest needs one.")
    return events


def dead_letter_columns(rows: DataFrame, position: tuple[str, str]) -> DataFrame:
    """Dead letters as their table has them. Their positions have their own names, whatever the stage table calls them."""
    raw = [F.col(f"_{name}").alias(name) for name in RECORD]
    named = [F.col(position[0]).alias("pos"), F.col(position[1]).alias("id")]
    return rows.select(*named, *raw, F.col(REASON).alias("reason"), F.col(DETAIL).alias("detail"), *AUDIT)


def dead_letter_table() -> StructType:
    """The columns of a table of dead letters."""
    ddl = ", ".join(f"`{name}` {kind}" for name, kind in RECORD.items())
    return columns_of(f"pos timestamp, id bigint, {ddl}, reason string, detail string")


def _append_dead(work: Work, rows: DataFrame, counted: list[tuple[int, str, int]]) -> None:
    assert work.rejects is not None
    append(replace(work, branch=work.rejects.branch()), dead_letter_columns(rows, work.module.position))
    work.rejects.counted += counted


@dataclass(frozen=True)
class _Seen:
    """The records of an attempt in the order of their positions: what is wrong with each, and its key."""

    block: NDArray[np.int64]
    pos: NDArray[np.int64]
    id: NDArray[np.int64]
    reason: pa.ChunkedArray
    keys: Keys

    @classmethod
    def of(cls, rows: DataFrame, position: tuple[str, str]) -> _Seen:
        pos, id_ = position
        chosen = rows.select("_block", F.unix_micros(pos).alias("pos"), F.col(id_).alias("id"), REASON, *UNIQUE)
        table = chosen.toArrow().sort_by([("pos", "ascending"), ("id", "ascending")])
        hi, lo = (table[name].fill_null(0).to_numpy() for name in UNIQUE)
        return cls(table["_block"].to_numpy(), table["pos"].to_numpy(), table["id"].to_numpy(), table[REASON], Keys(hi, lo))

    def dead(self) -> list[tuple[int, str, int]]:
        """Block, reason and rows of what cannot be loaded."""
        bad = pa.table({"block": self.block, "reason": self.reason}).filter(self.reason.is_valid())
        counted = bad.group_by(["block", "reason"]).aggregate([("reason", "count")]).to_pylist()
        return sorted((row["block"], row["reason"], row["reason_count"]) for row in counted)

    def known(self, work: Work, events: Events) -> list[tuple[int, int]]:
        """(pos, id) of the events that are a repetition within these blocks, or in the table already."""
        good = np.flatnonzero(self.reason.is_null().to_numpy())
        if not events.key or not len(good):
            return []
        keys = Keys(self.keys.hi[good], self.keys.lo[good])
        drop = ~keys.first_of_each() | held(keys, _held_ids(work, events))
        return list(zip(self.pos[good][drop].tolist(), self.id[good][drop].tolist(), strict=True))


def _held_ids(work: Work, events: Events) -> Iterator[pa.RecordBatch]:
    """The ids in the table, as far back as an event may come again. The branch is the table without these blocks.

    Of each row two numbers are read, of files from before the window nothing.
    """
    assert work.catalog is not None
    assert work.fork is not None
    oldest = min(block.bounds.next.pos for block in work.blocks) - events.window
    # Not main's head: there a block that is restated would find its own rows and leave all of them out (R20).
    snapshot = tip(work.catalog, work.fork) if protected("own_rows") else work.fork.snapshot_id
    pos = work.module.position[0]
    files = [f for f in data_files(work.catalog, work.fork.table, snapshot) if _reaches(f.upper.get(pos), oldest)]
    return read_columns(work.catalog, work.fork.table, snapshot, list(UNIQUE), (), files) if files else iter(())


def _reaches(upper: object, oldest: datetime) -> bool:
    return not isinstance(upper, datetime) or upper >= oldest


def _without(rows: DataFrame, work: Work, known: list[tuple[int, int]]) -> DataFrame:
    """The rows of the stage table, but those that are known."""
    columns = work.output.columns
    if not known:
        return rows.select(*columns)
    pos, id_ = work.module.position
    table = pa.table({"_known_pos": [at for at, _ in known], "_known_id": [id_ for _, id_ in known]})
    left_out = F.broadcast(work.session.createDataFrame(table))
    same = (F.col(id_) == F.col("_known_id")) & (F.unix_micros(pos) == F.col("_known_pos"))
    return rows.select(*columns).join(left_out, same, "left_anti")


def _make_ids_anew(work: Work, events: Events) -> None:
    """The key has other fields now: the ids of the window follow them before the first event is compared (B9)."""
    pos = work.module.position[0]
    oldest = min(block.bounds.next.pos for block in work.blocks) - events.window
    hi, lo = unique_ids(events.key)
    mark(work)
    since = f"timestamp '{oldest:%Y-%m-%d %H:%M:%S.%f}'"  # of a session in UTC
    work.session.sql(f"UPDATE {work.branch} SET {UNIQUE[0]} = {hi}, {UNIQUE[1]} = {lo} WHERE `{pos}` >= {since}")


def doubled_events(session: SparkSession, table: str, snapshot: int, pos: str, window: timedelta) -> int:
    """Events that a table holds more than once, less than the window apart."""
    with spark_errors():
        rows = session.read.option("versionAsOf", str(snapshot)).table(f"{CATALOG}.{table}")
        before = F.lag(pos).over(Window.partitionBy(*UNIQUE).orderBy(pos))
        near = F.unix_micros(pos) - F.unix_micros(before) < int(window.total_seconds() * 1_000_000)
        return rows.select(near.alias("near")).where("near").count()
