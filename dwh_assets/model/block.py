"""Blocks, claims and what an attempt leaves behind, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from dwh_assets.model.events import Contents
from dwh_assets.model.module import Module
from dwh_assets.model.parameter import Parameter
from dwh_assets.model.position import Bounds

Status = Literal["planned", "open", "parked", "committed", "skipped", "stale", "void"]


@dataclass(frozen=True)
class Block:
    """A stored, immutable range of one topic."""

    id: int
    topic_id: int
    seq: int
    bounds: Bounds
    status: Status
    upto: datetime
    takes_all: bool
    planned_rows: int | None = None
    base_rows: int | None = None
    hash_sum: int | None = None
    failures: int = 0
    crashes: int = 0
    waived: tuple[str, ...] = ()
    late_rows: int = 0
    contents: Contents | None = field(default=None, hash=False)  # of a block of events


@dataclass(frozen=True)
class Start:
    """A run that was asked for, alone or as part of a batch. It passes over repeat, window, back-off; never over the horizon."""

    batch: str | None = None
    instance: int | None = None  # of the batch
    roll_back: bool = False  # the batch takes its last run back
    parameters: tuple[Parameter, ...] = ()  # of the batch


@dataclass(frozen=True)
class Hold:
    """The right to run a topic, until the lease runs out or the token is superseded."""

    topic: str
    topic_id: int
    token: int
    worker: str
    execution_id: int
    attempt: int

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"{self.topic}, execution {self.execution_id}"


@dataclass(frozen=True)
class Claim(Hold):
    """The right to attempt one block, or to restate some."""

    shard: str | None
    target: str
    module: Module
    module_version: int
    generations: dict[str, int]
    blocks: tuple[Block, ...]  # one to load, or those to restate, in order
    restatement: int | None = None
    kind: Literal["load", "restate", "rollback"] = "load"
    of_batch: tuple[Parameter, ...] = ()  # parameters of the batch that it is part of

    @property
    def block(self) -> Block:
        return self.blocks[0]

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.blocks[0].bounds.last, self.blocks[-1].bounds.next)

    @property
    def label(self) -> str:
        if self.kind == "load":
            return f"topic {self.topic}, block #{self.block.id}"
        return f"topic {self.topic}, {self.kind} of blocks {self.blocks[0].seq} to {self.blocks[-1].seq}"


@dataclass(frozen=True)
class RowCounts:
    """What an attempt did with rows (D11)."""

    read: int = 0
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    discarded: int = 0
    rejected: int = 0


@dataclass(frozen=True)
class CheckResult:
    name: str
    severity: Literal["error", "warn"]
    passed: bool
    value: float | None
    text: str


@dataclass(frozen=True)
class BlockStats:
    """What one committed block holds (S50, S51)."""

    block_id: int
    rows: int
    base_rows: int
    hash_sum: int
    bytes: int = 0
    bytes_read: int = 0
    seconds: float = 0.0
    memory: int | None = None
    max_id: int | None = None
    min_pos: datetime | None = None
    max_pos: datetime | None = None
    nulls: dict[str, int] = field(default_factory=dict)
    measures: dict[str, Any] = field(default_factory=dict)
    expects: dict[str, int] = field(default_factory=dict)
    checks: tuple[CheckResult, ...] = ()
    base_content: int | None = None  # a hash sum over the values of its base rows, where the source gives it
    base_hashed: list[str] | None = None  # by what, and of which columns
