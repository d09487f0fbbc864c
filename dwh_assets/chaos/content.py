"""What readers of each table see, as a bag of rows; and how two such states differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from dwh_assets.engine.engine import Engine
from dwh_assets.model.module import Lineage

Bag = Counter[tuple[Any, ...]]
_OF_POSITION = ("valid_from", "valid_to")  # made of the position where a history is kept


def contents(engine: Engine, lineage: Lineage) -> dict[str, Bag]:
    """Every column, but those that say who loaded a row, and positions that are given only when an event is taken in."""
    given = _positions_by_arrival(lineage)
    return {table: _bag(engine, table, given.get(table, ())) for table in lineage.tables if engine.catalog.exists(table)}


def differences(expected: Mapping[str, Bag], found: Mapping[str, Bag]) -> list[str]:
    """One line for each table that differs. No values: a log may be read by people who may not read the table."""
    return [
        f"{table}: {(rows - found[table]).total()} rows are missing and {(found[table] - rows).total()} are too many,"
        f" of {rows.total()} that an undisturbed run gives"
        for table, rows in expected.items()
        if rows != found[table]
    ]


def _bag(engine: Engine, table: str, left_out: tuple[str, ...]) -> Bag:
    found = engine.catalog.load(table).scan().to_arrow()
    kept = found.select(sorted(n for n in found.column_names if not n.startswith("_") and n not in left_out))
    return Counter(tuple(_hashable(value) for value in row.values()) for row in kept.to_pylist())


def _hashable(value: Any) -> Any:
    return repr(value) if isinstance(value, (list, dict)) else value


def _positions_by_arrival(lineage: Lineage) -> dict[str, tuple[str, ...]]:
    """Tables of events and what is built upon them: their positions differ from run to run."""
    found: dict[str, tuple[str, ...]] = {}
    for module in lineage.modules:
        if module.processor == "ingest":
            found |= dict.fromkeys(module.tables, (*module.position, "pos", "id"))
    while True:
        more = {m.table: (*m.position, *_OF_POSITION) for m in lineage.modules if m.base in found and m.table not in found}
        if not more:
            return found
        found |= more
