"""The bar of a backfill: rows done of those expected, rows a second, time left. Only on a terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from dwh_assets.cli import formats
from dwh_assets.cli.output import stderr

Row = dict[str, Any]


class Bar:
    def __init__(self, state: Row) -> None:
        out = stderr()
        self.shown = out.is_terminal
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=out,
            disable=not self.shown,
        )
        self._task = self._progress.add_task(
            state["topic"], total=state["backfill_rows"], completed=state["done_rows"], figures=figures(state)
        )

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.stop()

    def show(self, state: Row) -> None:
        """Rows that arrive meanwhile, and an estimate that was too low, make the whole larger instead of the bar overflow."""
        if state["backfill_rows"] is not None:
            total = max(state["backfill_rows"], state["done_rows"])
            self._progress.update(self._task, total=total, completed=state["done_rows"], figures=figures(state))
        else:
            self._progress.update(self._task, completed=self._progress.tasks[0].total or 0, figures="")


def figures(state: Row) -> str:
    rate = f", {state['rows_per_second']:,.0f} rows/s" if state["rows_per_second"] else ""
    return f"{formats.count(state['done_rows'])} of about {formats.count(state['backfill_rows'])} rows{rate}"
