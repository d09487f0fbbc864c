"""A control store with one loadable topic, without Spark: a Lineage, an observed source, planned blocks."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from dwh_assets.control.acts import ActStore
from dwh_assets.control.claims import ClaimStore
from dwh_assets.control.commits import CommitStore
from dwh_assets.control.database import Database
from dwh_assets.control.lineage import LineageStore
from dwh_assets.control.sources import SourceStore
from dwh_assets.control.topics import PlannedBlock, PlanningState, TopicStore
from dwh_assets.model.block import BlockStats, Claim, RowCounts
from dwh_assets.model.module import Lineage, Module, SourceTable
from dwh_assets.model.position import Position

DAY = datetime(2026, 3, 1, tzinfo=UTC)
TOPIC = "fact.sales"
MODULE = Module(
    name=TOPIC, table=TOPIC, depends_on=("src.sales",), transforms=("x.sql",), repeat=timedelta(), backoff=timedelta()
)
SOURCE = SourceTable("src.sales", "iceberg")


def at(hours: float) -> datetime:
    return DAY + timedelta(hours=hours)


@dataclass(frozen=True)
class Store:
    """The stores of one database, and the acts that most tests begin with."""

    database: Database

    @property
    def lineage(self) -> LineageStore:
        return LineageStore(self.database)

    @property
    def topics(self) -> TopicStore:
        return TopicStore(self.database)

    @property
    def commits(self) -> CommitStore:
        return CommitStore(self.database, 60)

    @property
    def acts(self) -> ActStore:
        return ActStore(self.database, "ann")

    def claims(self, worker: str = "w1", lease: float = 60) -> ClaimStore:
        return ClaimStore(self.database, worker, lease)

    def apply(self, *modules: Module, sources: tuple[SourceTable, ...] = (SOURCE,)) -> Any:
        return self.lineage.apply(Lineage(modules, sources), "ann")

    def observe(self, hours: float = 100, name: str = "src.sales") -> None:
        SourceStore(self.database).observed(name, at(hours), at(hours), at(hours))

    def topic(self, name: str = TOPIC) -> dict[str, Any]:
        found = self.database.fetch_one("select * from dwh.topic where name = %(name)s", name=name)
        assert found is not None
        return found

    def state(self, name: str = TOPIC) -> PlanningState:
        state = self.topics.planning_state(self.topic(name)["id"])
        assert state is not None
        return state

    def plan(self, *hours: float, name: str = TOPIC, state: PlanningState | None = None) -> bool:
        """Blocks that end at these hours; the last takes all there is."""
        blocks = [PlannedBlock(Position(at(h), 0), 10, n == len(hours)) for n, h in enumerate(hours, start=1)]
        return self.topics.store_plan(self.topic(name)["id"], state or self.state(name), blocks, at(100), at(hours[-1]))

    def commit(self, claim: Claim) -> None:
        stats = [BlockStats(block.id, 10, 10, block.id, seconds=1.0) for block in claim.blocks]
        self.commits.commit(claim, [], stats, RowCounts(read=10, inserted=10))

    def load(self, name: str = TOPIC) -> Claim:
        claim = self.claims().claim(name)
        self.commit(claim)
        return claim

    def blocks(self, name: str = TOPIC) -> list[tuple[int, str]]:
        found = self.database.fetch(
            "select b.seq, b.status from dwh.block b join dwh.topic t on t.id = b.topic_id where t.name = %(name)s order by b.id",
            name=name,
        )
        return [(row["seq"], row["status"]) for row in found]

    def executions(self) -> list[dict[str, Any]]:
        return self.database.fetch("select * from dwh.execution order by id")

    def events(self, code: str) -> list[dict[str, Any]]:
        return self.database.fetch("select * from dwh.event_log where code = %(code)s order by id", code=code)

    def expire(self, name: str = TOPIC) -> None:
        """Let the lease run out without waiting for it."""
        self.database.execute("update dwh.topic set lease_until = now() - interval '1 second' where name = %(name)s", name=name)


def ready(database: Database, *hours: float) -> Store:
    """One topic, observed, with blocks that end at these hours."""
    store = Store(database)
    store.apply(MODULE)
    store.observe()
    if hours:
        assert store.plan(*hours)
    return store


def changed(**fields: Any) -> Module:
    return replace(MODULE, **fields)


def wait_for_a_waiter(database: Database) -> None:
    """Until someone stands before a lock that someone else holds."""
    deadline = time.monotonic() + 20
    waiters = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    while not database.fetch(waiters):
        assert time.monotonic() < deadline
