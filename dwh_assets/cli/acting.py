"""Acts by hand: reset, unlock, retry, skip, release. Each needs a reason and is logged before it takes effect."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from dwh_assets.cli.confirm import confirm
from dwh_assets.cli.opening import control_store, settings_of, warehouse, who
from dwh_assets.cli.options import Json, Reason, Topic, Yes
from dwh_assets.cli.output import printer, working
from dwh_assets.control.acts import ActStore
from dwh_assets.control.database import Database
from dwh_assets.control.lineage import LineageStore
from dwh_assets.control.lineage_apply import start_position
from dwh_assets.control.reports import Reports
from dwh_assets.model.errors import ActRefused
from dwh_assets.model.position import Position

if TYPE_CHECKING:
    from dwh_assets.model.block import Block

To = Annotated[str, typer.Option("--to", help="earliest, now, or TIMESTAMP[,ID] such as 2026-01-31T00:00:00Z,812")]


def require_reason(act: str, reason: str) -> None:
    """Said before anything is opened or started."""
    if not reason.strip():
        raise ActRefused(f"{act}: say why with --reason TEXT; it is kept in the event log. Nothing was changed.")


def unlock(context: typer.Context, topic: Topic, reason: Reason = "", as_json: Json = False) -> None:
    """Take the lease of a topic away from the worker that holds it; its block is repeated."""
    require_reason("unlock", reason)
    with control_store(settings_of(context)) as database:
        topic = Reports(database).topic_named(topic)
        holder = ActStore(database, who()).unlock(topic, reason)
    out = printer(as_json)
    if as_json:
        out.json({"act": "unlock", "topic": topic, "worker": holder})
    out.say(f"{topic}: " + (f"taken from worker {holder}" if holder else "nobody held it; its token was raised") + ".")


def retry(context: typer.Context, topic: Topic, reason: Reason = "", as_json: Json = False) -> None:
    """Try the begun or parked block of a topic again: same range, at once, attempts counted from zero."""
    require_reason("retry", reason)
    with control_store(settings_of(context)) as database:
        topic = Reports(database).topic_named(topic)
        block = ActStore(database, who()).retry(topic, reason)
    _told("retry", topic, block, "is due again with the same bounds", as_json)


def skip(context: typer.Context, topic: Topic, reason: Reason = "", as_json: Json = False) -> None:
    """Leave the begun or parked block of a topic out and go on behind it."""
    require_reason("skip", reason)
    with control_store(settings_of(context)) as database:
        topic = Reports(database).topic_named(topic)
        block = ActStore(database, who()).skip(topic, reason)
    _told("skip", topic, block, "is left out, recorded as skipped; the topic goes on behind it", as_json)


def release(
    context: typer.Context,
    topic: Topic,
    check: Annotated[str, typer.Option("--check", "-c", help="The check to waive for this block.", show_default=False)],
    reason: Reason = "",
    as_json: Json = False,
) -> None:
    """Stage the parked block of a topic again, in spite of the named check."""
    require_reason("release", reason)
    with control_store(settings_of(context)) as database:
        topic = Reports(database).topic_named(topic)
        _require_check(database, topic, check)
        block = ActStore(database, who()).release(topic, check, reason)
    _told("release", topic, block, f"is due again without the check {check}", as_json)


def reset(context: typer.Context, topic: Topic, to: To, reason: Reason = "", yes: Yes = False, as_json: Json = False) -> None:
    """Move the cursor of a topic: forward is a recorded skip, backward takes the later blocks and their rows back."""
    require_reason("reset", reason)
    settings = settings_of(context)
    with control_store(settings) as database:
        reports = Reports(database)
        topic = reports.topic_named(topic)
        cursor, position = _cursor(reports, topic), parse_position(reports, topic, to)
        if cursor is not None and position < cursor:
            beyond = reports.beyond(topic, position)
            confirm(
                f"{topic}: take back {beyond['blocks']} blocks made from {beyond['rows']:,} base rows, behind {position}?", yes
            )
        else:
            confirm(f"{topic}: leave out everything between {cursor or 'its start'} and {position}?", yes)
            ActStore(database, who()).reset_forward(topic, position, reason)
            _told_reset(topic, cursor, position, as_json)
            return
    from dwh_assets.cli.carrying import carry_out  # late: it needs Spark's libraries
    from dwh_assets.engine.restate import reset_backward

    with warehouse(settings) as engine, working(f"taking back {beyond['blocks']} blocks of {topic}"):
        acts = ActStore(engine.database, who())
        carry_out(engine, topic, lambda: reset_backward(engine, engine.lineage.active(), acts, topic, position, reason))
    _told_reset(topic, cursor, position, as_json)


def parse_position(reports: Reports, topic: str, text: str) -> Position:
    """earliest, now, or TIMESTAMP[,ID]; without an id, the end of the block that ends at that instant, if one does."""
    instant, comma, id_ = text.strip("() ").partition(",")
    if comma and not id_.strip().isdecimal():
        raise ActRefused(f"{text!r}: the id behind the comma must be a whole number, such as 2026-01-31T00:00:00Z,812.")
    start = start_position(instant.strip(), datetime.now(UTC))
    if comma:
        return Position(start.pos, int(id_))
    bounds = reports.bounds_at(topic, start.pos)
    return bounds[0] if len(bounds) == 1 else start


def _cursor(reports: Reports, topic: str) -> Position | None:
    row = reports.status([topic])[0]
    return None if row["last_pos"] is None else Position(row["last_pos"], int(row["last_id"]))


def _require_check(database: Database, topic: str, check: str) -> None:
    module = next((m for m in LineageStore(database).active().modules if topic in m.topics), None)
    known = [c.name for c in module.checks] if module else []
    if check not in known:
        names = ", ".join(known) or "none"
        raise ActRefused(f"{topic} has no check {check!r}; its checks are: {names}. Nothing was changed.")


def _told(act: str, topic: str, block: Block, text: str, as_json: bool) -> None:
    out = printer(as_json)
    if as_json:
        out.json({"act": act, "topic": topic, "block": block.id, "seq": block.seq})
    out.say(f"{topic}: block #{block.id} {text}.")


def _told_reset(topic: str, cursor: Position | None, to: Position, as_json: bool) -> None:
    out = printer(as_json)
    if as_json:
        came_from = None if cursor is None else {"pos": cursor.pos, "id": cursor.id}
        out.json({"act": "reset", "topic": topic, "from": came_from, "to": {"pos": to.pos, "id": to.id}})
    out.say(f"{topic}: the cursor is at {to}.")
