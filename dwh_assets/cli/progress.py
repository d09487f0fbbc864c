"""What the loop reports while it runs: one line per block that ended, and the sum at the end."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dwh_assets.cli import formats
from dwh_assets.cli.output import console

if TYPE_CHECKING:
    from dwh_assets.engine.attempt import Outcome


@dataclass
class Progress:
    """Counts outcomes; prints them unless it is quiet."""

    quiet: bool = False
    results: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    parked: dict[str, str] = field(default_factory=dict)

    def report(self, outcome: Outcome) -> None:
        self.results[outcome.result] += 1
        self.rows += outcome.rows
        if outcome.result == "parked":
            self.parked[outcome.topic] = outcome.text
        if not self.quiet and outcome.result != "idle":
            console().print(line(outcome), soft_wrap=True)
            sys.stdout.flush()

    @property
    def exit_code(self) -> int:
        """2 where a person must act on a parked block, 1 where attempts failed that are to be repeated."""
        return 2 if self.parked else 1 if self.results["failed"] else 0

    def as_dict(self) -> dict[str, object]:
        parked = [{"topic": topic, "text": text} for topic, text in self.parked.items()]
        return {"committed": self.results["committed"], "rows": self.rows, "failed": self.results["failed"], "parked": parked}

    def summary(self) -> str:
        parts = [f"{formats.count(self.results['committed'])} blocks, {formats.count(self.rows)} rows"]
        parts += [f"{formats.count(self.results['failed'])} attempts failed"] if self.results["failed"] else []
        parts += [f"parked: {', '.join(self.parked)}"] if self.parked else []
        return "; ".join(parts)


def line(outcome: Outcome) -> str:
    """One ended attempt on one line."""
    at = f"[dim]{datetime.now(UTC):%H:%M:%S}[/]"
    claim = outcome.claim
    block = "" if claim is None else f"#{claim.block.id}" if claim.kind == "load" else claim.kind
    head = f"{at}  {outcome.topic:<26} {block:>7}"
    if outcome.result == "committed":
        rate = f"{outcome.rows / outcome.seconds:>10,.0f} rows/s" if outcome.seconds else ""
        return f"{head}  {outcome.rows:>11,} rows {formats.seconds(outcome.seconds):>8} {rate}"
    return f"{head}  {formats.coloured(outcome.result)}: {formats.first_line(outcome.text)}"
