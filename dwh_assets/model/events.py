"""Events from outside: what they look like, how they are told apart, and what a block of them is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

Format = Literal["json", "avro", "protobuf", "csv", "parquet"]
PARTITION_BITS = 48  # of an offset, below the partition; together with 15 bits of partition an id fits a bigint
FILE_BITS = 32  # of a row's number, below that of its file
MOST_PARTITIONS = 2 ** (63 - PARTITION_BITS)
MOST_FILES = 2 ** (63 - FILE_BITS)
MOST_ID = 2**63 - 1  # of a row, whatever its partition or file
CLOCK_SKEW = timedelta(hours=1)  # how far the clock of a producer may be ahead of ours


@dataclass(frozen=True)
class EventField:
    """One field of an event, as a column of the stage table."""

    name: str
    type: str  # in Spark's words
    required: bool = False


@dataclass(frozen=True)
class EventSchema:
    """One declared version. `text` is its file: JSON, or a descriptor set in base64."""

    version: int
    fields: tuple[EventField, ...]
    text: str = ""


@dataclass(frozen=True)
class Events:
    """How the events of a source are read and told apart.

    `version_in`: `header:NAME`, `field:NAME`, `confluent` (the schema id of the wire format), or empty where there is one.
    `event_time`: the field that says when an event happened; without it, the time of its record or file.
    """

    format: Format
    schemas: tuple[EventSchema, ...]  # by version, rising
    key: tuple[str, ...] = ()
    version_in: str = ""
    message: str | None = None  # protobuf only
    event_time: str | None = None
    retention: timedelta = timedelta(days=7)
    replay: timedelta = timedelta(days=1)
    dedup_age: timedelta = timedelta(days=9)
    unknown_fields: Literal["refuse", "ignore"] = "refuse"
    evolution: Literal["additive", "none"] = "additive"

    @property
    def newest(self) -> EventSchema:
        """Versions only add fields, so the newest one has them all."""
        return self.schemas[-1]

    @property
    def window(self) -> timedelta:
        """How far back an earlier delivery of an event may lie that is not too old."""
        return self.dedup_age + CLOCK_SKEW


@dataclass(frozen=True)
class Security:
    """How a broker is spoken to. Secrets are names of environment variables; files lie in the project."""

    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    username_env: str | None = None
    password_env: str | None = None
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None


@dataclass(frozen=True)
class KafkaTopic:
    topic: str
    brokers: tuple[str, ...] = ()  # none: DWH_KAFKA_BOOTSTRAP, else the broker of `dwh kafka up`
    start: str = "earliest"  # earliest, latest or a timestamp
    security: Security = Security()
    options: dict[str, str] = field(default_factory=dict)  # further client settings, given to both clients as they are


@dataclass(frozen=True)
class FileFolder:
    path: str
    pattern: str = "*"
    settle: timedelta = timedelta(seconds=5)  # a file that changed less than this ago may still be written to
    header: bool = True  # csv only
    delimiter: str = ","


@dataclass(frozen=True)
class LoadedFile:
    """One file of a block. Its number goes into the ids of its rows."""

    number: int
    name: str
    size: int
    checksum: str
    modified: float  # when it was last written to
    rows: int


@dataclass(frozen=True)
class Replay:
    """Dead letters of one earlier block, of one reason, that are tried again."""

    block: int
    reason: str


@dataclass(frozen=True)
class Contents:
    """What a block of events is made of, stored before anything is read: the same block always gives the same rows."""

    stream: str = ""  # the identity of the Kafka topic: one that was created anew has another
    first: dict[int, int] = field(default_factory=dict)  # partition -> first offset
    end: dict[int, int] = field(default_factory=dict)  # partition -> the offset behind the last; all known partitions
    files: tuple[LoadedFile, ...] = ()
    replays: tuple[Replay, ...] = ()

    @property
    def rows(self) -> int:
        """Offsets, not rows: a compacted topic has fewer."""
        return sum(self.end[partition] - first for partition, first in self.first.items())

    def to_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"stream": self.stream, "first": _texts(self.first), "end": _texts(self.end)}
        shown["files"] = [vars(file) for file in self.files]
        shown["replays"] = [vars(replay) for replay in self.replays]
        return shown

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Contents:
        return cls(
            stream=stored.get("stream", ""),
            first=_numbers(stored.get("first", {})),
            end=_numbers(stored.get("end", {})),
            files=tuple(LoadedFile(**file) for file in stored.get("files", ())),
            replays=tuple(Replay(**replay) for replay in stored.get("replays", ())),
        )


def _texts(offsets: dict[int, int]) -> dict[str, int]:
    return {str(partition): offset for partition, offset in sorted(offsets.items())}


def _numbers(stored: dict[str, int]) -> dict[int, int]:
    return {int(partition): offset for partition, offset in stored.items()}


def dead_letters_of(table: str) -> str:
    """The table that keeps what could not be loaded into a stage table."""
    return f"{table}_dead"
