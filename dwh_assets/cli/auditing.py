"""dwh audit: count old base rows again, now, and say which blocks they have left behind."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from dwh_assets.cli import columns
from dwh_assets.cli.opening import settings_of, warehouse
from dwh_assets.cli.options import Json
from dwh_assets.cli.output import printer, working
from dwh_assets.control.reports import Reports
from dwh_assets.model.errors import ActRefused

if TYPE_CHECKING:
    from dwh_assets.engine.audit import Audit
    from dwh_assets.engine.engine import Engine


def audit(
    context: typer.Context,
    topic: Annotated[str | None, typer.Argument(help="only this topic", show_default=False)] = None,
    minutes: Annotated[float | None, typer.Option(help="End after so many minutes; without it, when all is seen.")] = None,
    as_json: Json = False,
) -> None:
    """Compare the base rows of every committed block with what was read; what was changed is queued, and the exit code 1."""
    out = printer(as_json)
    until = float("inf") if minutes is None else time.monotonic() + 60 * minutes
    with warehouse(settings_of(context)) as engine:
        done, queued = _audit(engine, topic, until)
    found = [asdict(finding) for finding in done.findings]
    if as_json:
        out.json({"blocks": done.blocks, "rows": done.rows, "findings": found, "queued": queued})
    else:
        out.rows(found, columns.AUDIT, empty="")
        out.say(
            f"{done.blocks} blocks looked at, {done.rows} rows read for it: {len(found) or 'no'} blocks have changed base rows."
        )
        if queued:
            out.say("Queued blocks are loaded again by `dwh up` or `dwh run`, one at a time for each topic.")
    raise typer.Exit(1 if found else 0)


def _audit(engine: Engine, topic: str | None, until: float) -> tuple[Audit, list[str]]:
    from dwh_assets.engine.audit import Audit, audited_topics, heal

    lineage = engine.lineage.active()
    named = None if topic is None else Reports(engine.database).topic_named(topic)
    topics = audited_topics(lineage, named)
    if named is not None and not topics:
        raise ActRefused(
            f"the base rows of {named} cannot be counted again: it reads its base whole, takes in events, stands on a table whose"
            " rows change by design, or says `audit: off`. Nothing was looked at."
        )
    with working("auditing") as now:
        done = Audit(engine, lineage, topics, None, lambda: time.monotonic() > until, lambda text: now(f"auditing {text}"))
        began = engine.database.clock()
        done.run(began, began)
        queued = list(heal(engine, topics))
    return done, queued
