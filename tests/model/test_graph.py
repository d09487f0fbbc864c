"""The dependency graph refuses exactly the cycles and orders everything else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dwh_assets.model import graph
from dwh_assets.model.module import Lineage, Module, SourceTable

TABLES = [f"t.n{i}" for i in range(7)]


def lineage_of(edges: dict[str, list[str]], sources: list[str] | None = None) -> Lineage:
    """Modules by name (`t.a` or `t.a#tag`), each with what it depends on."""
    modules = tuple(Module(name, name.partition("#")[0], tuple(needed)) for name, needed in edges.items())
    return Lineage(modules, tuple(SourceTable(name, "iceberg") for name in sources or ["t.source"]))


def test_order_puts_every_module_after_what_it_waits_for() -> None:
    lineage = lineage_of({"t.c": ["t.b", "t.a"], "t.b": ["t.a"], "t.a": ["t.source"]})
    assert graph.order(lineage) == ("t.a", "t.b", "t.c")


def test_a_cycle_is_shown_in_the_direction_of_waiting() -> None:
    lineage = lineage_of({"t.a": ["t.b"], "t.b": ["t.c"], "t.c": ["t.a"]})
    assert graph.cycles(lineage) == (("t.a", "t.b", "t.c", "t.a"),)


def test_a_module_that_waits_for_its_own_table_is_a_cycle() -> None:
    assert graph.cycles(lineage_of({"t.a": ["t.source", "t.a"]})) == (("t.a", "t.a"),)


def test_tags_of_one_table_are_put_together() -> None:
    lineage = lineage_of({"t.a#x": ["t.source"], "t.a#y": ["t.b"], "t.b": ["t.a"]})
    assert graph.cycles(lineage) == (("t.a", "t.b", "t.a"),)


def test_every_cycle_is_reported() -> None:
    lineage = lineage_of({"t.a": ["t.b"], "t.b": ["t.a"], "t.c": ["t.d"], "t.d": ["t.c"]})
    assert set(graph.cycles(lineage)) == {("t.a", "t.b", "t.a"), ("t.c", "t.d", "t.c")}


def test_reads_close_no_cycle_but_must_exist() -> None:
    module = Module("t.a", "t.a", ("t.source",), reads=("t.a", "t.sorce"))
    lineage = Lineage((module,), (SourceTable("t.source", "iceberg"),))
    assert graph.cycles(lineage) == ()
    assert graph.missing(lineage) == (graph.Missing("t.a", "t.sorce", "reads", ("t.source",)),)


def test_upstream_and_downstream_go_all_the_way() -> None:
    lineage = lineage_of({"t.b": ["t.a"], "t.c": ["t.b"], "t.d": ["t.c"], "t.a": ["t.source"]})
    assert graph.downstream(lineage, "t.b") == ("t.c", "t.d")
    assert graph.upstream(lineage, "t.c") == ("t.a", "t.b", "t.source")


@given(st.dictionaries(st.sampled_from(TABLES), st.lists(st.sampled_from(TABLES), min_size=1, max_size=3, unique=True)))
def test_random_graphs_are_refused_exactly_when_they_have_a_cycle(edges: dict[str, list[str]]) -> None:
    lineage = lineage_of(edges)
    assert bool(graph.cycles(lineage)) == has_cycle(edges)
    if not has_cycle(edges):
        order = graph.order(lineage)
        assert sorted(order) == sorted(edges)
        assert all(order.index(needed) < order.index(table) for table in edges for needed in edges[table] if needed in edges)


def has_cycle(edges: dict[str, list[str]]) -> bool:
    """Warshall's closure: a table that reaches itself."""
    reach = {(a, b) for a, needed in edges.items() for b in needed}
    for k in TABLES:
        reach |= {(a, b) for a in TABLES for b in TABLES if (a, k) in reach and (k, b) in reach}
    return any((table, table) in reach for table in TABLES)
