"""dwh lineage show TABLE.COLUMN: what a column is made of, and what is made of it, as trees."""

from __future__ import annotations

from typing import Any

from rich.markup import escape
from rich.tree import Tree

from dwh_assets.cli.output import Printer, console
from dwh_assets.control.column_lineage import ColumnLineageStore, lineage_of_row
from dwh_assets.control.database import Database
from dwh_assets.model.column_graph import ColumnGraph, Step
from dwh_assets.model.errors import UnknownTopic
from dwh_assets.model.near import did_you_mean

Row = dict[str, Any]
KINDS = {"identity": "as it is", "transformation": "computed", "aggregation": "summed up"}


def show_column(database: Database, name: str, out: Printer) -> None:
    rows = ColumnLineageStore(database).newest()
    graph = ColumnGraph()
    for row in rows.values():
        graph.add(row["target"], lineage_of_row(row))
    table, _, column = name.rpartition(".")
    _require(graph, rows, table, column)
    up, down = graph.sources_of(table, column), graph.uses_of(table, column)
    deciding = [entry for row in rows.values() if row["target"] == table for entry in row["decides"]]
    if not out.for_people:
        out.json(
            {"table": table, "column": column, "made_of": _steps(up), "goes_into": _steps(down), "rows_decided_by": deciding}
        )
        return
    _print(f"[bold]{escape(name)}[/] is made of", up, "nothing that is read: a constant, the clock, or a source's own column")
    _print(f"[bold]{escape(name)}[/] goes into", down, "no other column")
    if deciding:
        names = sorted({f"{entry['table']}.{entry['column']}" for entry in deciding})
        out.say(f"[dim]rows of {table} are joined, filtered or grouped by {escape(', '.join(names))}[/]")


def is_column(name: str) -> bool:
    return name.partition("#")[0].partition(":")[0].count(".") >= 2


def _require(graph: ColumnGraph, rows: dict[str, Row], table: str, column: str) -> None:
    if column in graph.columns.get(table, []):
        return
    problems = [row["problem"] for row in rows.values() if row["target"] == table and row["problem"]]
    if problems:
        raise UnknownTopic(f"the columns of {table} could not be followed: {problems[0]}")
    if not graph.columns:
        raise UnknownTopic("nothing is known of columns yet; `dwh lineage apply` asks Spark, and so does the first loaded block.")
    if table in graph.columns:
        known = graph.columns[table]
        hint = did_you_mean(column, known)
        raise UnknownTopic(f"{table} has no column {column!r}.{hint} It has {', '.join(known)}.")
    hint = did_you_mean(table, graph.columns)
    raise UnknownTopic(f"nothing is known of a table {table!r}.{hint} `dwh lineage show` lists the modules.")


def _print(title: str, step: Step, empty: str) -> None:
    tree = Tree(title, guide_style="dim")
    if not step.steps:
        tree.add(f"[dim]{empty}[/]")
    _grow(tree, step)
    console().print(tree)


def _grow(tree: Tree, step: Step) -> None:
    for inner in step.steps:
        how = KINDS[inner.kind] if inner.kind else ""
        _grow(tree.add(f"{escape(inner.table)}.[bold]{escape(inner.column)}[/] [dim]{how}[/]"), inner)


def _steps(step: Step) -> list[Row]:
    return [{"table": inner.table, "column": inner.column, "kind": inner.kind, "steps": _steps(inner)} for inner in step.steps]
