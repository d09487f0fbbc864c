"""Whose turn it is, and for how long: one rule for the slots of the loop and for workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dwh_assets.engine.attempt import Outcome


def rank(row: dict[str, Any]) -> float:
    """The least comes first: the topic that has waited longest; each step of its priority counts as a minute."""
    waits_since = row["last_end"].timestamp() if row["last_end"] else 0.0
    return waits_since - 60.0 * row["priority"]


def turn(attempt: Callable[[], Outcome], is_over: Callable[[], bool]) -> Iterator[Outcome]:
    """Attempt block after block of a topic while they commit, until others wait for its place.

    The claim of each judges the topic anew, and the ticks beside it plan ahead.
    """
    outcome = attempt()
    yield outcome
    while outcome.result == "committed" and not is_over():
        outcome = attempt()
        yield outcome
