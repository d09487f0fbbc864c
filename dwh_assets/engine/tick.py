"""One tick: observe, decide, plan. The loop and the orchestrator's sensors begin with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dwh_assets.engine.engine import Engine
from dwh_assets.engine.observe import observe
from dwh_assets.engine.plan import plan
from dwh_assets.model.module import Lineage
from dwh_assets.model.verdict import DUE

Row = dict[str, Any]
Choice = Callable[[Row], bool]


@dataclass(frozen=True)
class Tick:
    """The Lineage in force, and the verdicts of the chosen topics after planning."""

    lineage: Lineage
    verdicts: list[Row]

    @property
    def due(self) -> list[Row]:
        return [row for row in self.verdicts if _is_due(row)]

    @property
    def waiting(self) -> list[Row]:
        return [row for row in self.verdicts if not _is_due(row)]


def tick(engine: Engine, chosen: Choice = lambda row: True, area: str | None = None, age: timedelta = timedelta()) -> Tick:
    """With an area, only the sources that its modules read are looked at, and not those that were less than `age` ago."""
    lineage = engine.lineage.active()
    read = None if area is None else {name for module in lineage.modules if module.area == area for name in module.inputs}
    observe(engine, lineage, read, age)
    verdicts = _verdicts(engine, chosen)
    if plan(engine, lineage, verdicts):
        verdicts = _verdicts(engine, chosen)
    return Tick(lineage, verdicts)


def _verdicts(engine: Engine, chosen: Choice) -> list[Row]:
    return [row for row in engine.topics.verdicts() if chosen(row)]


def _is_due(row: Row) -> bool:
    """Due, and with something to do: what was found in the base is planned before."""
    return row["verdict"] in DUE and bool(row["open_block"] or row["planned"] or row["restatement"])
