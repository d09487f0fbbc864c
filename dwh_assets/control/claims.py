"""Claims: who may attempt a block, for how long, and how an attempt ends when it does not commit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import psycopg

from dwh_assets.config.lineage_spec import from_spec
from dwh_assets.control.database import Database, one
from dwh_assets.control.events import log_event
from dwh_assets.control.statements import sql
from dwh_assets.model.block import Block, CheckResult, Claim
from dwh_assets.model.errors import DwhError, LeaseLost, NotDue, Refused, UnknownTopic
from dwh_assets.model.failpoints import failpoint, protected
from dwh_assets.model.position import Bounds, Position

Connection = psycopg.Connection[Any]
Row = dict[str, Any]
CRASHES_PER_ATTEMPT = 10


def block_of(row: Row) -> Block:
    bounds = Bounds(Position(row["last_pos"], int(row["last_id"])), Position(row["next_pos"], int(row["next_id"])))
    return Block(
        id=row["id"],
        topic_id=row["topic_id"],
        seq=row["seq"],
        bounds=bounds,
        status=row["status"],
        upto=row["upto"],
        takes_all=row["takes_all"],
        planned_rows=row["planned_rows"],
        base_rows=row["base_rows"],
        hash_sum=None if row["hash_sum"] is None else int(row["hash_sum"]),
        failures=row["failures"],
        crashes=row["crashes"],
        waived=tuple(row["waived"]),
        late_rows=row["late_rows"],
    )


class ClaimStore:
    def __init__(self, database: Database, worker: str, lease_seconds: float) -> None:
        self.database = database
        self.worker = worker
        self.lease_seconds = lease_seconds

    def claim(self, topic: str, code_version: str = "", force: bool = False) -> Claim:
        """Take the topic's first block, in one transaction: evaluation, lease, token, execution row (D4, S32).

        Raises NotDue when there is nothing to do, Refused when another worker holds the topic. `force` is for acts by hand: it
        passes over delay, dependencies, repeat, window and back-off, never over the lease.
        """
        failpoint("claim.before")
        with self.database.transaction() as connection:
            outcome = self._evaluate(connection, topic, code_version, force)
        if isinstance(outcome, DwhError):
            raise outcome
        failpoint("claim.after")
        return outcome

    def _evaluate(self, connection: Connection, topic: str, code_version: str, force: bool) -> Claim | DwhError:
        row = lock_topic(connection, topic)
        verdict = one(connection.execute(sql("verdict_of_topic"), {"topic_id": row["id"]}))
        if verdict["verdict"] == "LOCKED" and protected("lock"):
            return self._refuse(connection, row, f"topic {topic}: {verdict['reason']}. Nothing was touched by this attempt.")
        if verdict["verdict"] in ("INACTIVE", "NOT_INITIALISED") or not (verdict["due"] or force):
            return NotDue(f"topic {topic} is not due: {verdict['verdict']}, {verdict['reason']}")
        self._end_lost_execution(connection, row)
        work = self._work(connection, row, verdict)
        if isinstance(work, DwhError):
            return work
        return self._take(connection, row, work, code_version)

    def _refuse(self, connection: Connection, row: Row, reason: str) -> Refused:
        connection.execute(
            sql("insert_refused_execution"),
            {
                "topic_id": row["id"],
                "token": row["token"],
                "worker": self.worker,
                "module_version": row["module_version"],
                "execution_code": "Aborted",
                "processing_code": "Abort",
                "reason": reason,
            },
        )
        return Refused(reason)

    def _end_lost_execution(self, connection: Connection, row: Row) -> None:
        lost = connection.execute(sql("fail_lost_execution"), {"topic_id": row["id"]}).fetchone()
        if lost is None:
            return
        text = f"worker {lost['worker']} was lost; execution {lost['id']} ended as Failed, its block is repeated"
        log_event(
            connection,
            "LOST",
            text,
            who=self.worker,
            topic=row["name"],
            block_id=lost["block_id"],
            execution_id=lost["id"],
        )

    def _work(self, connection: Connection, row: Row, verdict: Row) -> tuple[Row | None, list[Block]] | DwhError:
        """An open restatement comes first; else the first unfinished block, if its horizon still covers it."""
        restatement = connection.execute(sql("open_restatement"), {"topic_id": row["id"]}).fetchone()
        if restatement is not None:
            return restatement, restated_blocks(connection, restatement)
        found = connection.execute(sql("first_unfinished_block"), {"topic_id": row["id"]}).fetchone()
        if found is None:
            return NotDue(f"topic {row['name']} has no planned block yet; the next tick plans one")
        block = block_of(found)
        if block.status == "open" and not protected("stored_range"):
            connection.execute(sql("void_unfinished_blocks"), {"topic_id": row["id"]})
            connection.execute(sql("forget_examined"), {"topic_id": row["id"]})
            return NotDue(f"topic {row['name']}: a test lets it forget the block that was begun")
        if block.status == "planned" and block.bounds.next.pos > verdict["upto"]:
            connection.execute(sql("drop_planned_blocks"), {"topic_id": row["id"]})
            connection.execute(sql("forget_examined"), {"topic_id": row["id"]})
            return NotDue(f"topic {row['name']}: its horizon went back below the planned block; it is planned anew")
        if block.status == "parked" or block.crashes >= CRASHES_PER_ATTEMPT * row["attempts_allowed"]:
            return self._park_crashing(connection, row, block)
        return None, [block]

    def _park_crashing(self, connection: Connection, row: Row, block: Block) -> NotDue:
        problem = f"its workers were lost {block.crashes} times"
        if block.status != "parked":
            hold = {"block_id": block.id, "failures": 0, "crashes": 0, "park": True}
            connection.execute(sql("hold_back_block"), hold)
            connection.execute(
                sql("hold_back_topic"), {"topic_id": row["id"], "token": row["token"], "problem": problem, "failures": 0}
            )
            log_event(connection, "PARKED", problem, who=self.worker, topic=row["name"], block_id=block.id)
        return NotDue(f"topic {row['name']}: block #{block.id} is parked; dwh retry, release or skip {row['name']}")

    def _take(self, connection: Connection, row: Row, work: tuple[Row | None, list[Block]], code_version: str) -> Claim:
        restatement, blocks = work
        module = from_spec(row["spec"])
        lease = {"topic_id": row["id"], "worker": self.worker, "lease": self.lease_seconds}
        token = one(connection.execute(sql("take_lease"), lease))["token"]
        failpoint("claim.inside")
        if restatement is None:
            connection.execute(sql("open_block"), {"block_id": blocks[0].id})
        execution = one(
            connection.execute(
                sql("insert_execution"),
                {
                    "topic_id": row["id"],
                    "block_id": None if restatement else blocks[0].id,
                    "restatement_id": restatement["id"] if restatement else None,
                    "token": token,
                    "worker": self.worker,
                    "module_version": row["module_version"],
                    "code_version": code_version,
                    "inputs": list(module.inputs),
                },
            )
        )
        return Claim(
            topic=row["name"],
            topic_id=row["id"],
            shard=row["shard"],
            target=row["target"],
            token=token,
            worker=self.worker,
            execution_id=execution["id"],
            attempt=execution["attempt"],
            module=module,
            module_version=row["module_version"],
            generations=execution["generations"],
            blocks=tuple(blocks),
            restatement=restatement["id"] if restatement else None,
            kind=restatement["kind"] if restatement else "load",
        )

    def renew(self, claim: Claim) -> bool:
        """False when the token was superseded."""
        parameters = {"topic_id": claim.topic_id, "token": claim.token, "lease": self.lease_seconds}
        return bool(self.database.fetch(sql("renew_lease"), **parameters))

    def take_table(self, claim: Claim) -> bool:
        """Hold the target table for a replacing write; False while another one does."""
        parameters = {"topic_id": claim.topic_id, "token": claim.token, "target": claim.target}
        return bool(self.database.fetch(sql("take_table_lease"), **parameters))

    def note_staging(self, claim: Claim, branches: dict[str, Any], inputs: dict[str, int | None]) -> None:
        noted = self.database.fetch(
            sql("note_staging"),
            execution_id=claim.execution_id,
            token=claim.token,
            branches=json.dumps(branches),
            inputs=json.dumps(inputs),
        )
        if not noted and protected("token"):
            raise lease_lost(claim, self.lease_seconds)

    def outcome(self, claim: Claim) -> str:
        row = self.database.fetch_one(sql("execution_outcome"), execution_id=claim.execution_id)
        return "" if row is None else row["execution_code"]

    def fail(
        self,
        claim: Claim,
        reason: str,
        *,
        counts: bool,
        crash: bool = False,
        park: bool = False,
        checks: Sequence[CheckResult] = (),
    ) -> str:
        """End an attempt without a commit; says what became of its block: open, parked, or lost to a newer holder."""
        failpoint("fail.before")
        with self.database.transaction() as connection:
            connection.execute(sql("lock_topic"), {"topic": claim.topic})
            status = self._end(connection, claim, reason, counts=counts, crash=crash, park=park, checks=checks)
        failpoint("fail.after")
        return status

    def _end(
        self,
        connection: Connection,
        claim: Claim,
        reason: str,
        *,
        counts: bool,
        crash: bool,
        park: bool,
        checks: Sequence[CheckResult],
    ) -> str:
        ended = connection.execute(
            sql("end_failed_execution"),
            {
                "execution_id": claim.execution_id,
                "token": claim.token,
                "reason": reason,
                "execution_code": "Failed",
                "next_run_code": "Rollback",
                "checks": json.dumps([asdict(result) for result in checks]),
            },
        ).fetchone()
        if ended is None:
            return "lost"
        if claim.kind == "load":
            hold = {"block_id": claim.block.id, "failures": int(counts), "crashes": int(crash), "park": park}
            held = one(connection.execute(sql("hold_back_block"), hold))
        else:
            hold = {"id": claim.restatement, "failures": int(counts), "park": park}
            held = one(connection.execute(sql("hold_back_restatement"), hold))
        failures = held["failures"] if counts else 0
        back = {"topic_id": claim.topic_id, "token": claim.token, "problem": reason, "failures": failures}
        connection.execute(sql("hold_back_topic"), back)
        connection.execute(sql("release_table_lease"), {"topic_id": claim.topic_id, "token": claim.token})
        code = "PARKED" if held["status"] in ("parked", "failed") else "FAILED"
        log_event(
            connection,
            code,
            reason,
            who=self.worker,
            topic=claim.topic,
            block_id=claim.block.id,
            execution_id=claim.execution_id,
        )
        return held["status"]


def lock_topic(connection: Connection, topic: str) -> Row:
    row = connection.execute(sql("lock_topic"), {"topic": topic}).fetchone()
    if row is None:
        near = connection.execute(sql("near_topics"), {"topic": topic}).fetchall()
        hint = f" Did you mean {', '.join(r['name'] for r in near)}?" if near else ""
        raise UnknownTopic(f"there is no topic {topic!r}.{hint} `dwh status` lists them all.")
    return row


def restated_blocks(connection: Connection, restatement: Row) -> list[Block]:
    """A rollback also takes back blocks that were skipped: else the cursor would stop behind them."""
    rows = connection.execute(
        sql("blocks_between"),
        {
            "topic_id": restatement["topic_id"],
            "first": restatement["first_seq"],
            "last": restatement["last_seq"],
            "skipped": restatement["kind"] == "rollback",
        },
    ).fetchall()
    return [block_of(row) for row in rows]


def lease_lost(claim: Claim, lease_seconds: float) -> LeaseLost:
    return LeaseLost(
        f"{claim.label}: token {claim.token} was superseded while this worker was paused or slow.\n"
        f"Nothing was published by this attempt and no data was lost; the newer worker continues from the same block.\n"
        f"If this repeats, raise DWH_LEASE_SECONDS above the longest pause of a worker (now {lease_seconds:g} s)."
    )
