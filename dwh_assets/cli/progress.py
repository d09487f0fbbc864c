"""What the loop reports while it runs: one line per block that ended, and the sum at the end."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from dwh_assets.cli import formats
from dwh_assets.cli.output import console, warn
from dwh_assets.control.reports import Reports
from dwh_assets.model.errors import Transient

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

    def follow(self, reports: Reports, stop: threading.Event) -> None:
        """Tell of attempts that other processes end, until stopped; a control store that is away is waited for."""
        after = datetime.now(UTC)
        while not stop.wait(1):
            try:
                rows = reports.ended(after)
            except Transient as error:
                warn(str(error).splitlines()[0])
                continue
            for row in rows:
                self._report_row(row)
                after = row["ended_at"]

    def _report_row(self, row: dict[str, Any]) -> None:
        self.results[row["result"]] += 1
        self.rows += row["rows"] if row["result"] == "committed" else 0
        if row["result"] == "parked":
            self.parked[row["topic"]] = row["reason"]
        block = row["kind"] or f"#{row['block_id']}"
        text = ended(row["ended_at"], row["topic"], block, row["result"], row["rows"], row["seconds"], row["reason"])
        console().print(text, soft_wrap=True)
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
    claim = outcome.claim
    block = "" if claim is None else f"#{claim.block.id}" if claim.kind == "load" else claim.kind
    return ended(datetime.now(UTC), outcome.topic, block, outcome.result, outcome.rows, outcome.seconds, outcome.text)


def ended(at: datetime, topic: str, block: str, result: str, rows: int, seconds: float, text: str) -> str:
    head = f"[dim]{at:%H:%M:%S}[/]  {topic:<26} {block:>7}"
    if result == "committed":
        rate = f"{rows / seconds:>10,.0f} rows/s" if seconds else ""
        return f"{head}  {rows:>11,} rows {formats.seconds(seconds):>8} {rate}"
    return f"{head}  {formats.coloured(result)}: {formats.first_line(text)}"
