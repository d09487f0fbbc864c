"""The phases of an execution, as the outside world knows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Phase = Literal["data-extract", "structure-transform", "data-transform", "data-load"]
PHASES: tuple[Phase, ...] = ("data-extract", "structure-transform", "data-transform", "data-load")
UNKNOWN = -1  # a total that nobody has counted


@dataclass(frozen=True)
class Totals:
    """Rows of a phase."""

    incoming: int = UNKNOWN
    outgoing: int = UNKNOWN
    failed: int = UNKNOWN


@dataclass(frozen=True)
class Advance:
    """How far a phase is, by Spark's own count."""

    tasks: int = 0
    done: int = 0


@dataclass(frozen=True)
class PhaseNote:
    """A phase of an execution began, goes on, ended or failed."""

    execution_id: int
    stream: str
    phase: Phase
    event: Literal["started", "advanced", "finished", "failed"]
    totals: Totals | None = None
    advance: Advance | None = None
