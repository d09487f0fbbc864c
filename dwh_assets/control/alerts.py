"""Alerts and their deliveries: each occurrence is raised once, and told once to each target."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import psycopg

from dwh_assets.control.database import Database, one
from dwh_assets.control.statements import sql
from dwh_assets.model.alert import MOMENTARY, Alert, Delivery, Kind
from dwh_assets.model.module import Severity

Row = dict[str, Any]
HOLD = timedelta(minutes=2)  # longer than any send takes; who dies while sending delays its alerts by this
MOST = 200  # alerts in one message


class AlertStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def raise_alert(self, kind: Kind, key: str, topic: str | None, block_id: int | None, severity: Severity, text: str) -> bool:
        """False when this occurrence, which its key names, was raised before."""
        values = {"kind": kind, "key": key, "topic": topic, "block_id": block_id, "severity": severity, "text": text}
        return bool(self.database.fetch(sql("insert_alert"), **values, momentary=kind in MOMENTARY))

    def resolve(self, key: str) -> bool:
        """What the alert told of is over, so it is not repeated; false when there was nothing open."""
        return bool(self.database.fetch(sql("resolve_alert"), key=key))

    def find(self) -> None:
        """Raise what the ledger tells and no alert does yet; resolve what is over. While another process does, nothing."""
        with self.database.transaction() as connection:
            if one(connection.execute(sql("lock_alerts")))["mine"]:
                for statement in ("raise_parked", "resolve_parked", "raise_warned", "resolve_behind", "resolve_audit"):
                    connection.execute(sql(statement))
                _raise_behind(connection)

    def open_deliveries(self, targets: Sequence[str]) -> datetime:
        """Every target is to be told of every alert. Returns the clock of the control store."""
        (row,) = self.database.fetch(sql("open_deliveries"), targets=list(targets))
        return row["now"]

    def claim(self, target: str, repeat: timedelta | None = None, limit: int = MOST) -> list[Delivery]:
        """What this target is to be told now, the oldest first. No other process gets the same until the hold runs out."""
        rows = self.database.fetch(sql("claim_deliveries"), target=target, repeat=repeat, limit=limit, hold=HOLD)
        held = [Delivery(held_until=row.pop("held_until"), alert=Alert(**row)) for row in rows]
        return sorted(held, key=lambda delivery: delivery.alert.id)

    def sent(self, target: str, deliveries: Sequence[Delivery]) -> None:
        self.database.execute(sql("mark_delivered"), target=target, **_held(deliveries))

    def failed(self, target: str, deliveries: Sequence[Delivery], problem: str) -> None:
        """They are tried again, later each time."""
        self.database.execute(sql("hold_back_deliveries"), target=target, problem=problem, **_held(deliveries))

    def listed(self, topics: Sequence[str] | None = None, everything: bool = False) -> list[Row]:
        """Open and recent alerts, or all, with their deliveries."""
        listed = None if topics is None else list(topics)
        return self.database.fetch(sql("report_alerts"), topics=listed, everything=everything)


def _raise_behind(connection: psycopg.Connection[Any]) -> None:
    """Only those that fell behind just now are judged: to judge every topic each time would be dear."""
    late = {row["topic"]: row for row in connection.execute(sql("newly_behind"))}
    for verdict in connection.execute(sql("select_verdicts_of"), {"topics": list(late)}).fetchall() if late else ():
        topic, row = verdict["topic"], late[verdict["topic"]]
        text = (
            f"topic {topic} is {row['lag']} behind, its promise is {row['promise']}: {verdict['reason']}\n"
            f"`dwh why {topic}` names what it waits for."
        )
        connection.execute(sql("raise_behind"), {"topic": topic, "text": text})


def _held(deliveries: Sequence[Delivery]) -> dict[str, list[Any]]:
    return {"alerts": [d.alert.id for d in deliveries], "held": [d.held_until for d in deliveries]}
