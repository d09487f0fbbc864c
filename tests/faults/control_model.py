"""What the control machine knows of each topic and of each table: the rules of the ledger, without the ledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from dwh_assets.control.topics import PlanningState
from dwh_assets.model.batch import Batch, Link
from dwh_assets.model.block import Claim
from dwh_assets.model.module import Lineage, Module, SourceTable
from dwh_assets.model.position import EARLIEST, Bounds, Position

START = datetime(2026, 1, 1, tzinfo=UTC)
END = START + timedelta(days=365)
BATCH = "nightly"


def _module(name: str, base: str = "stage.s", **fields: tuple[str, ...] | str) -> Module:
    quick = {"repeat": timedelta(), "backoff": timedelta(), "attempts": 2}
    return Module(name=name, table=name.partition("#")[0], depends_on=(base,), **quick, **fields)  # type: ignore[arg-type]


# One table alone, one of two tags, one of two shards, and two tables that are built upon the first, one upon the other.
MODULES = (
    _module("fact.a"),
    _module("fact.b#x"),
    _module("fact.b#y"),
    _module("fact.c", shards=("1", "2"), shard_by="k"),
    _module("mart.d", "fact.a"),
    _module("mart.e", "mart.d"),
)
LINEAGE = Lineage(
    MODULES, (SourceTable("stage.s", "iceberg"),), batches=(Batch(BATCH, (Link("fact.a"), Link("fact.c"), Link("mart.d"))),)
)
TOPICS = tuple(topic for module in MODULES for topic in module.topics)


@dataclass
class Done:
    """A block that the cursor has passed."""

    seq: int
    bounds: Bounds
    status: str


@dataclass
class Known:
    """What the machine knows of one topic."""

    topic: str
    topic_id: int
    table: str
    inputs: tuple[str, ...]
    live: Claim | None = None  # the one holder that may change something
    claims: list[Claim] = field(default_factory=list)
    views: list[PlanningState] = field(default_factory=list)  # what planners have read of it
    cursor: Position = EARLIEST
    done: list[Done] = field(default_factory=list)
    act: str | None = None  # the restatement or rollback that is open

    def pass_over(self, block: Done) -> None:
        self.done.append(block)
        self.cursor, self.live = block.bounds.next, None

    def roll_back(self, seq: int, cursor: Position) -> None:
        self.done = [block for block in self.done if block.seq < seq]
        self.cursor = cursor

    def restated(self, seqs: set[int]) -> None:
        for block in self.done:
            block.status = "committed" if block.seq in seqs else block.status

    def between(self, first: int, last: int, kind: str) -> list[Done]:
        """The blocks that an act on these sequence numbers is about."""
        wanted = ("committed", "stale", "skipped") if kind == "rollback" else ("committed", "stale")
        until = 2**31 if kind == "rollback" else last
        return [block for block in self.done if first <= block.seq <= until and block.status in wanted]


@dataclass
class Table:
    """What the machine knows of one table."""

    location: str = "v0"
    generation: int = 0
    holder: tuple[str, int] | None = None  # topic and token of who replaces its rows
    held: bool = False  # whether that lease still runs

    def blocks(self, claim: Claim) -> bool:
        """Whether this commit must wait for another writer."""
        return self.held and self.holder != (claim.topic, claim.token)


@dataclass
class Model:
    topics: dict[str, Known]
    tables: dict[str, Table]

    def table_of(self, claim: Claim) -> Table:
        return self.tables[claim.target]

    def inputs_changed(self, claim: Claim) -> bool:
        inputs = self.topics[claim.topic].inputs
        return any(claim.generations.get(name, 0) != self.tables[name].generation for name in inputs if name in self.tables)

    def let_go(self, claim: Claim) -> None:
        """An attempt has ended: the table it was replacing rows of is free."""
        table = self.table_of(claim)
        if table.holder == (claim.topic, claim.token):
            table.holder, table.held = None, False

    def mark_stale(self, table: str, low: datetime, high: datetime) -> None:
        """What was built upon a range, and what was built upon that (R19)."""
        for known in self.topics.values():
            if table not in known.inputs:
                continue
            upon = [b for b in known.done if b.status == "committed" and b.bounds.last.pos <= high and b.bounds.next.pos >= low]
            for block in upon:
                block.status = "stale"
            if upon:
                self.mark_stale(known.table, min(b.bounds.last.pos for b in upon), max(b.bounds.next.pos for b in upon))
