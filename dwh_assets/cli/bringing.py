"""dwh repair --reconcile: control store and warehouse folder were restored to different moments."""

from __future__ import annotations

import typer

from dwh_assets.cli import columns
from dwh_assets.cli.confirm import confirm
from dwh_assets.cli.opening import settings_of, warehouse, who
from dwh_assets.cli.output import printer, working
from dwh_assets.control.backups import refuse_loading


def bring_together(context: typer.Context, reason: str, yes: bool, as_json: bool) -> None:
    """Shows what becomes of each table and topic, asks, and does it as one act."""
    from dwh_assets.engine.reconcile import plan_reconciliation, reconcile

    out = printer(as_json)
    with warehouse(settings_of(context)) as engine:
        refuse_loading(engine.database)
        lineage = engine.lineage.active()
        with working("looking at every table"):
            plan = plan_reconciliation(engine, lineage)
        if not as_json:
            out.rows(plan.lines(), columns.RECONCILE, empty="Tables and control store agree. Nothing was changed.")
        if not plan.empty:
            confirm("Do this? Rows that go are loaded again from their base.", yes)
            with working("reconciling"):
                reconcile(engine, lineage, plan, who(), reason)
    if as_json:
        out.json(plan.lines())
    elif not plan.empty:
        out.say("Done. `dwh run --until-dry` loads what was taken back; then look again: dwh verify")
