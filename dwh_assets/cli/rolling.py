"""dwh rollback: take blocks back, their rows and the load window together, after a look at what would go."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dwh_assets.cli import columns
from dwh_assets.cli.acting import require_reason
from dwh_assets.cli.confirm import confirm
from dwh_assets.cli.opening import settings_of, warehouse, who
from dwh_assets.cli.options import Json, Reason, Topic, Yes
from dwh_assets.cli.output import Printer, printer, working
from dwh_assets.cli.restating import block_number
from dwh_assets.control.acts import ActStore
from dwh_assets.control.reports import Reports
from dwh_assets.model.errors import ActRefused
from dwh_assets.model.position import EARLIEST

if TYPE_CHECKING:
    from dwh_assets.engine.engine import Engine
    from dwh_assets.engine.rollback import Plan, Taken
    from dwh_assets.model.module import Lineage

SHOWN = 20  # blocks of a topic
Stays = Annotated[
    str | None, typer.Option("--to", help="The last block that stays: its number (812), or an instant or day in it.")
]
Instance = Annotated[int | None, typer.Option("--instance", help="The blocks that this execution wrote, and all after them.")]
Everything = Annotated[bool, typer.Option("--all", help="All blocks; only where the file says allow_truncate: true.")]
Cascade = Annotated[bool, typer.Option("--cascade", help="Also take back what was built upon them.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")]


def rollback(
    context: typer.Context,
    topic: Topic,
    to: Stays = None,
    instance: Instance = None,
    everything: Everything = False,
    cascade: Cascade = False,
    dry_run: DryRun = False,
    reason: Reason = "",
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Take blocks and their rows back, the cursor with them. Shows blocks, rows and what was built upon them, then asks."""
    if not dry_run:
        require_reason("rollback", reason)
    if sum((to is not None, instance is not None, everything)) != 1:
        raise ActRefused("say what goes, in one way: --to BLOCK, --instance EXECUTION, or --all. Nothing was changed.")
    out = printer(as_json)
    with warehouse(settings_of(context)) as engine:
        lineage = engine.lineage.active()
        plan = _plan(engine, lineage, topic, to, instance, everything)
        _show(out, plan)
        done = [] if dry_run else _carry_out(engine, lineage, plan, cascade, reason, yes)
    if as_json:
        out.json({"act": "rollback", "topic": plan.asked.topic, "dry_run": dry_run, "taken": [_as_json(t) for t in _all(plan)]})
    for taken in done:
        out.say(f"{taken.topic}: {len(taken.blocks)} blocks with {taken.rows:,} rows are taken back.")
    stale = [taken.topic for taken in plan.others if taken.reloaded]
    if done and stale:
        out.say(f"{', '.join(stale)}: stale until rebuilt, by the next load or by `dwh restate --stale --reason ...`.")


def _plan(engine: Engine, lineage: Lineage, topic: str, to: str | None, instance: int | None, everything: bool) -> Plan:
    from dwh_assets.engine.rollback import first_of_execution, plan_rollback, require_truncate

    reports = Reports(engine.database)
    name = reports.topic_named(topic)
    first, end = 1, EARLIEST.pos
    if everything:
        require_truncate(engine, name.partition(":")[0].partition("#")[0])
    elif instance is not None:
        first = first_of_execution(engine, name, instance)
    elif to is not None:
        first, end = _behind(reports, name, to)
    return plan_rollback(engine, lineage, name, first, end)


def _behind(reports: Reports, topic: str, text: str) -> tuple[int, datetime]:
    """The number of the block behind the one that stays, and where that one ends."""
    number = block_number(reports, topic, text, at_end=True)
    if number < 1:
        raise ActRefused(
            f"{topic}: {text} is where the topic starts; to take back all its blocks say --all. Nothing was changed."
        )
    stays = reports.block_numbered(topic, number)
    if stays is None or stays["status"] not in ("committed", "stale", "skipped"):
        raise ActRefused(f"{topic}: block {text} is not finished, so it cannot be the last that stays; see `dwh blocks {topic}`.")
    return number + 1, stays["next_pos"]


def _carry_out(engine: Engine, lineage: Lineage, plan: Plan, cascade: bool, reason: str, yes: bool) -> list[Taken]:
    from dwh_assets.cli.carrying import carry_out  # late: it needs Spark's libraries
    from dwh_assets.engine.rollback import carry_out_rollback, require_carried

    require_carried(plan, cascade)
    blocks, rows = sum(len(taken.blocks) for taken in plan.steps), sum(taken.rows for taken in plan.steps)
    confirm(f"Take back {blocks} blocks with {rows:,} rows of {', '.join(taken.topic for taken in plan.steps)}?", yes)
    acts = ActStore(engine.database, who())
    with working(f"taking back {blocks} blocks") as say:

        def carry(topic: str, act: Any) -> Any:
            say(f"taking back blocks of {topic}")
            return carry_out(engine, topic, act)

        return carry_out_rollback(engine, lineage, acts, plan, reason, carry)


def _all(plan: Plan) -> tuple[Taken, ...]:
    return (*plan.others, plan.asked)


def _show(out: Printer, plan: Plan) -> None:
    if not out.for_people:
        return
    lines = [_line(taken, block) for taken in reversed(_all(plan)) for block in taken.blocks[-SHOWN:]]
    out.rows(lines, columns.TAKEN, empty=f"{plan.asked.topic}: nothing to take back.")
    for taken in _all(plan):
        if (more := len(taken.blocks) - SHOWN) > 0:
            out.say(f"{taken.topic}: and {more:,} blocks before these.")


def _line(taken: Taken, block: dict[str, Any]) -> dict[str, Any]:
    return block | {"topic": taken.topic, "upon": taken.upon, "becomes": "stale" if taken.reloaded else "taken back"}


def _as_json(taken: Taken) -> dict[str, Any]:
    return {
        "topic": taken.topic,
        "upon": taken.upon or None,
        "becomes": "stale" if taken.reloaded else "taken back",
        "rows": taken.rows,
        "blocks": taken.blocks,
    }
