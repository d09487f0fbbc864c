"""Alerts: what a person should know, and where it is told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from dwh_assets.model.module import Severity

Kind = Literal["check_failed", "check_warned", "run_failed", "block_parked", "behind", "event_without_block", "audit"]
MOMENTARY = ("check_warned", "run_failed")  # over as they happen: told once, never repeated


@dataclass(frozen=True)
class Alert:
    id: int
    kind: Kind
    key: str
    topic: str | None
    block_id: int | None
    severity: Severity
    text: str
    raised_at: datetime
    resolved_at: datetime | None

    @property
    def ended(self) -> datetime | None:
        """When what it tells of ended; none while it lasts, and none for what is over as it happens."""
        return self.resolved_at if self.resolved_at and self.resolved_at > self.raised_at else None


@dataclass(frozen=True)
class Delivery:
    """The right to tell one target of an alert, until the hold runs out."""

    alert: Alert
    held_until: datetime
