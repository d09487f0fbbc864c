"""What a measurement found: one figure, what it is to reach, and the parts it was made from."""

from __future__ import annotations

import operator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rich.table import Table

_HOLDS = {">=": operator.ge, "<=": operator.le}


@dataclass(frozen=True)
class Result:
    name: str
    what: str
    value: float
    unit: str
    bound: Literal[">=", "<="]
    reach: float
    parts: dict[str, Any] = field(default_factory=dict)

    @property
    def reached(self) -> bool:
        return _HOLDS[self.bound](self.value, self.reach)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"reached": self.reached}


def as_table(results: list[Result]) -> Table:
    table = Table("measurement", "what", "found", "to reach", "parts", show_lines=True)
    for result in results:
        colour = "green" if result.reached else "red"
        found = f"[{colour}]{_number(result.value)} {result.unit}[/]"
        parts = "\n".join(f"{name}: {_part(value)}" for name, value in result.parts.items())
        table.add_row(result.name, result.what, found, f"{result.bound} {_number(result.reach)} {result.unit}", parts)
    return table


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _part(value: Any) -> str:
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {_part(entry)}" for name, entry in value.items())
    if isinstance(value, list):
        return ", ".join(_part(entry) for entry in value)
    return f"{value:,}" if isinstance(value, int) else str(value)
