"""Runs of commands: begun by the same evaluation as blocks, kept by the same lease, ended by whoever still holds it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import psycopg

from dwh_assets.control.claim_set import evaluate_start
from dwh_assets.control.claims import lease_lost, lock_topic
from dwh_assets.control.database import Database, one
from dwh_assets.control.events import log_event
from dwh_assets.control.statements import sql
from dwh_assets.model.block import Hold, RowCounts, Start
from dwh_assets.model.errors import StartRefused, UnknownTopic
from dwh_assets.model.evaluation import Decision

Connection = psycopg.Connection[Any]
Row = dict[str, Any]


class CommandStore:
    def __init__(self, database: Database, worker: str, lease_seconds: float) -> None:
        self.database = database
        self.worker = worker
        self.lease_seconds = lease_seconds

    def begin(self, name: str, start: Start) -> Hold:
        """Evaluation, lease, token and instance in one transaction. Raises StartRefused, written down, where it may not run."""
        refused: StartRefused | None = None
        with self.database.transaction() as connection:
            row = self._judged(connection, name)
            decision = evaluate_start(connection, row, start)
            if decision.heeds:
                connection.execute(sql("forget_asked"), {"topic_id": row["topic_id"]})
            if decision.runs:
                return self._take(connection, row, start, decision)
            codes = {"execution_code": decision.execution_code, "processing_code": decision.code, "reason": decision.text}
            self._write_down(connection, row, start, codes)
            refused = StartRefused(f"{name}: {decision.text}.", decision.code)
        raise refused

    def _judged(self, connection: Connection, name: str) -> Row:
        lock_topic(connection, name)
        row = connection.execute(sql("judge_command"), {"topic": name}).fetchone()
        if row is None:
            raise UnknownTopic(f"{name} is a table, not a command.")
        return row

    def _take(self, connection: Connection, row: Row, start: Start, decision: Decision) -> Hold:
        if row["running"] is not None:
            _end_lost(connection, row, self.worker)
        values = {
            "topic_ids": [row["topic_id"]],
            "block_ids": [None],
            "restatement_ids": [None],
            "module_versions": [row["module_version"]],
            "code_versions": [""],
            "generations": ["{}"],
            "processing_codes": [decision.code],
            "explanations": [decision.text],
            "batch_instance": start.instance,
            "worker": self.worker,
            "lease": self.lease_seconds,
            "local_clock": None,
        }
        taken = one(connection.execute(sql("take_topics"), values))
        return Hold(row["topic"], row["topic_id"], taken["token"], self.worker, taken["id"], 1)

    def _write_down(self, connection: Connection, row: Row, start: Start, codes: Row) -> None:
        about = {"topic_id": row["topic_id"], "token": row["token"], "worker": self.worker, "batch_instance": start.instance}
        connection.execute(sql("insert_refused_execution"), about | codes)

    def try_again(self, hold: Hold) -> int:
        """One more attempt on the same instance; returns its number."""
        row = self.database.fetch_one(sql("count_attempt"), execution_id=hold.execution_id, token=hold.token)
        if row is None:
            raise lease_lost(hold, self.lease_seconds)
        return row["attempt"]

    def succeed(self, hold: Hold, counts: RowCounts) -> None:
        with self.database.transaction() as connection:
            row = lock_topic(connection, hold.topic)
            if row["token"] != hold.token:
                raise lease_lost(hold, self.lease_seconds)
            connection.execute(sql("succeed_execution"), asdict(counts) | {"execution_id": hold.execution_id})
            connection.execute(sql("release_topic"), {"topic_id": hold.topic_id})

    def fail(self, hold: Hold, reason: str) -> None:
        """End it as Failed; where a newer holder came meanwhile, that one has ended it already."""
        values = {"execution_id": hold.execution_id, "token": hold.token, "reason": reason, "checks": "[]"}
        with self.database.transaction() as connection:
            lock_topic(connection, hold.topic)
            codes = {"execution_code": "Failed", "next_run_code": "Rollback"}
            if connection.execute(sql("end_failed_execution"), values | codes).fetchone() is None:
                return
            back = {"topic_id": hold.topic_id, "token": hold.token, "problem": reason, "failures": 0, "pauses": 0}
            connection.execute(sql("hold_back_topic"), back)
            log_event(connection, "FAILED", reason, who=hold.worker, topic=hold.topic, execution_id=hold.execution_id)

    def end_lost(self) -> int:
        """End what was left Executing by processes that are gone; returns how many."""
        with self.database.transaction() as connection:
            lost = connection.execute(sql("end_lost_commands")).fetchall()
            for row in lost:
                _log_lost(connection, row["topic"], row, self.worker)
        return len(lost)


def _end_lost(connection: Connection, row: Row, worker: str) -> None:
    lost = one(connection.execute(sql("fail_lost_execution"), {"topic_id": row["topic_id"]}))
    _log_lost(connection, row["topic"], lost, worker)


def _log_lost(connection: Connection, topic: str, lost: Row, who: str) -> None:
    text = f"worker {lost['worker']} was lost; execution {lost['id']} ended as Failed"
    log_event(connection, "LOST", text, who=who, topic=topic, execution_id=lost["id"])
