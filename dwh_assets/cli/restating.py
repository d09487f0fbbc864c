"""dwh restate: run committed blocks again, load late rows, rebuild what is stale."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from dwh_assets.cli import columns, formats
from dwh_assets.cli.acting import require_reason
from dwh_assets.cli.confirm import confirm
from dwh_assets.cli.opening import settings_of, warehouse, who
from dwh_assets.cli.options import Json, Reason, Yes
from dwh_assets.cli.output import printer, warn, working
from dwh_assets.control.acts import ActStore
from dwh_assets.control.reports import Reports
from dwh_assets.model.errors import ActRefused
from dwh_assets.model.position import EARLIEST

if TYPE_CHECKING:
    from dwh_assets.engine.engine import Engine
    from dwh_assets.engine.rebuild import Rebuild
    from dwh_assets.engine.restate import Span
    from dwh_assets.model.module import Lineage

LATEST = datetime(9999, 1, 1, tzinfo=UTC)
From = Annotated[str | None, typer.Option("--from", help="First block: its number (812), or an instant or day in it.")]
Until = Annotated[str | None, typer.Option("--to", help="Last block, as for --from; without it, to the end.")]


def restate(
    context: typer.Context,
    topic: Annotated[str | None, typer.Argument(help="a topic; not needed with --stale or --late", show_default=False)] = None,
    from_: From = None,
    to: Until = None,
    late: Annotated[bool, typer.Option("--late", help="The blocks that late rows belong to.")] = False,
    stale: Annotated[
        bool, typer.Option("--stale", help="What was built upon restated blocks, or by an earlier transform, in its order.")
    ] = False,
    restated_only: Annotated[
        bool, typer.Option("--restated-only", help="With --stale: leave what an earlier transform built as it is.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and do nothing.")] = False,
    reason: Reason = "",
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Run committed blocks again in one job; the cursor does not move. Shows blocks, rows and time, then asks."""
    if not dry_run:
        require_reason("restate", reason)
    _require_one_way(topic, from_, to, late, stale)
    out = printer(as_json)
    with warehouse(settings_of(context)) as engine:
        lineage = engine.lineage.active()
        with working("looking for the blocks"):
            name = Reports(engine.database).topic_named(topic) if topic else None
            plan = _plan(engine, lineage, name, from_, to, late, stale, not restated_only)
        for text in plan.left_out:
            warn(f"left out: {text}")
        if not plan.spans:
            out.say("Nothing is late." if late else "Nothing is stale.")
        elif not as_json or dry_run:
            out.rows([asdict(span) for span in plan.spans], columns.SPANS)
        if dry_run:
            return
        if plan.spans and not as_json:
            confirm(f"Run {_sum(plan.spans)} again?", yes)
        done = [entry for span in plan.spans for entry in _carried_out(engine, lineage, span, reason)]
    if as_json:
        out.json(done)
    for entry in done:
        out.say(f"{entry['topic']}: {entry['blocks']} blocks restated in {entry['seconds']:.1f} s.")
    if done and not stale:
        out.say("What was built upon them is marked stale; `dwh restate --stale --reason ...` rebuilds it.")


def _sum(spans: list[Span]) -> str:
    known = [span.seconds for span in spans if span.seconds is not None]
    rows = formats.count(sum(span.rows for span in spans))
    return f"{sum(span.blocks for span in spans)} blocks with {rows} base rows" + (
        f", about {formats.span(max(sum(known), 1))}," if known else ""
    )


def _carried_out(engine: Engine, lineage: Lineage, span: Span, reason: str) -> list[dict[str, object]]:
    """What the plan foresaw to become stale is looked up again: it may be less."""
    from dwh_assets.engine.rebuild import UPON
    from dwh_assets.engine.restate import stale_spans

    spans = [s for s in stale_spans(engine, lineage) if s.topic == span.topic] if span.because == UPON else [span]
    return [run_span(engine, lineage, found, reason) for found in spans]


def _require_one_way(topic: str | None, from_: str | None, to: str | None, late: bool, stale: bool) -> None:
    ways = [bool(from_ or to), late, stale]
    if sum(ways) != 1:
        raise ActRefused("say which blocks, in one way: --from A [--to B], --late, or --stale. Nothing was changed.")
    if topic is None and not (late or stale):
        raise ActRefused("name the topic whose blocks are to be run again. Nothing was changed.")


def _plan(
    engine: Engine,
    lineage: Lineage,
    topic: str | None,
    from_: str | None,
    to: str | None,
    late: bool,
    stale: bool,
    transforms: bool,
) -> Rebuild:
    from dwh_assets.engine.rebuild import Rebuild, rebuild_plan
    from dwh_assets.engine.restate import late_spans, span_of

    if late:
        return Rebuild(late_spans(engine, lineage, topic), [])
    if stale:
        return rebuild_plan(engine, lineage, topic, transforms)
    assert topic is not None
    reports = Reports(engine.database)
    first = block_number(reports, topic, from_, at_end=False) if from_ else 1
    last = block_number(reports, topic, to, at_end=True) if to else None
    return Rebuild([span_of(engine, lineage, topic, first, last)], [])


def block_number(reports: Reports, topic: str, text: str, at_end: bool) -> int:
    """The sequence number of the block that a person named by its number or by an instant."""
    digits = text.removeprefix("#")
    if digits.isdecimal() and (text.startswith("#") or len(digits) != 8):
        block = reports.block(int(digits))
        if block["topic"] != topic:
            raise ActRefused(f"block #{digits} belongs to {block['topic']}, not to {topic}. Nothing was changed.")
        if block["status"] == "void":
            raise ActRefused(f"block #{digits} of {topic} was taken back before; see `dwh blocks {topic}`. Nothing was changed.")
        return block["seq"]
    since, until = _instants(text)
    first, _ = reports.numbers_between(topic, since, LATEST)
    _, last = reports.numbers_between(topic, EARLIEST.pos, until)
    number = last if at_end else first
    if number is None:
        raise ActRefused(f"{topic} has no committed block at {text}; see `dwh blocks {topic}`. Nothing was changed.")
    return number


def _instants(text: str) -> tuple[datetime, datetime]:
    """A day is all its instants; an instant is itself."""
    try:
        start = datetime.fromisoformat(text)
    except ValueError:
        raise ActRefused(f"{text!r} is neither the number of a block nor an instant such as 2026-01-31T08:00:00Z.") from None
    start = start if start.tzinfo else start.replace(tzinfo=UTC)
    whole_day = len(text) <= len("2026-01-31")
    return start, start + (timedelta(days=1) if whole_day else timedelta(microseconds=1))


def run_span(engine: Engine, lineage: Lineage, span: Span, reason: str) -> dict[str, object]:
    from dwh_assets.cli.carrying import carry_out
    from dwh_assets.engine.restate import restate as restate_span

    acts = ActStore(engine.database, who())
    with working(f"restating {span.blocks} blocks of {span.topic}"):
        outcome = carry_out(engine, span.topic, lambda: restate_span(engine, lineage, acts, span, reason))
    return asdict(span) | {"result": outcome.result, "written": outcome.rows, "seconds": outcome.seconds}
