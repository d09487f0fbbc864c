"""What one Lineage row says: how one table (or one `#tag` of it) is built, and what its sources are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import Any, Literal

from dwh_assets.model.batch import Batch, Command
from dwh_assets.model.events import Events, FileFolder, KafkaTopic, dead_letters_of
from dwh_assets.model.parameter import Parameter
from dwh_assets.model.window import Window

PROCESSORS = ("step", "reload", "range", "upsert", "history", "one_day_step", "ingest")
Severity = Literal["error", "warn"]


@dataclass(frozen=True)
class Check:
    """A declared check. `error` blocks the commit and parks the block, `warn` only records.

    not_null: one column. unique: its columns. null_ratio: one column, nulls / rows at most `max_ratio`. rows: rows out within
    `minimum` and `maximum`, rows out / rows in within the ratios. expect: rows that fulfil `predicate` / rows out at least
    `min_ratio`. dead_letters: events of the block that could not be loaded, at most `maximum`, of all at most `max_ratio`.
    """

    kind: Literal["not_null", "null_ratio", "rows", "unique", "expect", "dead_letters"]
    name: str
    columns: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    min_ratio: float | None = None
    max_ratio: float | None = None
    predicate: str | None = None
    severity: Severity = "error"


@dataclass(frozen=True)
class Action:
    """One entry of `before` or `after`: a temporary view, or a write that its author declares idempotent."""

    sql: str
    idempotent: bool = False


@dataclass(frozen=True)
class Module:
    name: str
    table: str
    depends_on: tuple[str, ...]
    tag: str | None = None
    area: str = ""
    description: str = ""
    owner: str | None = None
    comment: str = ""
    active: bool = True
    reads: tuple[str, ...] = ()
    processor: str = "step"
    transforms: tuple[str, ...] = ()
    before: tuple[Action, ...] = ()
    after: tuple[Action, ...] = ()
    position: tuple[str, str] = ("pos", "id")
    start: str = "earliest"
    delay: timedelta = timedelta()
    repeat: timedelta = timedelta(hours=1)
    promise: timedelta | None = None
    keep: timedelta | None = None
    maxstep: int = 1_000_000
    stretch: int = 16
    ahead: int = 20
    attempts: int = 3
    backoff: timedelta = timedelta(seconds=10)
    span: timedelta | None = None
    time: Window | None = None
    timezone: str = "UTC"
    shards: tuple[str, ...] = ()
    shard_by: str | None = None
    key: tuple[str, ...] = ()
    deleted: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    measures: dict[str, str] = field(default_factory=dict)
    expect: dict[str, str] = field(default_factory=dict)
    parameters: tuple[Parameter, ...] = ()  # its own; during an attempt all that hold for it
    allow_truncate: bool = False
    priority: int = 0
    audit: Literal["heal", "alert", "off"] = "heal"

    @property
    def base(self) -> str:
        return self.depends_on[0]

    @property
    def inputs(self) -> tuple[str, ...]:
        """Every table the transforms may name, the base first."""
        return tuple(dict.fromkeys((*self.depends_on, *self.reads)))

    @property
    def tables(self) -> tuple[str, ...]:
        """Every table it writes: its own, and that of its dead letters."""
        return (self.table, dead_letters_of(self.table)) if self.processor == "ingest" else (self.table,)

    @property
    def writes(self) -> tuple[Action, ...]:
        """What it does to other tables beside its transforms."""
        return tuple(action for action in (*self.before, *self.after) if action.idempotent)

    def without_writes(self) -> Module:
        """Itself for those who only look."""
        return replace(self, before=tuple(action for action in self.before if not action.idempotent), after=())

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(f"{self.name}:{shard}" for shard in self.shards) or (self.name,)


@dataclass(frozen=True)
class SourceTable:
    """A table that is not built here."""

    name: str
    kind: Literal["iceberg", "postgres", "kafka", "files"]
    description: str = ""
    position: tuple[str, str] = ("pos", "id")
    delay: timedelta = timedelta()
    idle_after: timedelta | None = None
    relation: str | None = None  # postgres: schema.table in the source database
    url_env: str | None = None  # postgres: the environment variable that holds its URL; none means the control database
    horizon: Literal["transaction_start", "delay"] = "transaction_start"
    shards: tuple[str, ...] = ()
    shard_by: str | None = None
    active: bool = True
    kafka: KafkaTopic | None = None
    files: FileFolder | None = None
    events: Events | None = None


@dataclass(frozen=True)
class Lineage:
    modules: tuple[Module, ...]
    sources: tuple[SourceTable, ...]
    places: dict[str, str] = field(default_factory=dict)  # name -> file:line, for messages
    batches: tuple[Batch, ...] = ()
    commands: tuple[Command, ...] = ()
    parameters: tuple[Parameter, ...] = ()  # those for all

    @property
    def tables(self) -> list[str]:
        """Every table that is built here."""
        return sorted({table for module in self.modules for table in module.tables})

    def module(self, name: str) -> Module:
        return self._by_name[name]

    def builders(self, table: str) -> tuple[Module, ...]:
        """The modules that build a table: none for a source, one for each tag."""
        return tuple(self._by_table.get(table, ()))

    @cached_property
    def _by_name(self) -> dict[str, Module]:
        return {module.name: module for module in self.modules}

    @cached_property
    def _by_table(self) -> dict[str, list[Module]]:
        found: dict[str, list[Module]] = {}
        for module in self.modules:
            found.setdefault(module.table, []).append(module)
        return found

    def batch(self, name: str) -> Batch:
        return next(b for b in self.batches if b.name == name)


Spec = dict[str, Any]  # a Module, SourceTable, Batch or Command as JSON, as the control store keeps it
