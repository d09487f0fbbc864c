"""Commands that load: up, run, down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import psutil
import typer

from dwh_assets.cli.looking import Topics, named
from dwh_assets.cli.metering import serving
from dwh_assets.cli.opening import settings_of, warehouse
from dwh_assets.cli.options import Json
from dwh_assets.cli.output import printer, warn, working
from dwh_assets.cli.progress import Progress
from dwh_assets.cli.stopping import Stopping, stopping
from dwh_assets.control.reports import Reports
from dwh_assets.engine.presence import alone, pid_of_up, present, stop_server
from dwh_assets.model.errors import ConfigError, Transient

if TYPE_CHECKING:
    from dwh_assets.engine.engine import Engine

DOWN_SECONDS = 120.0
STOPPING = "stopping after the blocks that are being loaded; one that takes longer is repeated at the next start"


def up(
    context: typer.Context,
    feed: Annotated[
        bool | None, typer.Option("--feed/--no-feed", help=r"Feed the demo's sources. \[default: DWH_DEMO_FEED]")
    ] = None,
    dagster: Annotated[
        bool, typer.Option("--dagster/--no-dagster", help="Load by Dagster, with its UI, or by a plain loop.")
    ] = True,
    read_only: Annotated[bool, typer.Option("--read-only", help="Let people look at the UI and change nothing there.")] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, max=64, help="So many warm processes load blocks; DWH_SLOTS.")
    ] = None,
) -> None:
    """This project's warehouse on this machine: Postgres, Spark, Dagster's UI, and every topic loaded as it is due."""
    settings = settings_of(context)
    settings = settings if workers is None else settings.model_copy(update={"slots": workers})
    with stopping() as signals, alone(settings.home):
        from dwh_assets.cli.starting import start  # late: a second `dwh up` is refused before Spark's libraries are loaded

        try:
            with (
                warehouse(settings, create=True) as engine,
                start(engine, feed, signals.stop),
                serving(settings, engine.database) as metrics,
            ):
                if metrics:
                    printer(False).say(f"  metrics        {metrics}")
                if dagster:
                    loaded = _dagster(engine, signals, read_only)
                elif workers:
                    loaded = _workers(engine, signals)
                else:
                    loaded = _loop(engine, signals, None, False, Progress())
                warn(f"stopping: {loaded.summary()}")
        finally:
            signals.gentle = False
    raise typer.Exit(signals.exit_code)


def _dagster(engine: Engine, signals: Stopping, read_only: bool) -> Progress:
    from dwh_assets.cli.supervising import Supervisor
    from dwh_assets.orchestration.processes import dagster_processes

    tree, progress = dagster_processes(engine.settings, read_only), Progress()
    with Supervisor(engine.settings.home, tree.processes, engine.settings.project).running(signals.stop):
        printer(False).say(f"  Dagster        [bold]{tree.ui}[/]{' (read-only)' if read_only else ''}\n")
        signals.gentle, signals.text = True, STOPPING
        progress.follow(Reports(engine.database), signals.stop)
    return progress


def _workers(engine: Engine, signals: Stopping) -> Progress:
    """The loop in this process, the blocks in others."""
    from dwh_assets.cli.supervising import Supervisor
    from dwh_assets.orchestration.processes import worker_processes
    from dwh_assets.workers.loop import asking

    settings, progress = engine.settings, Progress()
    variables = {"DWH_HOME": str(settings.home), "DWH_PROJECT": str(settings.project)}
    processes = worker_processes(settings, variables, "--no-dagster")
    with Supervisor(settings.home, processes, settings.project, "workers").running(signals.stop), asking(engine, signals.stop):
        signals.gentle = True
        progress.follow(Reports(engine.database), signals.stop)
    return progress


def run(
    context: typer.Context,
    until_dry: Annotated[
        bool, typer.Option("--until-dry", help="End when nothing more can be loaded now. What is away is waited for a while.")
    ] = False,
    topic: Topics = None,
    as_json: Json = False,
) -> None:
    """Load what is due, without Dagster, until it is stopped or nothing is left."""
    settings = settings_of(context)
    with stopping() as signals, warehouse(settings, create=True) as engine:
        from dwh_assets.cli.starting import broker_for  # late, as in `up`

        reports = Reports(engine.database)
        if not reports.status():
            raise ConfigError(
                "no Lineage is in force, so there is nothing to load. `dwh lineage apply` puts this project's in force."
            )
        topics = named(reports, topic)
        with working("starting Spark"):
            engine.spark.start()
        broker_for(engine, engine.lineage.active())
        progress = _loop(engine, signals, topics, until_dry, Progress(quiet=as_json))
    if as_json:
        printer(True).json(progress.as_dict())
    else:
        warn(f"done: {progress.summary()}")
    raise typer.Exit(signals.exit_code or progress.exit_code)


def _loop(engine: Engine, signals: Stopping, topics: list[str] | None, until_dry: bool, progress: Progress) -> Progress:
    from dwh_assets.engine.loop import Loop

    chosen = None if topics is None else frozenset(topics)
    signals.gentle = True
    Loop(engine, topics=chosen, report=progress.report, stop=signals.stop).run(until_dry=until_dry)
    return progress


def down(context: typer.Context) -> None:
    """End the `dwh up` of this folder, and servers that a killed one left behind."""
    from dwh_assets.cli.supervising import end_remains

    settings = settings_of(context)
    pid = pid_of_up(settings.home)
    if pid is not None:
        with working(f"process {pid} finishes its blocks"):
            _end(pid)
    remains = end_remains(settings.home)  # before the servers: workers that live on would hold these
    if (settings.home / "owned").exists():
        with working("stopping the servers"), present(settings.home, lambda name: stop_server(settings, name)):
            pass
    left = f"ended {remains} processes that a killed one had left behind" if remains else "nothing is left behind"
    printer(False).say("down." if pid is not None else f"no dwh up was running; {left}.")


def _end(pid: int) -> None:
    try:
        process = psutil.Process(pid)
        process.terminate()
        process.wait(DOWN_SECONDS)
    except psutil.NoSuchProcess:
        return
    except psutil.TimeoutExpired:
        raise Transient(f"process {pid} still loads a block after {DOWN_SECONDS:.0f} s; it ends when that is done.") from None
