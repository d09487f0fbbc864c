"""dwh backfill, pause, resume: load years of rows behind the live topics, and let a topic rest."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dwh_assets.cli import formats
from dwh_assets.cli.acting import parse_position, require_reason
from dwh_assets.cli.backfill_bar import Bar
from dwh_assets.cli.confirm import confirm
from dwh_assets.cli.opening import control_store, settings_of, warehouse, who
from dwh_assets.cli.options import Json, Reason, Topic, Yes
from dwh_assets.cli.output import Printer, printer, working
from dwh_assets.cli.progress import Progress
from dwh_assets.cli.stopping import Stopping, stopping
from dwh_assets.control.acts import ActStore
from dwh_assets.control.reports import Reports
from dwh_assets.control.statements import sql
from dwh_assets.engine.presence import pid_of_up
from dwh_assets.model.errors import ActRefused
from dwh_assets.model.position import Position

if TYPE_CHECKING:
    from dwh_assets.engine.backfill import Forecast
    from dwh_assets.engine.engine import Engine

POLL_SECONDS = 1.0
From = Annotated[str | None, typer.Option("--from", help="Begin here: earliest, now, or TIMESTAMP[,ID]; else at its cursor.")]


def pause(context: typer.Context, topic: Topic, reason: Reason = "", as_json: Json = False) -> None:
    """Let a topic rest: the block that is being loaded is finished, no other is begun until `dwh resume`."""
    require_reason("pause", reason)
    with control_store(settings_of(context)) as database:
        topic = Reports(database).topic_named(topic)
        holder = ActStore(database, who()).pause(topic, reason)
    out = printer(as_json)
    if as_json:
        out.json({"act": "pause", "topic": topic, "worker": holder})
    finishing = f"; worker {holder} finishes its block" if holder else ""
    out.say(f"{topic} is paused{finishing}. What depends on it waits; `dwh resume {topic} --reason ...` lets it go on.")


def resume(context: typer.Context, topic: Topic, reason: Reason = "", as_json: Json = False) -> None:
    """Let a paused topic go on where it was."""
    require_reason("resume", reason)
    with control_store(settings_of(context)) as database:
        topic = Reports(database).topic_named(topic)
        ActStore(database, who()).resume(topic, reason)
        row = Reports(database).status([topic])[0]
    out = printer(as_json)
    if as_json:
        out.json({"act": "resume", "topic": topic, "verdict": row["verdict"]})
    out.say(f"{topic} goes on: {row['verdict']}, {row['why']}.")


def backfill(
    context: typer.Context,
    topic: Topic,
    from_: From = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Only say how many rows, blocks and how long.")] = False,
    reason: Annotated[str, typer.Option("--reason", "-r", help="Why; kept in the event log.")] = "asked for by hand",
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Load all that waits for a topic, behind the live ones: estimated first, with a bar; asked for again, it goes on."""
    settings, out = settings_of(context), printer(as_json)
    with stopping() as signals, warehouse(settings) as engine:
        name = Reports(engine.database).topic_named(topic)
        if from_ is not None and not estimate:
            _begin_at(engine, name, from_, reason, yes)
        expected = _forecast(engine, name)
        if estimate or not expected.rows:
            _tell(out, expected, as_json)
            return
        if not as_json:
            _tell(out, expected, False)
        _refuse_paused(engine, name)
        confirm(f"Load about {expected.rows:,} rows behind the live topics?", yes)
        ActStore(engine.database, who()).begin_backfill(name, expected.rows, reason)
        done = _follow(engine, name, signals) if pid_of_up(settings.home) else _load(engine, name, signals, as_json)
        state = _state(engine, name)
    if as_json:
        out.json(_as_dict(expected) | {"done": done, "over": state["backfill_at"] is None, "why": state["reason"]})
    out.say(_ending(name, state))
    raise typer.Exit(signals.exit_code or (2 if state["parked"] else 0))


def _begin_at(engine: Engine, topic: str, text: str, reason: str, yes: bool) -> None:
    reports, acts = Reports(engine.database), ActStore(engine.database, who())
    row, to = reports.status([topic])[0], parse_position(reports, topic, text)
    cursor = None if row["last_pos"] is None else Position(row["last_pos"], int(row["last_id"]))
    if cursor == to:
        return
    if cursor is None or to < cursor:
        acts.begin_at(topic, to, reason)
        return
    confirm(f"{topic}: leave out everything between {cursor} and {to}?", yes)
    acts.reset_forward(topic, to, reason)


def _forecast(engine: Engine, topic: str) -> Forecast:
    from dwh_assets.engine.backfill import forecast

    with working("looking at the statistics of its base table"):
        return forecast(engine, engine.lineage.active(), topic)


def _refuse_paused(engine: Engine, topic: str) -> None:
    state = _state(engine, topic)
    if state["paused"] is not None:
        raise ActRefused(f"{topic} is {state['reason']}. Nothing was changed.")


def _state(engine: Engine, topic: str) -> dict[str, Any]:
    row = engine.database.fetch_one(sql("report_backfill"), topic=topic)
    assert row is not None
    return row


def _load(engine: Engine, topic: str, signals: Stopping, quiet: bool) -> dict[str, object]:
    """In this process, block after block; a bar on a terminal, else a line a block."""
    from dwh_assets.engine.loop import Loop

    with working("starting Spark"):
        engine.spark.start()
    signals.gentle = True
    with Bar(_state(engine, topic)) as bar:
        progress = Progress(quiet=quiet or bar.shown)

        def report(outcome: Any) -> None:
            progress.report(outcome)
            bar.show(_state(engine, topic))

        Loop(engine, topics=frozenset([topic]), report=report, stop=signals.stop).run(until_dry=True)
    if not signals.stop.is_set() and not progress.parked and _state(engine, topic)["verdict"] in ("WAIT_DEP", "WAIT_DELAY"):
        engine.database.execute(sql("end_backfill"), topic=topic)
    return progress.as_dict()


def _follow(engine: Engine, topic: str, signals: Stopping) -> dict[str, object]:
    """`dwh up` loads it; here it is only watched."""
    signals.gentle, signals.text = True, "no longer watched; `dwh up` goes on with it"
    state = last = _state(engine, topic)
    with Bar(state) as bar:
        while state["backfill_at"] is not None and state["paused"] is None and not state["parked"]:
            last = state
            if signals.stop.wait(POLL_SECONDS):
                break
            state = _state(engine, topic)
            bar.show(state)
    return {"committed": last["done_blocks"], "rows": last["done_rows"]}


def _as_dict(expected: Forecast) -> dict[str, object]:
    cursor = {"pos": expected.cursor.pos, "id": expected.cursor.id}
    return asdict(expected) | {"cursor": cursor, "seconds": expected.takes}


def _tell(out: Printer, expected: Forecast, as_json: bool) -> None:
    if as_json:
        out.json(_as_dict(expected))
        return
    if not expected.rows:
        out.say(f"{expected.topic}: nothing waits between its cursor and {formats.instant(expected.upto) or 'its horizon'}.")
        return
    begins = formats.position(expected.cursor.pos, expected.cursor.id)
    out.say(f"{expected.topic}: about [bold]{expected.rows:,}[/] rows from {begins} up to {formats.instant(expected.upto)},")
    if expected.takes is None:
        out.say(f"in about {expected.blocks:,} blocks; how long is not known: {expected.rate_of}. The first block will tell.")
        return
    rate = f"{expected.rows_per_second:,.0f} rows/s, as {expected.rate_of}"
    ends = time.strftime("%Y-%m-%d %H:%M", time.gmtime(time.time() + expected.takes.total_seconds()))
    out.say(f"in about {expected.blocks:,} blocks and {formats.span(expected.takes.total_seconds())} ({rate}): until {ends} UTC.")


def _ending(topic: str, state: dict[str, Any]) -> str:
    if state["backfill_at"] is None:
        return f"{topic}: [green]backfilled[/]; it is a live topic now."
    again = f"`dwh backfill {topic}` goes on where it stopped"
    return f"{topic}: not done yet, {state['done_rows']:,} of about {state['backfill_rows']:,} rows: {state['reason']}. {again}."
