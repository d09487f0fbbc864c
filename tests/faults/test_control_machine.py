"""Any order of plan, claim, expiry, commit by any old holder, failure and acts by hand keeps the ledger whole (Means 2).

The control store alone, on real Postgres: a machine does what workers, ticks and people may do, and knows what must come of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from _pytest.outcomes import Failed
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from dwh_assets.control.acts import ActStore
from dwh_assets.control.claims import ClaimStore
from dwh_assets.control.commits import CommitStore
from dwh_assets.control.database import Database
from dwh_assets.control.lineage import LineageStore
from dwh_assets.control.sources import SourceStore
from dwh_assets.control.statements import sql
from dwh_assets.control.topics import PlannedBlock, PlanningState, TopicStore
from dwh_assets.model.block import BlockStats, Claim, RowCounts
from dwh_assets.model.errors import ActRefused, LeaseLost, NotDue, PointerTaken, Refused
from dwh_assets.model.module import Lineage, Module, SourceTable
from dwh_assets.model.position import EARLIEST, Position

START = datetime(2026, 1, 1, tzinfo=UTC)
END = START + timedelta(days=365)
TOPICS = ("fact.a", "fact.b")
NOTHING_WRONG = ("verify_tiling", "verify_cursors", "verify_attempts", "verify_tokens")
topics = st.sampled_from(TOPICS)
positions = st.builds(Position, st.integers(0, 300).map(lambda minutes: START + timedelta(minutes=minutes)), st.integers(0, 3))


@dataclass(frozen=True)
class Pointer:
    namespace: str
    name: str
    old_location: str
    new_location: str


@dataclass
class Known:
    """What the machine knows of one topic."""

    topic_id: int
    live: Claim | None = None  # the one holder that may change something
    claims: list[Claim] = field(default_factory=list)
    views: list[PlanningState] = field(default_factory=list)  # what planners have read of it
    cursor: Position = EARLIEST
    location: str = "v0"
    published: int = 0


class ControlMachine(RuleBasedStateMachine):
    database: Database  # set by the test

    def __init__(self) -> None:
        super().__init__()
        self._empty()
        self.topics = TopicStore(self.database)
        self.workers = [ClaimStore(self.database, name, 600) for name in ("one", "two")]
        self.commits = CommitStore(self.database, 600)
        self.acts = ActStore(self.database, "test")
        self.known = self._prepare()
        self.versions = 0

    def _empty(self) -> None:
        names = "source, target, module, module_version, module_dependency, topic, block, restatement, execution, load_stat"
        tables = ", ".join(f"dwh.{name}" for name in names.split(", "))
        self.database.execute("select dwh.expire_events('infinity')")
        self.database.execute(f"truncate {tables}, iceberg.iceberg_tables cascade".encode())

    def _prepare(self) -> dict[str, Known]:
        modules = tuple(
            Module(name=name, table=name, depends_on=("stage.s",), repeat=timedelta(), backoff=timedelta(), attempts=2)
            for name in TOPICS
        )
        LineageStore(self.database).apply(Lineage(modules, (SourceTable("stage.s", "iceberg"),)), "test")
        SourceStore(self.database).observed("stage.s", END, END, END)
        for name in TOPICS:
            space, _, table = name.partition(".")
            self.database.execute(
                b"insert into iceberg.iceberg_tables values ('dwh', %(space)s, %(name)s, 'v0', null, 'TABLE')",
                space=space,
                name=table,
            )
        rows = self.database.fetch("select id, name from dwh.topic")
        return {row["name"]: Known(row["id"]) for row in rows}

    @initialize()
    def plan_both(self) -> None:
        for known in self.known.values():
            self._plan(known, self._view(known), 3, 10)

    @rule(topic=topics, blocks=st.integers(1, 2), minutes=st.integers(1, 30))
    def plan(self, topic: str, blocks: int, minutes: int) -> None:
        """A planner that is quick: what it read still holds when it stores its blocks."""
        known = self.known[topic]
        assert self._plan(known, self._view(known), blocks, minutes)

    @rule(topic=topics, data=st.data(), minutes=st.integers(1, 30))
    def plan_late(self, topic: str, data: st.DataObject, minutes: int) -> None:
        """A planner that is slow: its blocks are stored only if nothing has happened to the topic since it looked."""
        known = self.known[topic]
        view, now = data.draw(st.sampled_from(known.views)), self._view(known)
        assert self._plan(known, view, 1, minutes) == ((view.token, view.tail) == (now.token, now.tail))

    def _view(self, known: Known) -> PlanningState:
        state = self.topics.planning_state(known.topic_id)
        assert state is not None
        known.views.append(state)
        return state

    def _plan(self, known: Known, view: PlanningState, blocks: int, minutes: int) -> bool:
        first = max(view.tail.pos, START)
        ends = [Position(first + timedelta(minutes=minutes * (n + 1)), n) for n in range(blocks)]
        cut = [PlannedBlock(end, 10, takes_all=False) for end in ends]
        return self.topics.store_plan(known.topic_id, view, cut, END, ends[-1].pos)

    @rule(topic=topics, worker=st.integers(0, 1), force=st.booleans())
    def claim(self, topic: str, worker: int, force: bool) -> None:
        known = self.known[topic]
        leased = self._leased(topic)
        try:
            claim = self.workers[worker].claim(topic, "", force)
        except NotDue:
            assert not leased
            return
        except Refused:
            assert leased
            return
        assert not leased
        assert all(claim.token > earlier.token for earlier in known.claims)
        assert claim.bounds.last == known.cursor
        known.live = claim
        known.claims.append(claim)

    def _leased(self, topic: str) -> bool:
        row = self.database.fetch_one(
            "select lease_until > clock_timestamp() as leased from dwh.topic where name = %(topic)s", topic=topic
        )
        assert row is not None
        return bool(row["leased"])

    @rule(topic=topics)
    def take_over(self, topic: str) -> None:
        """The holder sleeps past its lease, and another one takes its block."""
        self.expire(topic)
        self.claim(topic, 1, True)

    @rule(topic=topics)
    def expire(self, topic: str) -> None:
        """Its worker crashed or sleeps. It is still the one holder until another one claims."""
        ended = b"update dwh.topic set lease_until = now() - interval '1 s' where name = %(topic)s and lease_until > now()"
        self.database.execute(ended, topic=topic)

    @precondition(lambda self: any(known.live for known in self.known.values()))
    @rule(topic=topics, outdated=st.booleans())
    def commit(self, topic: str, outdated: bool) -> None:
        known = self.known[topic]
        if known.live is not None:
            self._commit(topic, known.live, outdated)

    @precondition(lambda self: any(known.claims for known in self.known.values()))
    @rule(data=st.data(), topic=topics)
    def commit_by_any_holder(self, data: st.DataObject, topic: str) -> None:
        if claims := self.known[topic].claims:
            self._commit(topic, data.draw(st.sampled_from(claims)), False)

    def _commit(self, topic: str, claim: Claim, outdated: bool) -> None:
        known = self.known[topic]
        self.versions += 1
        space, _, name = topic.partition(".")
        pointer = Pointer(space, name, "v?" if outdated else known.location, f"v{self.versions}")
        stats = [BlockStats(claim.block.id, 10, 10, 7, seconds=1.0)]
        if claim is not known.live:
            with pytest.raises(LeaseLost):
                self.commits.commit(claim, [pointer], stats, RowCounts())
        elif outdated:
            with pytest.raises(PointerTaken):
                self.commits.commit(claim, [pointer], stats, RowCounts())
        else:
            self.commits.commit(claim, [pointer], stats, RowCounts())
            known.live = None
            known.cursor, known.location = claim.bounds.next, pointer.new_location
            known.published += 1

    @precondition(lambda self: any(known.claims for known in self.known.values()))
    @rule(data=st.data(), topic=topics, counts=st.booleans(), park=st.booleans())
    def fail(self, data: st.DataObject, topic: str, counts: bool, park: bool) -> None:
        known = self.known[topic]
        if not known.claims:
            return
        claim = data.draw(st.sampled_from(known.claims))
        status = self.workers[0].fail(claim, "it failed", counts=counts, crash=not counts, park=park)
        assert (status == "lost") == (claim is not known.live)
        if claim is known.live:
            known.live = None

    @precondition(lambda self: any(known.claims for known in self.known.values()))
    @rule(data=st.data(), topic=topics)
    def renew(self, data: st.DataObject, topic: str) -> None:
        known = self.known[topic]
        if not known.claims:
            return
        claim = data.draw(st.sampled_from(known.claims))
        assert self.workers[0].renew(claim) == (claim is known.live)

    @rule(topic=topics)
    def unlock(self, topic: str) -> None:
        self.acts.unlock(topic, "by the machine")
        self.known[topic].live = None

    @rule(topic=topics)
    def retry(self, topic: str) -> None:
        try:
            self.acts.retry(topic, "by the machine")
        except ActRefused:
            return
        self.known[topic].live = None

    @rule(topic=topics)
    def skip(self, topic: str) -> None:
        try:
            block = self.acts.skip(topic, "by the machine")
        except ActRefused:
            return
        known = self.known[topic]
        assert block.bounds.last == known.cursor
        known.live, known.cursor = None, block.bounds.next

    @rule(topic=topics, to=positions)
    def reset_forward(self, topic: str, to: Position) -> None:
        known = self.known[topic]
        try:
            self.acts.reset_forward(topic, to, "by the machine")
        except ActRefused:
            assert to <= known.cursor
            return
        assert to > known.cursor
        known.live, known.cursor = None, to

    @invariant()
    def the_ledger_is_whole(self) -> None:
        """I2, I3, I4, I6, by the queries of `dwh verify`."""
        found = [row for name in NOTHING_WRONG for row in self.database.fetch(sql(name))]
        assert found == []

    @invariant()
    def cursors_and_tables_are_where_the_commits_put_them(self) -> None:
        for topic, known in self.known.items():
            row = self.database.fetch_one(
                "select t.last_pos, t.last_id, i.metadata_location as location, (select count(*) from dwh.block b"
                " where b.topic_id = t.id and b.kind = 'load' and b.status = 'committed') as committed"
                " from dwh.topic t join iceberg.iceberg_tables i on i.table_namespace || '.' || i.table_name = t.target"
                " where t.name = %(topic)s",
                topic=topic,
            )
            assert row is not None
            assert Position(row["last_pos"], int(row["last_id"])) == known.cursor
            assert (row["location"], row["committed"]) == (known.location, known.published)


def run(database: Database, examples: int, steps: int, phases: tuple[Phase, ...] = tuple(Phase), same: bool = False) -> None:
    machine = type("Machine", (ControlMachine,), {"database": database})
    profile = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        phases=phases,
        derandomize=same,
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    run_state_machine_as_test(machine, settings=profile)


@pytest.mark.exhaustive  # each protection has its tooth in test_teeth.py; here random steps must find it, too
@pytest.mark.parametrize("off", ["token", "pointer", "lock"])
def test_the_machine_sees_it_when_a_protection_is_off(database: Database, monkeypatch: pytest.MonkeyPatch, off: str) -> None:
    monkeypatch.setenv("DWH_UNPROTECTED", off)
    with pytest.raises((AssertionError, Failed, psycopg.IntegrityError)):
        run(database, examples=200, steps=30, phases=(Phase.generate,), same=True)  # or a lucky order would hide a lost tooth


def test_no_order_of_workers_planners_and_people_breaks_the_ledger(database: Database) -> None:
    run(database, examples=12, steps=25)


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_no_long_order_of_workers_planners_and_people_breaks_the_ledger(database: Database) -> None:
    run(database, examples=300, steps=60)
