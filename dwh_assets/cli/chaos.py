"""The command `dwh chaos`: seeded faults on a scratch warehouse, round after round, and the proof that no row suffered."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import SystemRandom
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dwh_assets.cli.logs import log_to_file
from dwh_assets.cli.opening import settings_of, warehouse
from dwh_assets.cli.options import Json
from dwh_assets.cli.output import Printer, printer, warn, working
from dwh_assets.cli.stopping import stopping

if TYPE_CHECKING:
    from dwh_assets.chaos.round import Result
    from dwh_assets.chaos.run import Ran
    from dwh_assets.chaos.scene import Scene
    from dwh_assets.chaos.schedule import Schedule
    from dwh_assets.config.settings import Settings

ROUND_SECONDS = 15.0
STARTING = "starting a scratch warehouse, and loading it once undisturbed (about a minute)"


def chaos(
    context: typer.Context,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="How many rounds.")] = 20,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Of rows and faults; any without it.", show_default=False)
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0, help="Begin no round after so many minutes.", show_default=False)
    ] = None,
    only: Annotated[int | None, typer.Option("--round", min=1, help="Only this round of the seed.", show_default=False)] = None,
    faults: Annotated[
        str | None, typer.Option("--faults", help="These faults in each round, instead of drawn ones.", show_default=False)
    ] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, max=16, help="Processes that load.")] = 3,
    lineage: Annotated[
        bool, typer.Option("--lineage", help="Disturb a copy of this project's Lineage, with a sample of its source rows.")
    ] = False,
    rows: Annotated[int, typer.Option("--rows", min=10, help="With --lineage: the newest rows of each source.")] = 200,
    tries: Annotated[int, typer.Option("--tries", min=0, help="Rounds that may be spent on shrinking a failure.")] = 20,
    as_json: Json = False,
) -> None:
    """Kill, stop and cut off what loads a scratch warehouse, then verify it. Exits with 1 if a row was lost or doubled."""
    from dwh_assets.chaos.run import Ran, run, scratch
    from dwh_assets.chaos.schedule import parse

    chosen = SystemRandom().randrange(1_000_000) if seed is None else seed
    fixed = None if faults is None else parse(faults)
    numbers = range(1, rounds + 1) if only is None else [only]
    out, ran, settings = printer(as_json), Ran(), settings_of(context)
    out.say(f"seed {chosen}, rounds: {len(numbers)}, workers: {workers}")
    with (
        stopping(),  # SIGTERM ends it as Ctrl-C does: no server is left behind
        scratch(lambda: ran.failed is not None) as home,
        _scene(settings, home, chosen, workers, rows if lineage else None, fixed or ()) as scene,
    ):
        until = float("inf") if minutes is None else time.monotonic() + 60 * minutes
        run(scene, chosen, numbers, until, tries, fixed, lambda result: _tell(out, result, len(numbers), home), ran)
    command = f"dwh chaos --seed {chosen} --workers {workers}" + (f" --lineage --rows {rows}" if lineage else "")
    _conclude(out, ran, command, faults)
    if as_json:
        kept = str(home) if ran.failed else None
        out.json({"seed": chosen, "failed": bool(kept), "kept": kept, "rounds": [_as_dict(result) for result in ran.rounds]})
    raise typer.Exit(1 if ran.failed else 0)


@contextmanager
def _scene(settings: Settings, home: Path, seed: int, workers: int, rows: int | None, faults: Schedule) -> Iterator[Scene]:
    """Of the built-in warehouse, or of the project's own with so many rows of each source."""
    from dwh_assets.chaos.ground import Ground
    from dwh_assets.chaos.run import built_in, own, prepared
    from dwh_assets.chaos.schedule import refuse_misses

    if rows is None:
        scene, left_out = built_in(Ground(home), seed, workers), list[str]()
    else:
        with warehouse(settings) as engine, working("taking a sample of the sources", long=True):
            scene, left_out = own(Ground(home, streams=False), engine, seed, workers, rows)
    refuse_misses(faults, scene.cast)
    log_to_file(settings.model_copy(update={"home": home}))
    for name in left_out:
        warn(f"{name} is left out: it reads a stream of events, stands on one that does, or is not active")
    with prepared(scene, lambda: working(STARTING, long=True)):
        for table in scene.unsteady:
            warn(f"{table} is verified but not compared: without any fault it comes out differently when rows come later")
        yield scene


def _tell(out: Printer, result: Result, rounds: int, home: Path) -> None:
    from dwh_assets.chaos.schedule import written

    name = f"round {result.number}/{rounds}" if result.number else "shrinking"
    verdict = "[red]FAILED[/]" if result.findings else "[green]ok[/]"
    counted = f"{result.blocks} blocks, {result.attempts} attempts, {result.deaths} killed, {result.stops} stopped"
    out.say(f"{name:<14} {verdict} {result.seconds:5.1f} s  {counted}  [dim]{written(result.schedule)}[/]")
    if result.number and result.findings:  # at once: whoever breaks off the shrinking has seen it
        for finding in result.findings:
            out.say(f"  {finding}")
        out.say(f"  Its database and tables:  dwh --home {home} --project {home / 'project'} status")
        out.say(f"  Its faults, servers and workers:  {home / 'logs'}, {home / 'logs' / f'round-{result.number}'}")


def _conclude(out: Printer, ran: Ran, command: str, faults: str | None) -> None:
    from dwh_assets.chaos.schedule import written

    blocks, attempts = sum(result.blocks for result in ran.rounds), sum(result.attempts for result in ran.rounds)
    sums = f"{len(ran.rounds)} rounds, {blocks} blocks, {attempts} attempts"
    out.say("Faults: " + ", ".join(f"{count} {kind}" for kind, count in ran.faults.most_common()))
    out.say(
        f"Seconds of a round: {_span(ran.seconds(spark_dies=False))}; where Spark died: {_span(ran.seconds(spark_dies=True))}."
    )
    if max(ran.seconds(spark_dies=False), default=0) > ROUND_SECONDS:
        warn(f"a round should take at most {ROUND_SECONDS:.0f} s: this machine is slow or busy, so fewer faults meet")
    if (failed := ran.failed) is None:
        out.say(f"[green]No row was lost or doubled[/] in {sums}.")
        return
    out.say(f"[red]Round {failed.number} failed[/], after {sums}.")
    if faults is None:
        out.say(f"The whole round again:  {command} --round {failed.number}")
    out.say(f"The shortest that failed:  {command} --rounds 5 --faults '{written(ran.shortest or ())}'")


def _span(seconds: list[float]) -> str:
    """In words, of seconds in their order."""
    return f"median {median(seconds):.1f}, longest {seconds[-1]:.1f}" if seconds else "none"


def _as_dict(result: Result) -> dict[str, Any]:
    return vars(result) | {"schedule": [str(fault) for fault in result.schedule]}
