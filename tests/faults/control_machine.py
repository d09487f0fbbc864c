"""A machine that does to the control store what workers, planners and people may do, and knows what must come of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dwh_assets.control.acts import ActStore
from dwh_assets.control.claims import ClaimStore
from dwh_assets.control.commits import CommitStore
from dwh_assets.control.database import Database
from dwh_assets.control.lineage import LineageStore
from dwh_assets.control.sources import SourceStore
from dwh_assets.control.statements import sql
from dwh_assets.control.topics import PlannedBlock, PlanningState, TopicStore
from dwh_assets.model.block import BlockStats, Claim, RowCounts
from dwh_assets.model.errors import ActRefused, DwhError, InputsChanged, LeaseLost, NotDue, PointerTaken, Refused
from dwh_assets.model.position import Bounds, Position
from tests.faults.control_model import END, LINEAGE, MODULES, START, TOPICS, Done, Known, Model, Table

NOTHING_WRONG = ("verify_tiling", "verify_cursors", "verify_attempts", "verify_tokens")
topics = st.sampled_from(TOPICS)
BUILT_UPON = tuple(topic for module in MODULES for topic in module.topics if any(module.table in m.inputs for m in MODULES))
positions = st.builds(Position, st.integers(0, 300).map(lambda minutes: START + timedelta(minutes=minutes)), st.integers(0, 3))
WHY = "by the machine"


@dataclass(frozen=True)
class Pointer:
    namespace: str
    name: str
    old_location: str
    new_location: str


def some_claims(machine: TopicMachine) -> bool:
    return any(known.claims for known in machine.model.topics.values())


class TopicMachine(RuleBasedStateMachine):
    database: Database  # set by the test

    def __init__(self) -> None:
        super().__init__()
        self._empty()
        self.topics = TopicStore(self.database)
        self.workers = [ClaimStore(self.database, name, 600) for name in ("one", "two")]
        self.commits = CommitStore(self.database, 600)
        self.acts = ActStore(self.database, "test")
        self.model = self._prepare()
        self.versions = 0

    def _empty(self) -> None:
        names = (
            "source, target, module, module_version, module_dependency, topic, block, restatement, execution, load_stat, batch,"
            " batch_instance"
        )
        tables = ", ".join(f"dwh.{name}" for name in names.split(", "))
        self.database.execute("select dwh.expire_events('infinity')")
        self.database.execute(f"truncate {tables}, iceberg.iceberg_tables cascade".encode())

    def _prepare(self) -> Model:
        LineageStore(self.database).apply(LINEAGE, "test")
        SourceStore(self.database).observed("stage.s", END, END, END)
        for name in LINEAGE.tables:
            space, _, table = name.partition(".")
            self.database.execute(
                b"insert into iceberg.iceberg_tables values ('dwh', %(space)s, %(name)s, 'v0', null, 'TABLE')",
                space=space,
                name=table,
            )
        ids = {row["name"]: row["id"] for row in self.database.fetch("select id, name from dwh.topic")}
        known = [Known(topic, ids[topic], m.table, m.inputs) for m in MODULES for topic in m.topics]
        return Model({k.topic: k for k in known}, {table: Table() for table in LINEAGE.tables})

    @initialize()
    def load_something(self) -> None:
        """So that there is something to restate, and something that was built upon it."""
        for topic in TOPICS:
            known = self.model.topics[topic]
            self._plan(known, self._view(known), 3, 2 if topic.startswith("mart") else 10)
        for topic in ("fact.a", "fact.b#x", "mart.d", "mart.e"):
            self.claim(topic, 0, True)
            self.commit(topic, False)

    @rule(topic=topics, blocks=st.integers(1, 2), minutes=st.integers(1, 30))
    def plan(self, topic: str, blocks: int, minutes: int) -> None:
        """A planner that is quick: what it read still holds when it stores its blocks."""
        known = self.model.topics[topic]
        assert self._plan(known, self._view(known), blocks, minutes)

    @rule(topic=topics, data=st.data(), minutes=st.integers(1, 30))
    def plan_late(self, topic: str, data: st.DataObject, minutes: int) -> None:
        """A planner that is slow: its blocks are stored only if nothing has happened to the topic since it looked."""
        known = self.model.topics[topic]
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
        known = self.model.topics[topic]
        leased = self._leased(topic)
        try:
            claim = self.workers[worker].claim(topic, "", force)
        except NotDue:
            assert not leased
            known.live = self._not_ended(known.live)
            return
        except Refused:
            assert leased
            return
        assert not leased
        assert all(claim.token > earlier.token for earlier in known.claims)
        assert claim.kind == (known.act or "load")
        assert claim.kind != "load" or claim.bounds.last == known.cursor
        known.live = claim
        known.claims.append(claim)

    def _not_ended(self, live: Claim | None) -> Claim | None:
        """A claim by force ends the attempt of a lost holder, also where the horizon then keeps the block from being repeated."""
        return live if live is not None and self.workers[0].outcome(live) == "Executing" else None

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
        over = "lease_until = now() - interval '1 s' where lease_until > now()"
        known = self.model.topics[topic]
        self.database.execute(f"update dwh.topic set {over} and id = %(id)s".encode(), id=known.topic_id)
        self.database.execute(f"update dwh.target set {over} and lease_topic = %(id)s".encode(), id=known.topic_id)
        for table in self.model.tables.values():
            table.held = table.held and table.holder is not None and table.holder[0] != topic

    @rule(topic=topics)
    def take_table(self, topic: str) -> None:
        """A holder that is about to replace rows: appends to this table must wait for it."""
        known = self.model.topics[topic]
        if known.live is None:
            return
        table = self.model.table_of(known.live)
        free = not table.held or table.holder is None or table.holder[0] == topic
        assert self.workers[0].take_table(known.live) == free
        if free:
            table.holder, table.held = (topic, known.live.token), self._leased(topic)

    @rule(topic=topics, outdated=st.booleans())
    def commit(self, topic: str, outdated: bool) -> None:
        known = self.model.topics[topic]
        if known.live is not None:
            self._commit(known, known.live, outdated)

    @precondition(some_claims)
    @rule(data=st.data(), topic=topics)
    def commit_by_any_holder(self, data: st.DataObject, topic: str) -> None:
        known = self.model.topics[topic]
        if known.claims:
            self._commit(known, data.draw(st.sampled_from(known.claims)), False)

    def _commit(self, known: Known, claim: Claim, outdated: bool) -> None:
        self.versions += 1
        table = self.model.table_of(claim)
        space, _, name = claim.target.partition(".")
        pointer = Pointer(space, name, "v?" if outdated else table.location, f"v{self.versions}")
        blocks = () if claim.kind == "rollback" else claim.blocks
        stats = [BlockStats(block.id, 10, 10, 7, seconds=1.0) for block in blocks]
        if error := self._refusal(known, claim, outdated):
            with pytest.raises(error):
                self.commits.commit(claim, [pointer], stats, RowCounts())
            return
        self.commits.commit(claim, [pointer], stats, RowCounts())
        table.location = pointer.new_location
        self.model.let_go(claim)
        self._committed(known, claim)

    def _refusal(self, known: Known, claim: Claim, outdated: bool) -> type[DwhError] | None:
        """Why a commit must change nothing, in the order in which it is judged."""
        if claim is not known.live:
            return LeaseLost
        if self.model.table_of(claim).blocks(claim):
            return PointerTaken
        if self.model.inputs_changed(claim):
            return InputsChanged
        return PointerTaken if outdated else None

    def _committed(self, known: Known, claim: Claim) -> None:
        known.live = None
        if claim.kind == "load":
            known.pass_over(Done(claim.block.seq, claim.bounds, "committed"))
            return
        known.act = None
        if claim.kind == "restate":
            known.restated({block.seq for block in claim.blocks})
        else:
            known.roll_back(claim.blocks[0].seq, claim.bounds.last)
        self.model.table_of(claim).generation += 1
        self.model.mark_stale(claim.target, claim.bounds.last.pos, claim.bounds.next.pos)

    @precondition(some_claims)
    @rule(data=st.data(), topic=topics, counts=st.booleans(), park=st.booleans())
    def fail(self, data: st.DataObject, topic: str, counts: bool, park: bool) -> None:
        known = self.model.topics[topic]
        if not known.claims:
            return
        claim = data.draw(st.sampled_from(known.claims))
        status = self.workers[0].fail(claim, "it failed", counts=counts, crash=not counts, park=park)
        assert (status == "lost") == (claim is not known.live)
        if claim is known.live:
            known.live = None
            known.act = None if status == "failed" else known.act
            self.model.let_go(claim)

    @precondition(some_claims)
    @rule(data=st.data(), topic=topics)
    def renew(self, data: st.DataObject, topic: str) -> None:
        known = self.model.topics[topic]
        if not known.claims:
            return
        claim = data.draw(st.sampled_from(known.claims))
        kept = self.workers[0].renew(claim)
        assert kept == (claim is known.live)
        table = self.model.table_of(claim)
        if kept and table.holder == (topic, claim.token):
            table.held = True

    @invariant()
    def the_ledger_is_whole(self) -> None:
        """I2, I3, I4, I6, by the queries of `dwh verify`."""
        found = [row for name in NOTHING_WRONG for row in self.database.fetch(sql(name))]
        assert found == []

    @invariant()
    def blocks_and_cursors_are_where_commits_and_people_put_them(self) -> None:
        rows = self.database.fetch(
            "select t.name, t.last_pos, t.last_id, array_agg(array[b.seq::text, b.status] order by b.seq)"
            " filter (where b.id is not null) as done"
            " from dwh.topic t left join dwh.block b on b.topic_id = t.id and b.seq > 0"
            " and b.status in ('committed', 'stale', 'skipped') group by t.id"
        )
        found = {r["name"]: (Position(r["last_pos"], int(r["last_id"])), [tuple(b) for b in r["done"] or ()]) for r in rows}
        for topic, known in self.model.topics.items():
            assert found[topic] == (known.cursor, [(str(b.seq), b.status) for b in sorted(known.done, key=lambda b: b.seq)])

    @invariant()
    def tables_are_as_the_last_commit_left_them(self) -> None:
        rows: list[dict[str, Any]] = self.database.fetch(
            "select g.name, g.generation, i.metadata_location as location from dwh.target g"
            " join iceberg.iceberg_tables i on i.table_namespace || '.' || i.table_name = g.name"
        )
        found = {row["name"]: (row["location"], row["generation"]) for row in rows}
        assert found == {name: (table.location, table.generation) for name, table in self.model.tables.items()}


class ActMachine(TopicMachine):
    """With people: each of their acts takes the topic away from its holder."""

    @rule(topic=topics)
    def unlock(self, topic: str) -> None:
        self.acts.unlock(topic, WHY)
        self.model.topics[topic].live = None

    @rule(topic=topics)
    def retry(self, topic: str) -> None:
        try:
            self.acts.retry(topic, WHY)
        except ActRefused:
            return
        self.model.topics[topic].live = None

    @rule(topic=topics)
    def skip(self, topic: str) -> None:
        known = self.model.topics[topic]
        try:
            block = self.acts.skip(topic, WHY)
        except ActRefused:
            return
        assert block.bounds.last == known.cursor
        known.pass_over(Done(block.seq, block.bounds, "skipped"))

    @rule(topic=topics, to=positions)
    def reset_forward(self, topic: str, to: Position) -> None:
        known = self.model.topics[topic]
        try:
            self.acts.reset_forward(topic, to, WHY)
        except ActRefused:
            assert to <= known.cursor
            return
        assert to > known.cursor
        seq = max((block.seq for block in known.done), default=0) + 1
        known.pass_over(Done(seq, Bounds(known.cursor, to), "skipped"))

    @rule(
        topic=st.sampled_from(BUILT_UPON) | topics,
        data=st.data(),
        kind=st.sampled_from(("restate", "rollback")),
        more=st.integers(0, 3),
    )
    def ask_for_an_act(self, topic: str, data: st.DataObject, kind: str, more: int) -> None:
        """More often than not of blocks that there are, and of a table that others are built upon."""
        there = [block.seq for block in self.model.topics[topic].done]
        first = data.draw(st.integers(1, 4) | st.sampled_from(there) if there else st.integers(1, 4))
        self.ask(topic, kind, first, more)

    def ask(self, topic: str, kind: str, first: int, more: int) -> None:
        """The next claim of the topic carries it out, whatever happens before."""
        known = self.model.topics[topic]
        try:
            self.acts.ask_restatement(topic, first, first + more, kind, WHY)
        except ActRefused:
            assert known.act is not None or not known.between(first, first + more, kind)
            return
        assert known.act is None
        known.live, known.act = None, kind

    @precondition(lambda self: any(known.act for known in self.model.topics.values()))
    @rule(data=st.data())
    def carry_out(self, data: st.DataObject) -> None:
        """A restatement or rollback that is open is claimed, holds its table and is committed."""
        topic = data.draw(st.sampled_from([k.topic for k in self.model.topics.values() if k.act]))
        self.expire(topic)
        self.claim(topic, 1, True)
        self.take_table(topic)
        self.commit(topic, False)
