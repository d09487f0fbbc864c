"""Why a topic waits: what it depends on, the slowest followed down to its root, and when each should be done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from dwh_assets.cli.estimate import Estimate, estimate, usual
from dwh_assets.control.reports import Reports

Row = dict[str, Any]


@dataclass(frozen=True)
class Link:
    """A topic or a source, and what it waits for. `followed` is the dependency that holds its topic back the most."""

    name: str
    kind: Literal["topic", "source"]
    verdict: str
    why: str
    watermark: datetime | None
    pending_rows: int
    rows_per_second: float | None
    estimate: Estimate
    usual: str = ""  # what its newest blocks were like
    parked: bool = False
    followed: bool = False
    waits_for: tuple[Link, ...] = ()

    def as_dict(self) -> Row:
        return {
            "name": self.name,
            "kind": self.kind,
            "verdict": self.verdict,
            "why": self.why,
            "watermark": self.watermark,
            "pending_rows": self.pending_rows,
            "rows_per_second": self.rows_per_second,
            "usual": self.usual,
            "done_at": self.estimate.at,
            "done": self.estimate.text,
            "followed": self.followed,
            "waits_for": [link.as_dict() for link in self.waits_for],
        }


@dataclass(frozen=True)
class Known:
    """One look at the control store."""

    status: dict[str, Row]
    sources: dict[str, Row]
    dependencies: dict[str, list[Row]]
    history: dict[str, Row]

    def topic(self, name: str, followed: bool = False, deep: bool = True) -> Link:
        row: Row = {**self.status[name], "history": self.history.get(name)}
        needed = self.dependencies.get(name, []) if deep else []
        slowest = _slowest(row, needed)
        links = tuple(self._dependency(row, d, d["table_name"] == slowest) for d in needed)
        held_by = next((link.estimate for link in links if link.followed), None)
        return Link(
            name, "topic", row["verdict"], row["why"], row["watermark"], row["pending_rows"], row["rows_per_second"],
            estimate(row, held_by), usual(row), row["parked"], followed, links,
        )  # fmt: skip

    def source(self, name: str, followed: bool = False) -> Link:
        row = self.sources[name]
        verdict = "FAILS" if row["problem"] else "SOURCE" if row["seen_at"] else "NOT_SEEN"
        text = Estimate(None, f"when {name} has newer rows" if not row["problem"] else f"when {name} can be read again")
        return Link(
            name, "source", verdict, _seen(row), row["watermark"], 0, None, text,
            parked=bool(row["problem"]), followed=followed,
        )  # fmt: skip

    def _dependency(self, row: Row, dependency: Row, followed: bool) -> Link:
        table = dependency["table_name"]
        if dependency["is_source"] and table in self.sources:
            return self.source(table, followed)
        return self.topic(self._slowest_topic(table, row["shard"]), followed, deep=followed)

    def _slowest_topic(self, table: str, shard: str | None) -> str:
        """A table is as far as the last of its topics; of a sharded one, the same shard counts."""
        all_of = [row for row in self.status.values() if row["target"] == table]
        rows = [row for row in all_of if row["shard"] == shard] or all_of
        return min(rows, key=lambda row: (row["watermark"] is not None, row["watermark"] or row["at"]))["topic"]


def chain_of(reports: Reports, name: str) -> list[Link]:
    """The chain of each topic that this name stands for, or what is known of a source."""
    known = _look(reports)
    if name in known.sources:
        return [known.source(name)]
    return [known.topic(topic) for topic in reports.topics_named(name)]


def _look(reports: Reports) -> Known:
    dependencies: dict[str, list[Row]] = {}
    for row in reports.dependencies():
        dependencies.setdefault(row["topic"], []).append(row)
    sources = {row["name"]: row for row in reports.sources()}
    history = {row["topic"]: row for row in reports.history()}
    return Known({row["topic"]: row for row in reports.status()}, sources, dependencies, history)


def _slowest(row: Row, needed: list[Row]) -> str | None:
    """What holds the topic back: a table of which nothing is known, a base without newer rows, else the least complete one."""
    if not needed:
        return None
    unknown = [d["table_name"] for d in needed if d["unknown"]]
    if unknown:
        return unknown[0]
    dry = (
        row["verdict"] == "WAIT_DEP"
        and row["upto"] is not None
        and (row["at"] - row["upto"]).total_seconds() <= row["delay_seconds"]
    )
    return row["base"] if dry else row["slowest"]


def _seen(row: Row) -> str:
    if row["problem"]:
        return row["problem"].split("\n", 1)[0]
    if row["seen_at"] is None:
        return "was never looked at; `dwh up` or `dwh run` does"
    newest = f"newest row {row['newest']:%Y-%m-%d %H:%M:%S}" if row["newest"] else "has no rows"
    return f"{newest}, last looked at {row['seen_at']:%H:%M:%S}"
