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
from dwh_assets.model.errors import ConfigError, SchemaDrift
from dwh_assets.model.events import Events
from dwh_assets.model.failpoints import protected
from dwh_assets.model.module import Module
from dwh_assets.processors.known import bits_of, without_known
from dwh_assets.processors.processor import AUDIT, Processor, Work, append, mark
from dwh_assets.processors.rejects import Rejects
from dwh_assets.sources.decoding import DETAIL, REASON, RECORD, UNIQUE, columns_of, unique_ids
from dwh_assets.sources.source import Source
from dwh_assets.warehouse.branches import tip
from dwh_assets.warehouse.catalog import CATALOG
from dwh_assets.warehouse.manifests import data_files
from dwh_assets.warehouse.membership import Keys, held
from dwh_assets.warehouse.reading import read_columns
from dwh_assets.warehouse.session import spark_errors

_LETTER = "_letter"
_RAW = {f"_{name}" for name in RECORD} | {DETAIL}


class Ingest(Processor):
    def shape(self, module: Module, output: DataFrame) -> DataFrame:
        """What is kept of a record is needed for dead letters only, and in one column, as each costs something in every row."""
        letter = F.struct(*(F.col(f"_{name}").alias(name) for name in RECORD), F.col(DETAIL).alias("detail"))
        kept = [column for column in output.columns if column not in _RAW]
        return output.select(*kept, F.when(F.col(REASON).isNotNull(), letter).alias(_LETTER))

    def write(self, work: Work) -> RowCounts:
        """Decoded once and kept aside: who is new is found out before the rows are written."""
        events = events_of(work.base)
        if work.rekeyed:
            _make_ids_anew(work, events)
        rows = _without_replayed(work).persist()
        try:
            seen = _Seen.of(rows, work)
            dead = seen.dead()
            _refuse_mixed(work, dead)
            good, known = rows.where(F.col(REASON).isNull()), seen.known(work, events)
            if known is not None:
                good = without_known(good, known, work.module.position, one_pos=len(work.blocks) == 1)
            append(work, good.select(*work.output.columns))
            if dead:
                _append_dead(work, rows.where(F.col(REASON).isNotNull()), dead)
        finally:
            rows.unpersist()
        return RowCounts(read=len(seen.reason), rejected=sum(rows for *_, rows in dead))

    def clear(self, work: Work) -> None:
        super().clear(work)
        if work.rejects is not None and any(block.id in work.rejects.known for block in work.blocks):
            which = f"_block IN ({work.block_list}) AND NOT ({_replayed(work.rejects)})"
            work.session.sql(f"DELETE FROM {work.rejects.branch()} WHERE {which}")


def stage_columns(given: StructType) -> StructType:
    """Those of the stage table, without what is kept for dead letters."""
    return StructType([column for column in given.fields if column.name not in (REASON, _LETTER)])


def events_of(source: Source | None) -> Events:
    events = getattr(source, "events", None)
    if not isinstance(events, Events):
        raise ConfigError(f"{source.name if source else 'nothing'} is no source of events; processor ingest needs one.")
    return events


def dead_letter_columns(rows: DataFrame, position: tuple[str, str]) -> DataFrame:
    """Dead letters as their table has them. Their positions have their own names, whatever the stage table calls them."""
    named = [F.col(position[0]).alias("pos"), F.col(position[1]).alias("id"), F.col(REASON).alias("reason")]
    return rows.select(*named, f"{_LETTER}.*", *AUDIT)


def dead_letter_table() -> StructType:
    """The columns of a table of dead letters."""
    ddl = ", ".join(f"`{name}` {kind}" for name, kind in RECORD.items())
    return columns_of(f"pos timestamp, id bigint, {ddl}, reason string, detail string")


def _append_dead(work: Work, rows: DataFrame, counted: list[tuple[int, str, int]]) -> None:
    assert work.rejects is not None
    append(replace(work, branch=work.rejects.branch()), dead_letter_columns(rows, work.module.position))
    work.rejects.counted += counted


def _replayed(rejects: Rejects) -> str:
    """Which dead letters a later block has tried again, as SQL."""
    return " OR ".join(f"_block = {block} AND reason = '{reason}'" for block, reason in rejects.replayed) or "false"


def _without_replayed(work: Work) -> DataFrame:
    """The records of these blocks, but those that a later block has taken over from their dead letters: they are its rows, and
    would be lost with the letters, or loaded twice."""
    if work.rejects is None or not work.rejects.replayed:
        return work.given
    letters = work.session.table(f"{CATALOG}.{work.rejects.table}").where(_replayed(work.rejects))
    taken = F.broadcast(letters.select(F.col("_block").alias("_by"), F.col("id").alias("_its_id")))
    same = (F.col("_block") == F.col("_by")) & (F.col(work.module.position[1]) == F.col("_its_id"))
    return work.given.join(taken, same, "left_anti")


def _refuse_mixed(work: Work, dead: list[tuple[int, str, int]]) -> None:
    """Letters are tried again by block and reason: new ones could not be told from those that were."""
    for block, reason, rows in dead:
        if work.rejects is not None and (block, reason) in work.rejects.replayed:
            raise SchemaDrift(
                f"block #{block} of {work.module.name}: {rows} events that it had loaded are {reason} now, and dead letters of "
                "that reason were replayed by a later block.\n"
                "Nothing was changed. Correct the schema, or take the later block back first: `dwh rollback`."
            )


@dataclass(frozen=True)
class _Seen:
    """The records of an attempt in the order of their positions: what is wrong with each, and its key."""

    block: NDArray[np.int64]
    pos: NDArray[np.int64]
    id: NDArray[np.int64]
    reason: pa.ChunkedArray
    keys: Keys

    @classmethod
    def of(cls, rows: DataFrame, work: Work) -> _Seen:
        """Of one block it need not be asked which it is and where: what comes from Spark costs something for every row."""
        pos, id_ = work.module.position
        several = [F.col("_block"), F.unix_micros(pos).alias("pos")] if len(work.blocks) > 1 else []
        table = _in_order(rows.select(*several, F.col(id_).alias("id"), REASON, *UNIQUE).toArrow())
        same = np.broadcast_to(np.int64(work.blocks[0].id), len(table)), np.broadcast_to(np.int64(0), len(table))
        block, place = (table["_block"].to_numpy(), table["pos"].to_numpy()) if several else same
        hi, lo = (table[name].fill_null(0).to_numpy() for name in UNIQUE)
        return cls(block, place, table["id"].to_numpy(), table[REASON], Keys(hi, lo))

    def dead(self) -> list[tuple[int, str, int]]:
        """Block, reason and rows of what cannot be loaded."""
        if self.reason.null_count == len(self.reason):
            return []
        bad = pa.table({"block": self.block, "reason": self.reason}).filter(self.reason.is_valid())
        counted = bad.group_by(["block", "reason"]).aggregate([("reason", "count")]).to_pylist()
        return sorted((row["block"], row["reason"], row["reason_count"]) for row in counted)

    def known(self, work: Work, events: Events) -> pa.Table | None:
        """The events that are a repetition within these blocks, or in the table already, as bits."""
        good = np.flatnonzero(self.reason.is_null().to_numpy())
        if not events.key or not len(good):
            return None
        keys = Keys(self.keys.hi[good], self.keys.lo[good])
        drop = good[~keys.first_of_each() | held(keys, _held_ids(work, events))]
        return bits_of(self.pos[drop], self.id[drop]) if len(drop) else None


def _in_order(records: pa.Table) -> pa.Table:
    """By position. Each batch comes so already, as a broker gives records as they lie: to sort many takes seconds."""
    place = [name for name in ("pos", "id") if name in records.column_names]
    batches = [batch for batch in records.to_batches() if batch.num_rows]
    first = sorted(batches, key=lambda batch: [batch[name][0].as_py() for name in place])
    records = pa.Table.from_batches(first, records.schema)
    *several, id_ = (records[name].to_numpy() for name in place)
    rising = id_[1:] > id_[:-1]
    for pos in several:
        rising = (pos[1:] > pos[:-1]) | ((pos[1:] == pos[:-1]) & rising)
    return records if rising.all() else records.sort_by([(name, "ascending") for name in place])


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


def _make_ids_anew(work: Work, events: Events) -> None:
    """The key has other fields now: the ids of the window follow them before the first event is compared (B9)."""
    pos, id_ = work.module.position
    oldest = min(block.bounds.next.pos for block in work.blocks) - events.window
    hi, lo = unique_ids(events.key)
    mark(work)
    since = f"timestamp '{oldest:%Y-%m-%d %H:%M:%S.%f}'"  # of a session in UTC
    given = " AND ".join(f"`{name}` IS NOT NULL" for name in events.key) or "false"
    # Rows that other fields told apart are no repetitions: of those that are alike now only the last keeps the id.
    last = f"{given} AND row_number() OVER (PARTITION BY {hi}, {lo} ORDER BY `{pos}` DESC, `{id_}` DESC) = 1"
    ids = f"SELECT `{pos}`, `{id_}`, IF({last}, {hi}, NULL) AS hi, IF({last}, {lo}, NULL) AS lo"
    work.session.sql(
        f"MERGE INTO {work.branch} t USING ({ids} FROM {work.branch} WHERE `{pos}` >= {since}) s "
        f"ON t.`{pos}` = s.`{pos}` AND t.`{id_}` = s.`{id_}` AND t.`{pos}` >= {since} "
        f"WHEN MATCHED THEN UPDATE SET t.{UNIQUE[0]} = s.hi, t.{UNIQUE[1]} = s.lo"
    )


def doubled_events(session: SparkSession, table: str, snapshot: int, pos: str, window: timedelta) -> int:
    """Events that a table holds more than once, less than the window apart."""
    with spark_errors():
        rows = session.read.option("versionAsOf", str(snapshot)).table(f"{CATALOG}.{table}")
        before = F.lag(pos).over(Window.partitionBy(*UNIQUE).orderBy(pos))
        near = F.unix_micros(pos) - F.unix_micros(before) < int(window.total_seconds() * 1_000_000)
        return rows.where(F.col(UNIQUE[0]).isNotNull()).select(near.alias("near")).where("near").count()
