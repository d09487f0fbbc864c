"""Claims: who may attempt a block, for how long, and how an attempt ends when it does not commit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import psycopg

from dwh_assets.control.claim_set import ClaimSet, KnownModules
from dwh_assets.control.database import Database, one
from dwh_assets.control.events import log_event
from dwh_assets.control.statements import sql
from dwh_assets.model.block import CheckResult, Claim, Hold, Start
from dwh_assets.model.errors import DwhError, LeaseLost, NotDue, UnknownTopic
from dwh_assets.model.evaluation import Decision
from dwh_assets.model.failpoints import failpoint, protected

Connection = psycopg.Connection[Any]
Row = dict[str, Any]


class ClaimStore:
    def __init__(self, database: Database, worker: str, lease_seconds: float) -> None:
        self.database = database
        self.worker = worker
        self.lease_seconds = lease_seconds
        self._modules = KnownModules()

    def claim(self, topic: str, code_version: str = "", force: bool = False, start: Start | None = None) -> Claim:
        """Take the topic's first block, in one transaction: evaluation, lease, token, execution row (D4, S32).

        Raises NotDue when there is nothing to do, Refused when another worker holds the topic. `force` is for acts by hand: it
        passes over repeat, window and back-off, never over the lease or the horizon. `start` is a run that was asked for:
        it is written down also where its evaluation does not let it begin (StartRefused).
        """
        failpoint("claim.before")
        with self.database.transaction() as connection:
            row = lock_topic(connection, topic)
            outcome = self._set(connection, start).claim([row["id"]], {topic: code_version}, force)[topic]
        if isinstance(outcome, DwhError):
            raise outcome
        failpoint("claim.after")
        return outcome

    def claim_many(self, topics: Sequence[str], code_versions: Mapping[str, str] | None = None) -> dict[str, Claim | DwhError]:
        """Claim topics in one transaction. Returns for each what `claim` would return or raise.

        It waits for no one: a topic that someone else has locked just now is not due.
        """
        failpoint("claim.before")
        with self.database.transaction() as connection:
            locked = connection.execute(sql("lock_topics"), {"topics": list(topics)}).fetchall()
            found = self._set(connection).claim([row["id"] for row in locked], code_versions or {}, force=False)
            found |= _not_locked(connection, [topic for topic in topics if topic not in found])
        failpoint("claim.after")
        return found

    def write_down(self, topic: str, start: Start, decision: Decision, execution_code: str | None = None) -> int:
        """An instance of a run that touches nothing: it had nothing to do, or is left out. Returns its id."""
        with self.database.transaction() as connection:
            row = lock_topic(connection, topic)
            values = {"topic_id": row["id"], "token": row["token"]}
            return self._set(connection, start).write_down(values, decision, execution_code)

    def _set(self, connection: Connection, start: Start | None = None) -> ClaimSet:
        return ClaimSet(connection, self.worker, self.lease_seconds, self._modules, start)

    def renew(self, claim: Hold) -> bool:
        """False when the token was superseded."""
        parameters = {"topic_id": claim.topic_id, "token": claim.token, "lease": self.lease_seconds}
        return bool(self.database.fetch(sql("renew_lease"), **parameters))

    def take_table(self, claim: Claim) -> bool:
        """Hold the target table for a replacing write; False while another one does."""
        parameters = {"topic_id": claim.topic_id, "token": claim.token, "target": claim.target}
        return bool(self.database.fetch(sql("take_table_lease"), **parameters))

    def table_is_held(self, claim: Claim) -> bool:
        """True while another attempt replaces rows of the target table."""
        parameters = {"topic_id": claim.topic_id, "token": claim.token, "target": claim.target}
        return bool(self.database.fetch(sql("table_holder"), **parameters))

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
        pause: bool = False,
        park: bool = False,
        checks: Sequence[CheckResult] = (),
    ) -> str:
        """End an attempt without a commit; says what became of its block: open, parked, or lost to a newer holder.

        `counts`: it used up one of the block's attempts. `crash`: a server was lost with it, which parks the block only when it
        was very often. `pause`: what it needs is away, so the next one waits a little, longer each time.
        """
        failpoint("fail.before")
        with self.database.transaction() as connection:
            connection.execute(sql("lock_topic"), {"topic": claim.topic})
            status = self._end(connection, claim, reason, counts=counts, crash=crash, pause=pause, park=park, checks=checks)
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
        pause: bool,
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
            hold = {"id": claim.restatement, "failures": int(counts), "crashes": int(crash), "park": park}
            held = one(connection.execute(sql("hold_back_restatement"), hold))
        failures = held["failures"] if counts else 0
        waits = {"failures": failures, "pauses": claim.attempt if pause else 0}
        back = {"topic_id": claim.topic_id, "token": claim.token, "problem": reason, **waits}
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
        raise _unknown(connection, topic)
    return row


def _not_locked(connection: Connection, topics: list[str]) -> dict[str, DwhError]:
    if not topics:
        return {}
    known = {row["name"] for row in connection.execute(sql("topics_named"), {"topics": topics})}
    busy = "someone else is at work on it just now. Nothing was touched; the next tick asks again."
    return {topic: NotDue(f"topic {topic}: {busy}") if topic in known else _unknown(connection, topic) for topic in topics}


def _unknown(connection: Connection, topic: str) -> UnknownTopic:
    near = connection.execute(sql("near_topics"), {"topic": topic}).fetchall()
    hint = f" Did you mean {', '.join(r['name'] for r in near)}?" if near else ""
    return UnknownTopic(f"there is no topic {topic!r}.{hint} `dwh status` lists them all.")


def lease_lost(claim: Hold, lease_seconds: float) -> LeaseLost:
    return LeaseLost(
        f"{claim.label}: token {claim.token} was superseded while this worker was paused or slow.\n"
        f"Nothing was published by this attempt and no data was lost; the newer worker continues from the same block.\n"
        f"If this repeats, raise DWH_LEASE_SECONDS above the longest pause of a worker (now {lease_seconds:g} s)."
    )
