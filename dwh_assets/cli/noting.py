"""dwh event: write an event of one's own into the event log. It changes nothing else."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from dwh_assets.cli.opening import control_store, settings_of, who
from dwh_assets.cli.options import Json
from dwh_assets.cli.output import printer
from dwh_assets.control.events import note_event
from dwh_assets.control.reports import Reports
from dwh_assets.model.errors import ActRefused

_CODE = re.compile(r"[A-Z][A-Z0-9_]{0,39}")


def event(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="what happened, in your words", show_default=False)],
    code: Annotated[str, typer.Option("--code", "-c", help="A short word to find it by: letters, digits and _.")] = "NOTE",
    topic: Annotated[str | None, typer.Option("--topic", "-t", help="The topic it is about.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Write an event of your own into the event log, with who and when; `dwh log --events` shows it."""
    code = code.upper()
    if not text.strip() or not _CODE.fullmatch(code):
        raise ActRefused(
            "an event needs a text, and a code of at most 40 letters, digits and _, a letter first. Nothing was written."
        )
    out = printer(as_json)
    with control_store(settings_of(context)) as database:
        name = Reports(database).topic_named(topic) if topic else None
        note_event(database, code, text, who(), name)
    if as_json:
        out.json({"code": code, "topic": name, "text": text, "who": who()})
    out.say("Written to the event log.")
