"""The dependency graph of a Lineage, by table: a table's tags are put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from graphlib import CycleError, TopologicalSorter

from dwh_assets.model.module import Lineage

Edges = dict[str, tuple[str, ...]]  # built table -> the tables it waits for


@dataclass(frozen=True)
class Missing:
    """A table that a module names but that nobody builds or declares as a source."""

    module: str
    table: str
    field: str
    near: tuple[str, ...]


def missing(lineage: Lineage) -> tuple[Missing, ...]:
    """Every dependency, waited for or only read, that does not exist."""
    known = {m.table for m in lineage.modules} | {s.name for s in lineage.sources}
    return tuple(
        Missing(module.name, table, field, tuple(get_close_matches(table, sorted(known - {module.table}), n=2)))
        for module in lineage.modules
        for field, tables in (("depends_on", module.depends_on), ("reads", module.reads))
        for table in tables
        if table not in known
    )


def cycles(lineage: Lineage) -> tuple[tuple[str, ...], ...]:
    """Cycles such as (a, b, a), each table waiting for the next; none when the Lineage can be ordered. `reads` close no cycle."""
    edges, found = edges_of(lineage), []
    while (cycle := _cycle(edges)) is not None:
        found.append(cycle)
        edges[cycle[0]] = tuple(table for table in edges[cycle[0]] if table != cycle[1])
    return tuple(found)


def order(lineage: Lineage) -> tuple[str, ...]:
    """Names of the modules, each after everything it waits for. The Lineage has no cycle."""
    names: dict[str, list[str]] = {}
    for module in lineage.modules:
        names.setdefault(module.table, []).append(module.name)
    tables = TopologicalSorter(edges_of(lineage)).static_order()
    return tuple(name for table in tables for name in sorted(names.get(table, ())))


def command_cycle(lineage: Lineage) -> tuple[str, ...] | None:
    """A line of commands that wait for one another back to the first; None where there is none."""
    return _cycle({command.name: command.depends_on for command in lineage.commands})


def upstream(lineage: Lineage, table: str) -> tuple[str, ...]:
    """Every table that this one waits for, directly or not, sorted."""
    return _reachable(edges_of(lineage), table)


def downstream(lineage: Lineage, table: str) -> tuple[str, ...]:
    """Every built table that waits for this one, directly or not, sorted."""
    reverse: dict[str, list[str]] = {}
    for built, needed in edges_of(lineage).items():
        for dependency in needed:
            reverse.setdefault(dependency, []).append(built)
    return _reachable(reverse, table)


def edges_of(lineage: Lineage) -> Edges:
    edges: dict[str, dict[str, None]] = {}
    for module in lineage.modules:
        edges.setdefault(module.table, {}).update(dict.fromkeys(module.depends_on))
    return {table: tuple(needed) for table, needed in edges.items()}


def _cycle(edges: Edges) -> tuple[str, ...] | None:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        tables = error.args[1][:0:-1]  # graphlib lists each table before the one that waits for it, the first one twice
        first = tables.index(min(tables))
        return (*tables[first:], *tables[:first], tables[first])
    return None


def _reachable(edges: Mapping[str, Iterable[str]], start: str) -> tuple[str, ...]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for table in edges.get(waiting.pop(), ()):
            if table not in found:
                found.add(table)
                waiting.append(table)
    return tuple(sorted(found))
