"""A Kafka topic as a source: blocks are ranges of offsets, stored before they are read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import functions as F

from dwh_assets.config.settings import Settings
from dwh_assets.model.errors import PositionsLost, SourceError
from dwh_assets.model.events import PARTITION_BITS, Contents, Events, KafkaTopic
from dwh_assets.model.module import SourceTable
from dwh_assets.model.position import MICROSECOND, Bounds, Position
from dwh_assets.sources.decoding import ORIGIN, RECORD, Decoder
from dwh_assets.sources.kafka.broker import Broker, Held
from dwh_assets.sources.kafka.security import client_settings
from dwh_assets.sources.kafka.server import KafkaServer
from dwh_assets.sources.ledger import IngestLedger, Reached, StoredBlock
from dwh_assets.sources.rows import Rows, micros
from dwh_assets.sources.source import NOTHING, Cut, Fingerprint, Noted, Observation, ReadRange, Recount

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

ROWS_A_READER = 250_000
MOST_POLLED = "10000"  # whatever the client fetched at once: after each poll Spark asks it for its place


@dataclass
class KafkaSource:
    name: str
    events: Events
    kafka: KafkaTopic
    broker: Broker
    reader: Mapping[str, str] = field(repr=False)  # settings of Spark's client
    ledger: IngestLedger
    position: tuple[str, str] = ("pos", "id")

    def observe(self, now: datetime) -> Observation:
        """Events get their position when they are taken in, so the clock is the watermark; new is what no block holds yet."""
        held = self.broker.held()
        reached, ahead = self._ahead(held)
        pending = sum(end - first for first, end in ahead.values())
        return Observation(now, now if pending else reached.last.pos, pending)

    def snapshot(self) -> int | None:
        return None

    def cut(self, last: Position, upto: datetime, size: int, count: int, shard: str | None = None) -> list[Cut]:
        """Blocks of about `size` offsets, each with a share of every partition; their pos rise strictly, up to `upto`."""
        if size < 1:
            raise ValueError(f"a block needs at least one row, not {size}")
        held = self.broker.held()
        reached, ahead = self._ahead(held)
        pending = sum(end - first for first, end in ahead.values())
        wanted = min(count, -(-pending // size))
        floor = max(last.pos, reached.watermark)
        if not wanted or upto - wanted * MICROSECOND < floor:
            return []
        cuts: list[Cut] = []
        begun = {partition: first for partition, (first, _) in ahead.items()}
        for number in range(1, wanted + 1):
            share = min(number * size, pending)
            ends = {p: first + (end - first) * share // pending for p, (first, end) in ahead.items()}
            contents = Contents(held.stream, begun, ends)
            if not contents.rows:
                continue  # a share of less than one event of each partition
            next_ = Position(upto - (wanted - number) * MICROSECOND, _greatest_id(contents))
            cuts.append(Cut(next_, contents.rows, takes_all=share == pending, contents=contents))
            begun = ends
        return cuts

    def read(self, session: SparkSession, bounds: Bounds | None, snapshot: int | None, shard: str | None = None) -> DataFrame:
        """The events of the blocks in this range, decoded, with what is wrong with each; no rows where there is no range."""
        decoder = Decoder(self.events, self.position)
        if bounds is None:
            return decoder.nothing(session)
        self.require_held(bounds)
        blocks = self.ledger.blocks(bounds)
        parts = [part for block in blocks for part in self._parts(session, decoder, block)]
        return reduce(lambda together, part: together.unionByName(part), parts) if parts else decoder.nothing(session)

    def fingerprint(self, bounds: Bounds, snapshot: int | None, shard: str | None = None) -> Fingerprint:
        """Of the offsets that the blocks hold: which of them were events is counted when they are read."""
        found = NOTHING
        for block in self.ledger.blocks(bounds):
            for partition, first in block.contents.first.items():
                ids = np.arange(first, block.contents.end[partition], dtype=np.uint64) + np.uint64(partition << PARTITION_BITS)
                found += Rows(np.full(len(ids), micros(block.pos), np.int64), ids).fingerprint()
        return found

    def late(self, ranges: Sequence[ReadRange], shard: str | None = None) -> dict[int, int]:
        """None: what comes later has a greater offset, so it is in a later block."""
        return {}

    def recount(self, bounds: Bounds, noted: Noted, shard: str | None = None) -> Recount | None:
        """None: what a broker has dropped cannot be counted, and what it still has never changes."""
        return None

    def require_held(self, bounds: Bounds) -> None:
        """Every offset of these blocks must still be there: one that is gone would be a hole that nobody sees."""
        contents = [block.contents for block in self.ledger.blocks(bounds)]
        if any(part.first != part.end for part in contents):
            held = self.broker.held()
            for part in contents:
                self._require(part.stream, {p: first for p, first in part.first.items() if first < part.end[p]}, held, part.end)

    def _ahead(self, held: Held) -> tuple[Reached, dict[int, tuple[int, int]]]:
        """Partition -> the next offset and the end of what is there. Partitions that were added begin at their first event."""
        reached = self._reached(held)
        assert reached.contents is not None
        first = dict(reached.contents.end)
        self._require(reached.contents.stream, first, held, first)
        for partition in held.high.keys() - first.keys():
            first[partition] = held.low[partition]
        return reached, {p: (first[p], max(first[p], held.high[p])) for p in sorted(first)}

    def _reached(self, held: Held) -> Reached:
        """How far the stream was taken in. Where it begins is noted when it is first looked at: `latest` means that moment."""
        reached = self.ledger.reached()
        if reached.contents is not None:
            return reached
        self.ledger.begin(Contents(held.stream, end=self._start(held)))
        return self.ledger.reached()

    def _start(self, held: Held) -> dict[int, int]:
        if self.kafka.start == "earliest":
            return held.low
        return held.high if self.kafka.start == "latest" else self.broker.at(datetime.fromisoformat(self.kafka.start))

    def _require(self, stream: str, first: Mapping[int, int], held: Held, end: Mapping[int, int]) -> None:
        gone = sorted(first.keys() - held.high.keys())
        if stream != held.stream or gone:
            text = "was deleted and created anew" if stream != held.stream else f"has lost the partitions {gone}"
            raise PositionsLost(self._lost(f"topic {self.kafka.topic} {text}: its offsets mean other events now"))
        lost = [
            f"partition {p}: wanted from {offset}, the broker holds {held.low[p]} to {held.high[p]}"
            for p, offset in sorted(first.items())
            if offset < held.low[p] or end[p] > held.high[p]
        ]
        if lost:
            raise PositionsLost(
                self._lost(f"the broker no longer holds all events of topic {self.kafka.topic}; " + "; ".join(lost))
            )

    def _lost(self, what: str) -> str:
        return (
            f"source {self.name}: {what}.\n"
            "Nothing was skipped and no cursor moved. To go on without what is lost, after you know why it was: "
            f"`dwh kafka seek {self.ledger.topic} --to earliest --reason ...`."
        )

    def _parts(self, session: SparkSession, decoder: Decoder, block: StoredBlock) -> list[DataFrame]:
        parts = []
        if block.contents.rows:
            parts.append(decoder.decoded(self._records(session, block), block.pos))
        if block.contents.replays:
            parts.append(decoder.decoded(self.ledger.dead_letters(session, block.contents.replays), block.pos))
        return parts

    def _records(self, session: SparkSession, block: StoredBlock) -> DataFrame:
        contents = block.contents
        taken = {p: first for p, first in contents.first.items() if first < contents.end[p]}
        options = {
            "kafka.max.poll.records": MOST_POLLED,
            **self.reader,
            "assign": json.dumps({self.kafka.topic: sorted(taken)}),
            "startingOffsets": json.dumps({self.kafka.topic: {str(p): first for p, first in taken.items()}}),
            "endingOffsets": json.dumps({self.kafka.topic: {str(p): contents.end[p] for p in taken}}),
            "failOnDataLoss": "true",
            "includeHeaders": str(self.events.version_in.startswith("header:")).lower(),  # they cost a tenth of the reading
            "kafkaConsumer.pollTimeoutMs": "30000",
            "minPartitions": str(max(len(taken), contents.rows // ROWS_A_READER + 1, 2)),
            "kafka.isolation.level": "read_committed",
        }
        records = session.read.format("kafka").options(**options).load()
        id_ = F.shiftleft(F.col("partition").cast("bigint"), PARTITION_BITS) + F.col("offset")
        headers = F.col("headers") if "headers" in records.columns else F.lit(None).cast(RECORD["headers"])
        whole = [F.col("topic").alias(ORIGIN), *map(F.col, ("partition", "offset", "timestamp", "key", "value"))]
        return records.select(id_.alias("id"), *whole, headers.alias("headers"))


def _greatest_id(contents: Contents) -> int:
    ids = [(p << PARTITION_BITS) + contents.end[p] - 1 for p, first in contents.first.items() if contents.end[p] > first]
    return max(ids)


def open_kafka(table: SourceTable, ledger: IngestLedger, settings: Settings) -> KafkaSource:
    """The source that a Lineage file declares. Its brokers are those it names, else DWH_KAFKA_BOOTSTRAP, else our own."""
    assert table.kafka is not None
    assert table.events is not None
    brokers = ",".join(table.kafka.brokers) or settings.kafka_bootstrap or KafkaServer(settings).address()
    if not brokers:
        raise SourceError(
            f"source {table.name}: no broker is known. Name it in its file under kafka.brokers, or in DWH_KAFKA_BOOTSTRAP; "
            "`dwh kafka up` starts one on this machine."
        )
    clients = client_settings(table.name, table.kafka, brokers, settings.project)
    broker = Broker(table.name, table.kafka.topic, clients.probe)
    return KafkaSource(table.name, table.events, table.kafka, broker, clients.reader, ledger, table.position)
