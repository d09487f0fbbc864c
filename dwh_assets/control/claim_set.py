"""The claim of topics that are locked, as a set: what each of them gets, or why it gets nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg

from dwh_assets.config.lineage_spec import from_spec
from dwh_assets.control.blocks import block_of, restated_blocks
from dwh_assets.control.database import one
from dwh_assets.control.events import log_event
from dwh_assets.control.statements import sql
from dwh_assets.model.block import Block, Claim, Start
from dwh_assets.model.errors import ActRefused, DwhError, NotDue, Refused, StartRefused
from dwh_assets.model.evaluation import PROCEED, Decision, LinkState, ModuleFacts, evaluate_module
from dwh_assets.model.failpoints import failpoint, local_clock, protected
from dwh_assets.model.module import Module
from dwh_assets.model.verdict import DUE

Connection = psycopg.Connection[Any]
Row = dict[str, Any]
CRASHES_PER_ATTEMPT = 10


@dataclass(frozen=True)
class Work:
    """What a topic is claimed for: its first unfinished block, or the blocks of its open restatement."""

    row: Row
    blocks: tuple[Block, ...]
    decision: Decision = PROCEED

    @property
    def block_id(self) -> int | None:
        return None if self.row["restatement_id"] else self.blocks[0].id


@dataclass(frozen=True)
class KnownModules:
    """Modules by name, each in the version that was read last: reading one anew takes longer than all else of a claim."""

    known: dict[str, tuple[int, Module]] = field(default_factory=dict)

    def read(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Read those of which these topics have another version."""
        names = {row["module"] for row in rows if self.known.get(row["module"], (None,))[0] != row["module_version"]}
        if names:
            found = connection.execute(sql("modules_named"), {"names": sorted(names)}).fetchall()
            self.known.update({row["name"]: (row["version"], from_spec(row["spec"])) for row in found})


@dataclass(frozen=True)
class ClaimSet:
    """The caller's transaction holds the locks of the topics."""

    connection: Connection
    worker: str
    lease_seconds: float
    modules: KnownModules
    start: Start | None = None

    def claim(self, ids: Sequence[int], code_versions: Mapping[str, str], force: bool) -> dict[str, Claim | DwhError]:
        """By topic: a claim, or why there is none."""
        # A statement of its own, after the locks: only a snapshot that is taken now holds what the holders before committed.
        rows = self.judged(ids)
        found = {row["topic"]: self._judge(row, force) for row in rows}
        works = [work for work in found.values() if isinstance(work, Work)]
        return {topic: work for topic, work in found.items() if isinstance(work, DwhError)} | self._take(works, code_versions)

    def judged(self, ids: Sequence[int]) -> list[Row]:
        return self.connection.execute(sql("judge_topics"), {"ids": list(ids)}).fetchall()

    def _judge(self, row: Row, force: bool) -> Work | DwhError:
        topic, verdict = row["topic"], row["verdict"]
        if self.start is None:
            if verdict == "LOCKED" and protected("lock"):
                return self._abort(row)
            if verdict in ("INACTIVE", "NOT_INITIALISED") or not (verdict in DUE or force):
                return NotDue(f"topic {topic} is not due: {verdict}, {row['reason']}")
        decision = evaluate_start(self.connection, row, self.start)
        if not decision.runs:
            return self._refuse(row, decision)
        if verdict == "NOT_INITIALISED":
            return NotDue(f"topic {topic} {row['reason']}")
        if row["running"] is not None:
            row = row | self._end_lost_execution(row)
        work = self._asked_work(row)
        if isinstance(work, Work):
            return replace(work, decision=decision)
        if row["running"] is not None:
            # No claim follows that raises it: the lost worker would go on renewing a lease, or even commit.
            self.connection.execute(sql("raise_token"), {"topic_id": row["topic_id"]})
        return work

    def _asked_work(self, row: Row) -> Work | DwhError:
        if row["asked"] == "Rollback" or (self.start is not None and self.start.roll_back):
            asked = self._ask_rollback(row)
            if isinstance(asked, DwhError):
                return asked
            row = asked
        return self._work(row)

    def _abort(self, row: Row) -> Refused:
        text = f"topic {row['topic']}: {row['reason']}. Nothing was touched by this attempt."
        self.write_down(row, Decision("Abort", text))
        return Refused(text)

    def _refuse(self, row: Row, decision: Decision) -> DwhError:
        """The run does not begin. What a person asked of it is done with; a loop's next run then waits for `repeat`."""
        self.write_down(row, decision)
        if decision.heeds:
            self.connection.execute(sql("forget_asked"), {"topic_id": row["topic_id"]})
        text = f"{row['topic']}: {decision.text}."
        return NotDue(f"topic {text}") if self.start is None else StartRefused(text, decision.code)

    def write_down(self, row: Row, decision: Decision, execution_code: str | None = None) -> int:
        """An instance that did nothing, with the reason. Returns its id."""
        written = self.connection.execute(
            sql("insert_refused_execution"),
            {
                "topic_id": row["topic_id"],
                "token": row["token"],
                "worker": self.worker,
                "execution_code": execution_code or decision.execution_code,
                "processing_code": decision.code,
                "reason": decision.text,
                "batch_instance": None if self.start is None else self.start.instance,
            },
        )
        return one(written)["id"]

    def _ask_rollback(self, row: Row) -> Row | ActRefused:
        """Take back what the last run loaded, by a restatement that this claim then carries out; a reload is only run again."""
        self.connection.execute(sql("forget_asked"), {"topic_id": row["topic_id"]})
        known = row["restatement_id"] is not None
        span = None if known else self.connection.execute(sql("blocks_of_last_run"), {"topic_id": row["topic_id"]}).fetchone()
        if span is None or span["first"] is None:
            return row
        if span["shared"] and span["processor"] == "upsert":
            text = f"topic {row['topic']}: its table is merged from several modules, so none of them can be taken back."
            return ActRefused(text)
        values = {
            "topic_id": row["topic_id"],
            "kind": "restate" if span["processor"] == "reload" else "rollback",
            "first": span["last"] if span["processor"] == "reload" else span["first"],
            "last": span["last"],
            "reason": "asked of the next run",
            "who": self.worker,
        }
        self.connection.execute(sql("insert_restatement"), values)
        return self.judged([row["topic_id"]])[0]

    def _end_lost_execution(self, row: Row) -> Row:
        """Returns what it changed of the topic's restatement, or of its first unfinished block."""
        lost = end_lost_execution(self.connection, row["topic_id"], row["topic"], self.worker)
        if lost is None:
            return {}
        if lost["restatement_id"] is not None and lost["restatement_id"] == row["restatement_id"]:
            return {"restatement_crashes": lost["restatement_crashes"], "lost": lost["id"]}
        return {"crashes": lost["crashes"]} if lost["block_id"] == row["id"] else {}

    def _work(self, row: Row) -> Work | DwhError:
        """An open restatement comes first; else the first unfinished block, if its horizon still covers it."""
        topic = row["topic"]
        if row["restatement_id"] is not None:
            if row["restatement_crashes"] >= CRASHES_PER_ATTEMPT * row["attempts_allowed"]:
                return self._give_up_crashing(row)
            span = row["first_seq"], row["last_seq"], row["restatement_kind"]
            return Work(row, tuple(restated_blocks(self.connection, row["topic_id"], *span)))
        if row["id"] is None:
            return NotDue(f"topic {topic} has no planned block yet; the next tick plans one")
        block = block_of(row)
        beyond = self._beyond_horizon(row, block)
        if beyond is not None:
            return beyond
        worn_out = block.status == "parked" or block.crashes >= CRASHES_PER_ATTEMPT * row["attempts_allowed"]
        if worn_out and self.start is not None:
            self.connection.execute(sql("reopen_block"), {"block_id": block.id, "waive": None})
            block, worn_out = replace(block, status="open", failures=0, crashes=0), False
        if block.status == "open" and not protected("stored_range"):
            self._plan_anew(row, "void_unfinished_blocks")
            return NotDue(f"topic {topic}: a test lets it forget the block that was begun")
        if worn_out:
            return self._park_crashing(row, block)
        return Work(row, (block,))

    def _beyond_horizon(self, row: Row, block: Block) -> NotDue | None:
        """Whoever asks, no block reads beyond its horizon: rows that are not there yet would be passed over for good."""
        topic = row["topic"]
        if row["is_unknown"]:
            return NotDue(f"topic {topic}: nothing is known yet of a table that it waits for; nothing was touched")
        if block.bounds.next.pos <= row["horizon"]:
            return None
        if block.status == "planned":
            self._plan_anew(row, "drop_planned_blocks")
            return NotDue(f"topic {topic}: its horizon went back below the planned block; it is planned anew")
        return NotDue(
            f"topic {topic}: its horizon went back to {row['horizon']:%Y-%m-%d %H:%M:%S}, below the begun block #{block.id}; "
            "it is repeated when its inputs are complete again up to its end"
        )

    def _plan_anew(self, row: Row, forget_blocks: str) -> None:
        for statement in (forget_blocks, "forget_examined"):
            self.connection.execute(sql(statement), {"topic_id": row["topic_id"]})

    def _park_crashing(self, row: Row, block: Block) -> NotDue:
        topic, problem = row["topic"], f"its workers were lost {block.crashes} times"
        if block.status != "parked":
            hold = {"block_id": block.id, "failures": 0, "crashes": 0, "park": True}
            self.connection.execute(sql("hold_back_block"), hold)
            self._hold_back(row, problem)
            log_event(self.connection, "PARKED", problem, who=self.worker, topic=topic, block_id=block.id)
        return NotDue(f"topic {topic}: block #{block.id} is parked; dwh retry, release or skip {topic}")

    def _give_up_crashing(self, row: Row) -> NotDue:
        topic, kind = row["topic"], row["restatement_kind"]
        text = (
            f"topic {topic}, restatement {row['restatement_id']} was given up: its workers were lost "
            f"{row['restatement_crashes']} times.\nNothing was changed in the table, and the topic goes on. "
            f"Look why in `dwh log {topic}`; `dwh {kind} {topic} ...` asks for it again."
        )
        hold = {"id": row["restatement_id"], "failures": 0, "crashes": 0, "park": True}
        self.connection.execute(sql("hold_back_restatement"), hold)
        self._hold_back(row, text)
        log_event(self.connection, "PARKED", text, who=self.worker, topic=topic, execution_id=row.get("lost"))
        return NotDue(text)

    def _hold_back(self, row: Row, problem: str) -> None:
        back = {"topic_id": row["topic_id"], "token": row["token"], "problem": problem, "failures": 0, "pauses": 0}
        self.connection.execute(sql("hold_back_topic"), back)

    def _take(self, works: Sequence[Work], code_versions: Mapping[str, str]) -> dict[str, Claim]:
        if not works:
            return {}
        self.modules.read(self.connection, [work.row for work in works])
        taken = self.connection.execute(
            sql("take_topics"),
            {
                "topic_ids": [work.row["topic_id"] for work in works],
                "block_ids": [work.block_id for work in works],
                "restatement_ids": [work.row["restatement_id"] for work in works],
                "module_versions": [self.modules.known[work.row["module"]][0] for work in works],
                "code_versions": [code_versions.get(work.row["topic"], "") for work in works],
                "generations": [json.dumps(work.row["generations"]) for work in works],
                "processing_codes": [work.decision.code for work in works],
                "explanations": [work.decision.text for work in works],
                "batch_instance": None if self.start is None else self.start.instance,
                "worker": self.worker,
                "lease": self.lease_seconds,
                "local_clock": None if protected("clock") else local_clock(),
            },
        ).fetchall()
        failpoint("claim.inside")
        executions = {row["topic_id"]: row for row in taken}
        return {work.row["topic"]: self._claimed(work, executions[work.row["topic_id"]]) for work in works}

    def _claimed(self, work: Work, execution: Row) -> Claim:
        row = work.row
        version, module = self.modules.known[row["module"]]
        return Claim(
            topic=row["topic"],
            topic_id=row["topic_id"],
            shard=row["shard"],
            target=row["target"],
            token=execution["token"],
            worker=self.worker,
            execution_id=execution["id"],
            attempt=execution["attempt"],
            module=module,
            module_version=version,
            generations=row["generations"],
            blocks=work.blocks,
            restatement=row["restatement_id"],
            kind=row["restatement_kind"] or "load",
        )


def end_lost_execution(connection: Connection, topic_id: int, topic: str, who: str) -> Row | None:
    """The topic is locked and its holder gone. None if it had nothing running."""
    lost = connection.execute(sql("fail_lost_execution"), {"topic_id": topic_id}).fetchone()
    if lost is not None:
        what = "its block" if lost["restatement_id"] is None else "its restatement"
        text = f"worker {lost['worker']} was lost; execution {lost['id']} ended as Failed, {what} is repeated"
        about = {"topic": topic, "block_id": lost["block_id"], "execution_id": lost["id"]}
        log_event(connection, "LOST", text, who=who, **about)
    return lost


def evaluate_start(connection: Connection, row: Row, start: Start | None) -> Decision:
    """`row` is what dwh.startable says of the locked topic. An execution whose lease ran out was lost: it counts as failed."""
    lost = (row["running"],) if row["running"] is not None and row["holder"] is None else ()
    facts = ModuleFacts(
        running=f"worker {row['holder']}" if row["holder"] and protected("lock") else None,
        link=_link(connection, row, start),
        active=row["active"],
        asked="Rollback" if start is not None and start.roll_back and row["asked"] == "Proceed" else row["asked"],
        failed=(*row["failed"], *lost),
    )
    return evaluate_module(facts)


def _link(connection: Connection, row: Row, start: Start | None) -> LinkState:
    if start is None or start.batch is None:
        return "alone"
    link = connection.execute(sql("link_of_module"), {"batch": start.batch, "module": row["module"]}).fetchone()
    return "missing" if link is None else "active" if link["active"] else "inactive"
