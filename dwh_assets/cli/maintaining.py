"""dwh maintain: what keeps the warehouse small and fast, beside the loading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from dwh_assets.cli import columns
from dwh_assets.cli.opening import settings_of, warehouse
from dwh_assets.cli.options import Json
from dwh_assets.cli.output import printer, stderr
from dwh_assets.model.errors import ConfigError

if TYPE_CHECKING:
    from dwh_assets.engine.engine import Engine
    from dwh_assets.engine.jobs import Report, Result

TASKS = ("keep", "compact", "expire_snapshots", "remove_orphans", "prune_control", "dagster")


def maintain(
    context: typer.Context,
    tasks: Annotated[
        list[str] | None, typer.Argument(metavar="[TASK]...", help=f"{', '.join(TASKS)}; all without it", show_default=False)
    ] = None,
    table: Annotated[str | None, typer.Option("--table", "-t", help="Only this built table.", show_default=False)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Remove rows, snapshots, files and records that were kept long enough, and rewrite small files. Loading goes on."""
    chosen = _chosen(tasks, table)
    done: list[Result] = []
    try:
        with warehouse(settings_of(context)) as engine, _bars() as report:
            done.extend(_results(engine, chosen, table, report, dry_run))
    except BaseException:
        if done:
            _show(done, as_json, dry_run)  # what was done before it is done
        raise
    _show(done, as_json, dry_run)


def _chosen(tasks: Sequence[str] | None, table: str | None) -> list[str]:
    if unknown := [task for task in tasks or () if task not in TASKS]:
        raise ConfigError(f"there is no task {unknown[0]!r}; the tasks are {', '.join(TASKS)}. Nothing was changed.")
    return [task for task in TASKS if not tasks or task in tasks]


def _results(engine: Engine, tasks: list[str], table: str | None, report: Report, dry_run: bool) -> Iterator[Result]:
    from dwh_assets.engine.maintenance import maintain as maintain_tables

    lineage = engine.lineage.active()
    yield from maintain_tables(engine, lineage, tasks, table, report, dry_run)
    if "dagster" in tasks and table is None:
        from dwh_assets.orchestration.retention import retain  # late: Dagster takes seconds to load

        yield retain(engine, lineage, report, dry_run)


@contextmanager
def _bars() -> Iterator[Report]:
    """One bar for what is being done, on a terminal."""
    shape = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = stderr()
    with Progress(*shape, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("looking", total=None)
        yield lambda what, done, total: progress.update(bar, description=what, completed=done, total=total)


def _show(done: Sequence[Result], as_json: bool, dry_run: bool) -> None:
    out = printer(as_json)
    if as_json:
        out.json([asdict(result) | {"dry_run": dry_run} for result in done])
        return
    shown = [asdict(result) for result in done if result.text or any(result.figures.values())]
    out.rows(shown, columns.MAINTENANCE, "would be done" if dry_run else "", empty="Nothing is old or small enough.")
