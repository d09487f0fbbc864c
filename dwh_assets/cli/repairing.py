"""dwh repair: load one block again whose rows are damaged, or bring tables and control store together."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from dwh_assets.cli import columns
from dwh_assets.cli.acting import require_reason
from dwh_assets.cli.bringing import bring_together
from dwh_assets.cli.confirm import confirm
from dwh_assets.cli.opening import settings_of, warehouse
from dwh_assets.cli.options import Json, Reason, Yes
from dwh_assets.cli.output import printer
from dwh_assets.cli.restating import run_span
from dwh_assets.control.reports import Reports
from dwh_assets.model.errors import ActRefused


def repair(
    context: typer.Context,
    block: Annotated[
        int | None, typer.Argument(help="the number of a committed block, as verify names it", show_default=False)
    ] = None,
    reconcile: Annotated[
        bool,
        typer.Option("--reconcile", help="Tables and control store were restored to different moments: bring them together."),
    ] = False,
    reason: Reason = "",
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Load a damaged block again from its base rows: its old rows go, whatever became of them. Shows what it does, then asks."""
    from dwh_assets.engine.restate import span_of

    require_reason("repair", reason)
    if reconcile or block is None:
        if reconcile and block is None:
            return bring_together(context, reason, yes, as_json)
        raise ActRefused("name one block, or say --reconcile for the whole warehouse. Nothing was changed.")
    out = printer(as_json)
    with warehouse(settings_of(context)) as engine:
        found = Reports(engine.database).block(block)
        if found["status"] not in ("committed", "stale"):
            raise ActRefused(
                f"block #{block} of {found['topic']} is {found['status']}: it has no rows to repair. Nothing was changed."
            )
        lineage = engine.lineage.active()
        span = span_of(engine, lineage, found["topic"], found["seq"], found["seq"])
        if not as_json:
            out.rows([asdict(span)], columns.SPANS)
            confirm(f"Load block #{block} of {span.topic} again?", yes)
        done = run_span(engine, lineage, span, f"repair of block #{block}: {reason}")
    if as_json:
        out.json(done)
    out.say(f"{done['topic']}: block #{block} was loaded again in {done['seconds']:.1f} s. Look again: dwh verify --deep")
    return out.say("What was built upon it is marked stale; `dwh restate --stale --reason ...` rebuilds it.")
