"""One look at the whole warehouse on one screen: what runs, what fails and what lags first; the rest is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from dwh_assets.cli import formats
from dwh_assets.cli.columns import pending

Row = Mapping[str, Any]
State = Literal["runs", "fails", "behind", "due", "rests"]
ORDER: tuple[State, ...] = ("runs", "fails", "behind", "due", "rests")
MARKS: dict[State, str] = {
    "runs": "[cyan]>[/]",
    "fails": "[red]x[/]",
    "behind": "[yellow]![/]",
    "due": "[green]+[/]",
    "rests": " ",
}
WORDS: dict[State, str] = {"runs": "being loaded", "fails": "failing", "behind": "behind", "due": "due", "rests": "at rest"}
FIXED = 5  # lines that are there in any case: the two of the head, the titles of the topics with their rule, the sum below
LEAST = 3
NARROW = 70  # columns of a screen that has no room for all figures
WIDEST = 40  # of a name that is never cut


@dataclass(frozen=True)
class Frame:
    """`height`: lines of the screen; None where there is no screen, then only what is at rest is left out."""

    topics: Sequence[Row]
    running: Sequence[Row]
    errors: Sequence[Row]
    pace: Row
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    height: int | None = None
    trouble: str = ""  # why it is old

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        height = None if self.height is None else options.max_height
        failures = self._failures(height)
        listed, left = self._chosen(height, len(failures))
        yield self._head()
        yield self._second()
        yield self._table(listed, options.max_width)
        yield _sum_of(left)
        if failures:
            yield _failures_table(failures)

    def states(self) -> dict[str, State]:
        at_work = {row["topic"] for row in self.running}
        return {row["topic"]: "runs" if row["topic"] in at_work else state_of(row) for row in self.topics}

    def ordered(self) -> list[Row]:
        """What a person must know first comes first; among equals, what is further behind."""
        states = self.states()
        return sorted(self.topics, key=lambda r: (ORDER.index(states[r["topic"]]), -(r["lag_seconds"] or 0), r["topic"]))

    def _failures(self, height: int | None) -> Sequence[Row]:
        return self.errors[: 10 if height is None else max(LEAST, height // 4)]

    def _chosen(self, height: int | None, failures: int) -> tuple[list[Row], list[Row]]:
        ordered, states = self.ordered(), self.states()
        if height is None:
            rests = [row for row in ordered if states[row["topic"]] == "rests"]
            return [row for row in ordered if states[row["topic"]] != "rests"], rests
        room = max(LEAST, height - FIXED - (failures + 2 if failures else 0))
        return ordered[:room], ordered[room:]

    def _head(self) -> Text:
        counts = Counter(self.states().values())
        parts = [f"{formats.count(counts[state])} {WORDS[state]}" for state in ORDER if counts[state]]
        return _line(f"[bold]{self.at:%H:%M:%S}[/]  {len(self.topics)} topics: {', '.join(parts) or 'none'}")

    def _second(self) -> Text:
        if self.trouble:
            return _line(f"[red]as of {self.at:%H:%M:%S}: {formats.first_line(self.trouble)}[/]")
        pace = self.pace
        workers = f"{pace['workers']} workers, {pace['busy']} busy" if pace["workers"] else "no worker is online"
        return _line(f"{pace['rows'] / 60:,.0f} rows/s over the last minute, {formats.count(pace['blocks'])} blocks; {workers}")

    def _table(self, rows: Sequence[Row], width: int) -> Table:
        states, at_work, narrow = self.states(), {row["topic"]: row for row in self.running}, width < NARROW
        longest = max((len(row["topic"]) for row in rows), default=0)
        made = _table("", "topic", "verdict", "lag", *(() if narrow else ("pending", "rows/s")), "now", names=longest)
        for row in rows:
            running = at_work.get(row["topic"])
            figures = () if narrow else (pending(row), formats.count(row["rows_per_second"]))
            made.add_row(
                MARKS[states[row["topic"]]],
                escape(row["topic"]),
                formats.coloured(row["verdict"], red=row["parked"]),
                formats.span(row["lag_seconds"]),
                *figures,
                formats.first_line(row["why"]) if running is None else work_of(running),
            )
        return made


def state_of(row: Row) -> State:
    if row["parked"] or row["problem"] or row["verdict"] in ("BACKOFF", "DEP_UNKNOWN"):
        return "fails"
    if row["promise_seconds"] is not None and (row["lag_seconds"] or 0) > row["promise_seconds"]:
        return "behind"
    return "due" if row["due"] else "rests"


def work_of(row: Row) -> str:
    """A block that is being loaded, in words: which, in what phase, how far, since when."""
    what = f"#{row['block_id']}" if row["kind"] == "load" else row["kind"]
    tasks = f" {row['tasks_done']}/{row['tasks']} tasks" if row["tasks"] else ""
    again = f", try {row['attempt']}" if row["attempt"] and row["attempt"] > 1 else ""
    return f"{what} [cyan]{row['phase'] or 'begins'}[/]{tasks}, {formats.seconds(row['seconds'])}{again}"


def _sum_of(left: Sequence[Row]) -> Text:
    """What is not listed, by verdict."""
    counts = Counter(row["verdict"] for row in left)
    parts = [f"{formats.count(count)} {formats.coloured(verdict)}" for verdict, count in counts.most_common()]
    return _line(f"  and {formats.count(len(left))} more: {', '.join(parts)}" if left else "")


def _failures_table(errors: Sequence[Row]) -> Table:
    made = _table("failures", "topic", "times", "what")
    for row in errors:
        when = formats.short_instant(row["last_at"])
        made.add_row(when, escape(row["topic"] or ""), formats.count(row["times"]), formats.first_line(row["text"]))
    return made


def _table(*titles: str, names: int = 0) -> Table:
    """One line a row, whatever the width: the last column is cut, names last of all."""
    made = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), expand=True, header_style="bold dim")
    for number, title in enumerate(titles):
        last = number == len(titles) - 1
        right = title in ("lag", "pending", "rows/s", "times")
        made.add_column(
            title, justify="right" if right else "left", no_wrap=True, overflow="ellipsis", ratio=1 if last else None,
            min_width=min(names, WIDEST) if title == "topic" else min(len(title), 4),
        )  # fmt: skip
    return made


def _line(markup: str) -> Text:
    text = Text.from_markup(markup)
    text.no_wrap, text.overflow = True, "ellipsis"
    return text
