"""Where columns come from: the analysed plan of a query, followed from its output down to the columns of its inputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from dwh_assets.model.plan_text import Node, ids_in, items_of, lists_in, parts_of

Kind = Literal["identity", "transformation", "aggregation"]
KINDS: tuple[Kind, ...] = ("identity", "transformation", "aggregation")
MARK = "dwh_in|"  # inputs are read through columns of this name, so that they are found whatever they are read by
_SUBQUERY = re.compile(r"(?:scalar-subquery|lateral-subquery|exists|list)#(\d+)")
_SEEN_BY_SUBQUERY = re.compile(rf"({_SUBQUERY.pattern}) \[[^\]]*\]")  # columns of the query around it: they choose its rows
_LEFT_ONLY = re.compile(r"^(?:Join|LateralJoin.*?) (?:LeftSemi|LeftAnti)\b")


@dataclass(frozen=True, order=True)
class Origin:
    """A column of an input table, and what became of it on its way: passed on, computed with, or summed up."""

    table: str
    column: str
    kind: Kind = "identity"


Origins = frozenset[Origin]
NONE: Origins = frozenset()


@dataclass(frozen=True)
class Column:
    name: str
    origins: Origins = NONE


Output = dict[int, Column]  # by the id that Spark gave the column, in the order of the columns


@dataclass(frozen=True)
class ColumnLineage:
    """`columns`: output column -> where its values come from. `decides`: what rows are joined, filtered and grouped by."""

    columns: dict[str, tuple[Origin, ...]]
    decides: tuple[tuple[str, str], ...]


@dataclass
class _Reader:
    """Reads one plan. `defined` are the common table expressions by number."""

    decides: set[tuple[str, str]] = field(default_factory=set)
    defined: dict[str, list[Column]] = field(default_factory=dict)

    def read(self, node: Node, outer: Mapping[int, Column]) -> Output:
        """The output of an operator. `outer` are the columns that a subquery sees of the query around it."""
        if node.name == "CTERelationDef":
            output = self.read(node.children[0], outer)
            self.defined[node.text.split(" ")[1].rstrip(",")] = list(output.values())
            return output
        below = [self.read(child, outer) for child in node.children]
        known = dict(outer) | _together(below)
        known |= self._subqueries(node, known)
        return _OPERATORS.get(node.name, _Reader.other)(self, node, below, known)

    def _subqueries(self, node: Node, known: Mapping[int, Column]) -> Output:
        """What each subquery in the operator's expressions gives; all of them together where they cannot be told apart."""
        ids = list(dict.fromkeys(int(found) for found in _SUBQUERY.findall(node.text)))
        outputs = [self.read(plan, known) for plan in node.subqueries]
        if len(ids) != len(outputs):
            outputs = [_together(outputs)] * len(ids)
        return {id_: Column("", _united(output.values())) for id_, output in zip(ids, outputs, strict=True)}

    def project(self, node: Node, below: list[Output], known: Mapping[int, Column]) -> Output:
        return _listed(lists_in(node.text)[0], known, "transformation")

    def aggregate(self, node: Node, below: list[Output], known: Mapping[int, Column]) -> Output:
        """Without groups it has one list only: what it gives."""
        *groups, given = lists_in(node.text)[:2]
        for group in groups:
            self._decided(group, known)
        return _listed(given, known, "aggregation")

    def window(self, node: Node, below: list[Output], known: Mapping[int, Column]) -> Output:
        return _together(below) | _listed(lists_in(node.text)[0], known, "transformation")

    def generate(self, node: Node, below: list[Output], known: Mapping[int, Column]) -> Output:
        """Each column that it makes comes from all that it is made of."""
        made = lists_in(node.text)[-1]
        came = _computed(node.text.removesuffix(f"[{made}]"), known, "transformation")
        return _together(below) | {item.id: Column(item.name, came) for item in items_of(made)}

    def expand(self, node: Node, below: list[Output], known: Mapping[int, Column]) -> Output:
        """Rows are repeated with other values: a column comes from what stands at its place in any of them."""
        variants, made = lists_in(node.text)
        places = [parts_of(variant) for variant in lists_in(variants)]
        output: Output = {}
        for place, item in enumerate(items_of(made)):
            given = [variant[place] for variant in places if place < len(variant)]
            output[item.id] = Column(item.name, frozenset().union(*(_given(part, known, "transformation") for part in given)))
        return output

    def union(self, node: Node, below: list[Output], known: Mapping[int, Column]) -> Output:
        """Columns are put together by their place; the first query names them."""
        first, *others = ([*output.values()] for output in below)
        rows = [
            _united([column, *(other[place] for other in others if place < len(other))]) for place, column in enumerate(first)
        ]
        return {id_: Column(column.name, rows[place]) for place, (id_, column) in enumerate(below[0].items())}

    def join(self, node: Node, below: list[Output], known: Mapping[int, Column]) -> Output:
        """The right side of a lateral join is drawn as a subquery: it sees the left one."""
        self._decided(_SUBQUERY.sub("", node.text), known)
        if node.name == "LateralJoin":
            below = [*below, *(self.read(plan, known) for plan in node.subqueries)]
        return below[0] if _LEFT_ONLY.match(node.text) else _together(below)

    def filter(self, node: Node, below: list[Output], known: Mapping[int, Column]) -> Output:
        self._decided(node.text, known)
        return _together(below)

    def reference(self, node: Node, below: list[Output], known: Mapping[int, Column]) -> Output:
        """A common table expression where it is used: by its number, its columns by their place."""
        columns = self.defined.get(node.text.split(" ")[1].rstrip(","), [])
        items = items_of(lists_in(node.text)[0])
        return {item.id: Column(item.name, column.origins) for item, column in zip(items, columns, strict=False)}

    def with_definitions(self, node: Node, below: list[Output], known: Mapping[int, Column]) -> Output:
        return below[-1] if below else {}

    def other(self, node: Node, below: list[Output], known: Mapping[int, Column]) -> Output:
        """An operator that passes its columns on; columns that it makes itself come from all that it reads."""
        output = _together(below)
        lists = lists_in(node.text)
        made = [item for item in items_of(lists[-1]) if item.id not in known] if lists else []
        if not made:
            return output
        came = frozenset(Origin(o.table, o.column, "transformation") for o in _united(output.values()))
        return {item.id: Column(item.name, _marked(item.name) or came) for item in made}

    def _decided(self, text: str, known: Mapping[int, Column]) -> None:
        self.decides |= {(o.table, o.column) for id_ in ids_in(text) if id_ in known for o in known[id_].origins}


_Operator = Callable[[_Reader, Node, list[Output], Mapping[int, Column]], Output]
_OPERATORS: dict[str, _Operator] = {
    "Project": _Reader.project,
    "Aggregate": _Reader.aggregate,
    "Window": _Reader.window,
    "Generate": _Reader.generate,
    "Expand": _Reader.expand,
    "Union": _Reader.union,
    "Intersect": _Reader.union,
    "Except": _Reader.union,
    "Join": _Reader.join,
    "LateralJoin": _Reader.join,
    "Filter": _Reader.filter,
    "Deduplicate": _Reader.filter,
    "CTERelationRef": _Reader.reference,
    "WithCTE": _Reader.with_definitions,
}


def lineage_of(plan: Node) -> ColumnLineage:
    """Of each output column its origins, the strongest kind for each."""
    reader = _Reader()
    output = reader.read(plan, {})
    columns = {column.name: tuple(sorted(_strongest(column.origins))) for column in output.values()}
    return ColumnLineage(columns, tuple(sorted(reader.decides)))


def marked(table: str, column: str) -> str:
    return f"{MARK}{table}|{column}"


def _marked(name: str) -> Origins:
    if not name.startswith(MARK):
        return NONE
    table, _, column = name.removeprefix(MARK).partition("|")
    return frozenset([Origin(table, column)])


def _listed(text: str, known: Mapping[int, Column], kind: Kind) -> Output:
    """An output list: each column by its name, with the origins of what it is made of. Later ones may name earlier ones."""
    seen, output = dict(known), Output()
    for item in items_of(text):
        if item.given is None:
            output[item.id] = Column(item.name, seen[item.id].origins if item.id in seen else NONE)
        else:
            output[item.id] = Column(item.name, _marked(item.name) or _given(item.given, seen, kind))
        seen[item.id] = output[item.id]
    return output


def _given(text: str, known: Mapping[int, Column], kind: Kind) -> Origins:
    """An expression that is a column alone passes it on; any other computes with the columns that it names."""
    alone = re.fullmatch(r"(.*)#(\d+)L?", text, re.DOTALL)
    column = None if alone is None else known.get(int(alone[2]))
    if alone is not None and column is not None and alone[1] == column.name:
        return column.origins
    return _computed(text, known, kind)


def _computed(text: str, known: Mapping[int, Column], kind: Kind) -> Origins:
    ids = ids_in(_SEEN_BY_SUBQUERY.sub(r"\1", text))
    origins = _united(known[id_] for id_ in ids if id_ in known)
    return frozenset(Origin(o.table, o.column, _stronger(o.kind, kind)) for o in origins)


def _stronger(one: Kind, other: Kind) -> Kind:
    return KINDS[max(KINDS.index(one), KINDS.index(other))]


def _united(columns: Iterable[Column]) -> Origins:
    return frozenset(origin for column in columns for origin in column.origins)


def _together(outputs: Iterable[Output]) -> Output:
    return {id_: column for output in outputs for id_, column in output.items()}


def _strongest(origins: Origins) -> list[Origin]:
    best: dict[tuple[str, str], Origin] = {}
    for origin in sorted(origins, key=lambda o: KINDS.index(o.kind)):
        best[origin.table, origin.column] = origin
    return list(best.values())
