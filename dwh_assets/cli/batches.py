"""dwh batch: run a batch, see what there is; dwh start: run one module; dwh next-run: what the next run shall do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dwh_assets.cli import formats
from dwh_assets.cli.opening import control_store, settings_of, warehouse, who
from dwh_assets.cli.options import Csv, Json, Limit, Reason
from dwh_assets.cli.output import Column, Printer, column, printer, working
from dwh_assets.cli.progress import Progress
from dwh_assets.control.acts import ActStore
from dwh_assets.control.batch_reports import BatchReports
from dwh_assets.control.batches import BatchStore, Begin
from dwh_assets.control.reports import Reports

if TYPE_CHECKING:
    from dwh_assets.engine.batch import BatchRan
    from dwh_assets.engine.start import Ran

EXIT_CODES = {"Succeeded": 0, "Cancelled": 0, "Failed": 1, "Aborted": 4}
app = typer.Typer(help="Batches: groups of modules that are run as a job.", no_args_is_help=True)
BatchName = Annotated[str, typer.Argument(help="the batch", show_default=False)]


def _active(row: Mapping[str, Any]) -> str:
    return "" if row["active"] else "[yellow]off[/]"


BATCHES = [
    column("batch", "batch"),
    column("kind", "kind"),
    Column("", _active),
    column("frequency", "frequency"),
    column("next run", "next_run_code", wide=True),
    column("newest run", "execution_code", formats.coloured),
    column("began", "started_at", formats.short_instant),
    column("what came of it", "reason", formats.first_line, folds=True),
]
PARTS = [
    column("no.", "sequence", right=True),
    column("part", "name"),
    column("kind", "kind"),
    Column("", _active),
    column("newest run", "execution_code", formats.coloured),
    column("processing", "processing_code"),
    column("rows", "rows", formats.count, right=True),
    column("reason", "reason", formats.first_line, folds=True),
]
INSTANCES = [
    column("instance", "instance", right=True),
    column("ended as", "execution_code", formats.coloured),
    column("processing", "processing_code"),
    column("began", "started_at", formats.short_instant),
    column("took", "seconds", formats.seconds, right=True),
    column("started by", "started_by"),
    column("what came of it", "reason", formats.first_line, folds=True),
]


class NextRun(StrEnum):
    proceed = "proceed"
    cancel = "cancel"
    rollback = "rollback"


@app.command("run")
def run_batch(
    context: typer.Context,
    batch: BatchName,
    again: Annotated[bool, typer.Option("--again", help="Also if it has succeeded in this period.")] = False,
    as_json: Json = False,
) -> None:
    """Run a batch now: its batches, its modules, and the batches that come after it. Exit code 1 if a part of it failed."""
    progress, out = Progress(quiet=as_json), printer(as_json)
    with warehouse(settings_of(context)) as engine:
        from dwh_assets.engine.batch import BatchRunner

        runner = BatchRunner(engine, engine.lineage.active(), progress.report)
        ran = runner.run(batch, Begin(started_by=f"hand ({who()})", again=again))
    if as_json:
        out.json(asdict(ran))
    _told(out, ran)
    raise typer.Exit(EXIT_CODES[ran.code])


@app.command("list")
def list_batches(context: typer.Context, as_json: Json = False, as_csv: Csv = False) -> None:
    """Every batch with its newest run."""
    with control_store(settings_of(context)) as database:
        rows = BatchReports(database).batches()
    printer(as_json, as_csv).rows(rows, BATCHES, empty="There are no batches; they are files in lineage/batches/.")


@app.command("show")
def show_batch(context: typer.Context, batch: BatchName, limit: Limit = 10, as_json: Json = False) -> None:
    """What a batch consists of, how each part did in its newest run, and its runs."""
    out = printer(as_json)
    with control_store(settings_of(context)) as database:
        reports = BatchReports(database)
        parts, runs = reports.parts(batch), reports.instances(batch, limit)
    if as_json:
        out.json({"batch": batch, "parts": parts, "instances": runs})
        return
    out.rows(parts, PARTS, title=f"{batch}: its parts")
    out.rows(runs, INSTANCES, title="its runs, the newest first", empty=f"{batch} never ran.")


def start(
    context: typer.Context,
    module: Annotated[str, typer.Argument(help="a module, one of its topics, or a command", show_default=False)],
    as_json: Json = False,
) -> None:
    """Run one module now, as its batch would: evaluated, written down, whatever its repeat and window say."""
    progress, out = Progress(quiet=as_json), printer(as_json)
    with warehouse(settings_of(context)) as engine:
        from dwh_assets.engine.start import Starter

        with working(f"running {module}"):
            ran = Starter(engine, engine.lineage.active(), report=progress.report).run(module)
        runs = BatchReports(engine.database)
        instances = [row for topic in Reports(engine.database).topics_named(module) for row in runs.runs(topic, 1)]
    if as_json:
        out.json(asdict(ran) | {"instances": instances})
    out.say(_line(ran))
    raise typer.Exit(EXIT_CODES[ran.code])


def next_run(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="a topic, a module, or a batch", show_default=False)],
    code: Annotated[NextRun, typer.Argument(help="what the next run shall do", show_default=False)],
    reason: Reason,
    as_json: Json = False,
) -> None:
    """What the next run shall do: proceed, be left out once (cancel), or first take back what the last one loaded (rollback)."""
    asked = code.value.capitalize()
    with control_store(settings_of(context)) as database:
        reports = Reports(database)
        if name in {row["batch"] for row in BatchReports(database).batches()}:
            BatchStore(database, who(), 0).ask(name, asked, reason, who())
            names = [name]
        else:
            names = reports.topics_named(name)
            for topic in names:
                ActStore(database, who()).ask_next_run(topic, asked, reason)
    out = printer(as_json)
    if as_json:
        out.json({"next_run": code.value, "names": names})
    out.say(f"next run of {', '.join(names)}: {code.value}.")


def _told(out: Printer, ran: BatchRan, indent: str = "") -> None:
    instance = f"instance {ran.instance}"
    out.say(f"{indent}batch [bold]{ran.batch}[/] {formats.coloured(ran.code)} ({instance}, {ran.processing_code}): {ran.text}")
    for part in ran.parts:
        out.say(f"{indent}  {_line(part)}")
    for follower in ran.followed:
        _told(out, follower, indent)


def _line(part: Ran) -> str:
    return f"{part.name}: {formats.coloured(part.code)}, {formats.first_line(part.text)}"
