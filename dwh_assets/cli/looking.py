"""Commands that look: status, why, blocks, block, log, errors, alerts. They change nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from dwh_assets.cli import columns
from dwh_assets.cli.chain import chain_of
from dwh_assets.cli.chain_tree import print_chain
from dwh_assets.cli.detail import print_block
from dwh_assets.cli.opening import control_store, settings_of, warehouse
from dwh_assets.cli.options import Csv, Json, Limit, Topic
from dwh_assets.cli.output import printer
from dwh_assets.cli.watching import watch
from dwh_assets.control.alerts import AlertStore
from dwh_assets.control.reports import Reports
from dwh_assets.model.errors import ConfigError

Name = Annotated[str, typer.Argument(help="a topic, or a table: all its topics", show_default=False)]
Topics = Annotated[list[str] | None, typer.Option("--topic", "-t", help="Only this topic or table; may be repeated.")]


def status(
    context: typer.Context,
    topic: Topics = None,
    live: Annotated[
        bool, typer.Option("--watch", "-w", help="A live screen: what runs, fails and lags first; Ctrl-C ends it.")
    ] = False,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Every topic: verdict, cursor, lag, pending rows, and why it is or is not due."""
    out = printer(as_json, as_csv)
    if live and not out.for_people:
        raise ConfigError("--watch is for people: leave it out to get JSON or CSV.")
    with control_store(settings_of(context)) as database:
        reports = Reports(database)
        topics = named(reports, topic)
        if live:
            raise typer.Exit(watch(reports, topics))
        rows = reports.status(topics)
    out.rows(rows, columns.STATUS, empty="No Lineage is in force yet; `dwh lineage apply` puts one in force, `dwh up` does too.")
    for row in rows:
        if row["stale_blocks"] or row["late_rows"] or row["changed_blocks"]:
            out.say(columns.left_behind(row))


def why(context: typer.Context, name: Name, as_json: Json = False) -> None:
    """The chain of what a topic waits for, down to its root, and when it should be done."""
    out = printer(as_json)
    with control_store(settings_of(context)) as database:
        chains = chain_of(Reports(database), name)
    if as_json:
        out.json([chain.as_dict() for chain in chains])
        return
    for chain in chains:
        print_chain(chain)


def blocks(context: typer.Context, topic: Topic, limit: Limit = 20, as_json: Json = False, as_csv: Csv = False) -> None:
    """The blocks of a topic: plan, states, attempts, rows, seconds, late rows."""
    out = printer(as_json, as_csv)
    with control_store(settings_of(context)) as database:
        reports = Reports(database)
        topic = reports.topic_named(topic)
        rows = reports.blocks(topic, limit)
    out.rows(rows, columns.BLOCKS, title=topic, empty=f"{topic} has no blocks yet; `dwh why {topic}` says why.")


def block(
    context: typer.Context,
    block_id: Annotated[
        str, typer.Argument(metavar="ID", help="number of a block, as `dwh blocks` shows it", show_default=False)
    ],
    sample: Annotated[int, typer.Option("--sample", min=0, help="Show this many of its rows; staged ones if it is parked.")] = 0,
    as_json: Json = False,
) -> None:
    """One block: bounds, statistics, checks, every attempt; --sample N shows rows of it."""
    out, number = printer(as_json), block_number(block_id)
    settings = settings_of(context)
    with control_store(settings) as database:
        reports = Reports(database)
        row, executions = reports.block(number), reports.executions(number)
    rows = None
    if sample:
        from dwh_assets.cli.sample import sample_of  # late: it needs Spark's libraries

        with warehouse(settings) as engine:
            rows = sample_of(engine, row, executions, sample)
    if as_json:
        out.json(row | {"executions": executions} | ({} if rows is None else {"sample": rows}))
    else:
        print_block(row, executions, rows)


def block_number(text: str) -> int:
    """`812` and `#812` are the same block."""
    digits = text.removeprefix("#")
    if not digits.isdecimal():
        raise typer.BadParameter(f"{text!r} is not the number of a block, such as 812 or #812", param_hint="ID")
    return int(digits)


def log(
    context: typer.Context,
    topic: Topics = None,
    limit: Limit = 20,
    events: Annotated[
        bool, typer.Option("--events", help="Show the event log instead: acts by hand, failures, changes.")
    ] = False,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """What was loaded, block by block; or, with --events, what else happened."""
    out = printer(as_json, as_csv)
    with control_store(settings_of(context)) as database:
        reports = Reports(database)
        topics = named(reports, topic)
        rows = reports.events(topics, limit) if events else reports.load_log(topics, limit)
    shown = columns.EVENTS if events else columns.LOG
    out.rows(rows, shown, empty="No event yet." if events else "Nothing was loaded yet.")


def errors(context: typer.Context, topic: Topics = None, as_json: Json = False, as_csv: Csv = False) -> None:
    """Errors of the last day, grouped by topic and text, newest first."""
    out = printer(as_json, as_csv)
    with control_store(settings_of(context)) as database:
        reports = Reports(database)
        rows = reports.errors(named(reports, topic))
    out.rows(rows, columns.ERRORS, empty="No errors in the last day.")


def alerts(
    context: typer.Context,
    topic: Topics = None,
    everything: Annotated[bool, typer.Option("--all", help="Also those that are over for more than a day.")] = False,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Alerts that are open or of the last day: failed checks, failed runs, parked blocks, topics behind their promise."""
    out = printer(as_json, as_csv)
    with control_store(settings_of(context)) as database:
        rows = AlertStore(database).listed(named(Reports(database), topic), everything)
    out.rows(
        rows,
        columns.ALERTS,
        empty="No alerts at all." if everything else "No alert is open, and none was raised in the last day.",
    )


def named(reports: Reports, names: list[str] | None) -> list[str] | None:
    """Topics by the names that a person gave; None means all."""
    return [topic for name in names for topic in reports.topics_named(name)] if names else None
