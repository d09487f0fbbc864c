"""dwh deadletter and dwh kafka: events that could not be loaded, and a broker of one's own."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dwh_assets.cli import columns
from dwh_assets.cli.acting import require_reason
from dwh_assets.cli.opening import control_store, settings_of, warehouse, who
from dwh_assets.cli.options import Csv, Json, Limit, Reason, Topic
from dwh_assets.cli.output import printer
from dwh_assets.control.acts import ActStore
from dwh_assets.control.ingest import IngestStore
from dwh_assets.control.reports import Reports

letters = typer.Typer(help="Events that could not be loaded: list, show, replay.", no_args_is_help=True)
kafka = typer.Typer(help="A broker on this machine, and the place in a stream.", no_args_is_help=True)


@letters.command("list")
def list_(
    context: typer.Context,
    topic: Annotated[str | None, typer.Argument(help="db.table of the stage table; all without it", show_default=False)] = None,
    replayed: Annotated[bool, typer.Option("--all", "-a", help="Also those that were tried again.")] = False,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Count dead letters by block and reason."""
    with control_store(settings_of(context)) as database:
        name = Reports(database).topic_named(topic) if topic else None
        found = IngestStore(database).dead_letters(name, replayed)
    out = printer(as_json, as_csv)
    if as_json:
        out.json(found)
    elif as_csv:
        out.csv(found)
    else:
        out.rows(found, columns.DEAD_LETTERS, empty="No dead letters wait.")


@letters.command()
def show(
    context: typer.Context,
    topic: Topic,
    block: Annotated[int | None, typer.Option("--block", "-b", help="Only those of this block.", show_default=False)] = None,
    limit: Limit = 20,
    as_json: Json = False,
) -> None:
    """Show dead letters with their place in the stream, their reason and their bytes."""
    from dwh_assets.engine.ingest import dead_letters

    with warehouse(settings_of(context)) as engine:
        name = Reports(engine.database).topic_named(topic)
        found = [_readable(row) for row in dead_letters(engine, engine.lineage.active(), name, block, limit)]
    out = printer(as_json)
    if as_json:
        out.json(found)
    else:
        out.rows(found, columns.DEAD_LETTER, empty="It has no dead letters.")


@letters.command()
def replay(
    context: typer.Context,
    topic: Topic,
    block: Annotated[
        list[int] | None, typer.Option("--block", "-b", help="Only those of this block.", show_default=False)
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", "-o", help="Only those with this reason, as the list shows it.", show_default=False),
    ] = None,
    reason: Reason = "",
    as_json: Json = False,
) -> None:
    """Try dead letters again, as the topic's next block: after a new schema version was applied, say."""
    from dwh_assets.engine.ingest import replay as plan_replay

    require_reason("replay", reason)
    with warehouse(settings_of(context)) as engine:
        name = Reports(engine.database).topic_named(topic)
        acts = ActStore(engine.database, who())
        found = plan_replay(engine, engine.lineage.active(), acts, name, reason, block, only)
    out = printer(as_json)
    if as_json:
        out.json(found)
    rows = sum(row["rows"] for row in found)
    out.say(f"{name}: {rows} dead letters are its next block; what fails again is listed under that block.")


def _readable(row: dict[str, Any]) -> dict[str, Any]:
    """Bytes as text where they are text, else in hexadecimal."""
    return {name: _text(value) if isinstance(value, bytes) else value for name, value in row.items()}


def _text(value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return value.hex()
    return text if text.isprintable() else value.hex()


@kafka.command()
def up(context: typer.Context) -> None:
    """Start a broker on this machine, for trying things out; sources that name no brokers use it."""
    from dwh_assets.sources.kafka.server import KafkaServer

    address = KafkaServer(settings_of(context)).start()
    printer(False).say(f"A broker listens on {address}. Its events stay in the home folder; `dwh kafka down` ends it.")


@kafka.command()
def down(context: typer.Context) -> None:
    """End the broker that `dwh kafka up` started; its events stay."""
    from dwh_assets.sources.kafka.server import KafkaServer

    server = KafkaServer(settings_of(context))
    ran = server.running()
    server.stop()
    printer(False).say("The broker has ended." if ran else "No broker of ours runs.")


@kafka.command()
def seek(
    context: typer.Context,
    topic: Topic,
    to: Annotated[
        str, typer.Option("--to", help="earliest: past what is lost; latest; reread: all that is held; or offsets: 0=120,1=80")
    ],
    reason: Reason = "",
    as_json: Json = False,
) -> None:
    """Go on elsewhere in a stream, when the broker has lost events or a topic was created anew. The gap is recorded."""
    from dwh_assets.engine.ingest import seek as go_on

    require_reason("seek", reason)
    with warehouse(settings_of(context)) as engine:
        name = Reports(engine.database).topic_named(topic)
        position, offsets = go_on(engine, engine.lineage.active(), ActStore(engine.database, who()), name, to, reason)
    out = printer(as_json)
    if as_json:
        out.json({"topic": name, "pos": position.pos, "offsets": offsets})
    shown = ", ".join(f"partition {partition} at {offset}" for partition, offset in sorted(offsets.items()))
    out.say(f"{name} goes on with {shown}; what lies before is recorded as a skipped block.")
