"""The plan of a rebuild: what is stale, what an earlier transform built, and what will be stale once those are built anew."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dwh_assets.control.statements import sql
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.outdated import outdated
from dwh_assets.engine.restate import Span, span_of
from dwh_assets.model.errors import ActRefused
from dwh_assets.model.graph import order
from dwh_assets.model.module import Lineage

STALE, TRANSFORM, UPON = "built upon restated rows", "earlier transform", "will be stale then"


@dataclass(frozen=True)
class Rebuild:
    spans: list[Span]
    left_out: list[str]  # what cannot be restated, and why


def rebuild_plan(engine: Engine, lineage: Lineage, topic: str | None = None, transforms: bool = True) -> Rebuild:
    """Everything that `--stale` means, in the order in which it must be rebuilt; of one topic, or of all."""
    wanted = {row["topic"]: (row["first"], row["last"], STALE) for row in engine.database.fetch(sql("stale_blocks"))}
    for found in outdated(engine, lineage) if transforms else ():
        first, last, why = wanted.get(found.topic, (found.first, found.last, ""))
        because = f"{why}, {TRANSFORM}" if why else TRANSFORM
        wanted[found.topic] = (min(first, found.first), max(last, found.last), because)
    spans: dict[str, Span] = {}
    left_out: list[str] = []
    for name in [t for m in order(lineage) for t in lineage.module(m).topics]:
        if topic in (None, name) and name in wanted:
            first, last, why = wanted[name]
            try:
                spans[name] = replace(span_of(engine, lineage, name, first, last), because=why)
            except ActRefused as error:
                if STALE in why:
                    raise
                left_out.append(str(error))
                continue
        if name in spans and topic is None:
            _follow(engine, lineage, spans[name], wanted)
    return Rebuild(list(spans.values()), left_out)


def _follow(engine: Engine, lineage: Lineage, span: Span, wanted: dict[str, tuple[int, int, str]]) -> None:
    """What was built upon these blocks becomes stale when they are restated; it comes later in the order."""
    target = lineage.module(span.topic.partition(":")[0]).table
    for row in engine.database.fetch(sql("built_upon"), table=target, from_pos=span.from_pos):
        first, last, why = wanted.get(row["topic"], (row["first"], row["first"], UPON))
        end = engine.database.fetch_one(sql("span_of_blocks"), topic=row["topic"], first=row["first"], last=None)
        reach = max(last, (end or {}).get("last") or last)
        wanted[row["topic"]] = (min(first, row["first"]), reach, why)
