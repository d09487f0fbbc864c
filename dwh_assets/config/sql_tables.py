"""Which tables a statement reads, told from its tree, and which kinds of syntax it may be made of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import Token, TokenType, exp

from dwh_assets.config.lineage_fields import nearest
from dwh_assets.config.sql_functions import TABLE_FUNCTIONS
from dwh_assets.config.sql_parse import Statement
from dwh_assets.config.sql_query import Reference

_NODES = (
    exp.Select, exp.SetOperation, exp.Values, exp.Subquery, exp.With, exp.CTE, exp.Table, exp.TableAlias, exp.From, exp.Where,
    exp.Group, exp.GroupingSets, exp.Rollup, exp.Cube, exp.Having, exp.Qualify, exp.Join, exp.Lateral, exp.Order, exp.Ordered,
    exp.Sort, exp.Distribute, exp.Cluster, exp.Limit, exp.Offset, exp.Window, exp.WindowSpec, exp.Filter, exp.WithinGroup,
    exp.Distinct, exp.Pivot, exp.PivotAlias, exp.UnpivotColumns, exp.Hint, exp.JoinHint, exp.Identifier, exp.Column, exp.Star,
    exp.Alias, exp.Aliases, exp.Literal, exp.RawString, exp.HexString, exp.Boolean, exp.Null, exp.Tuple, exp.Between, exp.In,
    exp.Bracket, exp.Slice, exp.Lambda, exp.Interval, exp.Var, exp.DataType, exp.DataTypeParam, exp.ColumnDef,
    exp.IgnoreNulls, exp.RespectNulls, exp.AtTimeZone, exp.FromTimeZone,
    exp.TableColumn, exp.IntervalSpan, exp.Binary, exp.Unary, exp.Func,
    exp.Any, exp.All, exp.JSONPath, exp.JSONPathPart,
)  # fmt: skip
_WRITE_NODES = (exp.Merge, exp.Whens, exp.When, exp.Update, exp.Insert, exp.Delete, exp.Schema, exp.Partition)
_TABLE_PARTS = {"this", "db", "alias", "pivots", "joins", "laterals"}


@dataclass(frozen=True)
class Scope:
    """What a statement may name: declared tables, and temporary views made before it."""

    tables: Collection[str]
    views: Collection[str] = ()
    advice: str = "is not declared{hint}; add it to depends_on or reads"  # about a table that is not among them


def node_problems(statement: Statement, write: bool = False) -> Iterator[tuple[int, str]]:
    """Syntax that is not known to be harmless."""
    known = (*_NODES, *_WRITE_NODES) if write else _NODES
    for node in statement.tree.walk():
        if not isinstance(node, known):
            yield offset_of(node), f"{_words(node)} is not allowed"
        elif isinstance(node, exp.With) and node.recursive:
            yield offset_of(node), "WITH RECURSIVE is not allowed"
        elif isinstance(node, exp.Join) and not all(isinstance(name, exp.Identifier) for name in node.args.get("using") or ()):
            yield offset_of(node), "USING may only hold names of columns"
    yield from _word_problems(statement.words, write)


def _word_problems(words: Sequence[Token], write: bool) -> Iterator[tuple[int, str]]:
    """Words that sqlglot takes for something else than Spark: it turns pipes into other syntax, and TABLE x into an alias."""
    for place, word in enumerate(words):
        if word.token_type is TokenType.PIPE_GT:
            yield word.start, "the pipe |> is not allowed; write a plain SELECT"
        elif word.token_type is TokenType.TABLE and not _is_harmless_table(words, place, write):
            yield word.start, "the word TABLE is not allowed; write SELECT * FROM, or `table` for a column of this name"


def _is_harmless_table(words: Sequence[Token], place: int, write: bool) -> bool:
    """As the name of a column after a dot, or in INSERT OVERWRITE TABLE."""
    return (place > 0 and words[place - 1].token_type is TokenType.DOT) or (write and place == 2)


def table_problems(statement: Statement, scope: Scope, target: exp.Table | None = None) -> Iterator[tuple[int, str]]:
    """Tables that are not declared, or are named in a way that could mean something else."""
    declared = {table.lower() for table in scope.tables}
    for table in _tables(statement.tree):
        if table is not target:
            yield from _table_problems(table, statement, scope, declared)
    for column in statement.tree.find_all(exp.Column):
        parts = [part.name.lower() for part in column.parts]
        if len(parts) > 2 and ".".join(parts[:2]) in declared:
            yield offset_of(column), f"{'.'.join(parts)} names a column with its database; write {'.'.join(parts[1:])}"
    for offset in statement.blocks - {table.this.meta.get("start") for table in _tables(statement.tree) if not table.db}:
        yield offset, "{{ block }} may only stand where a table stands"


def references_of(statement: Statement, scope: Scope, target: exp.Table | None = None) -> tuple[Reference, ...]:
    """Where the text names declared tables, earlier views and the block. Call it once there are no problems."""
    found = []
    for table in _tables(statement.tree):
        if table is target or not isinstance(table.this, exp.Identifier):
            continue
        start, end = (table.args.get("db") or table.this).meta["start"], table.this.meta["end"] + 1
        if start in statement.blocks:
            found.append(Reference(start, end, None, None if table.alias else "block"))
        elif table.db:
            found.append(Reference(start, end, f"{table.db}.{table.name}".lower(), None if table.alias else f"`{table.name}`"))
        elif table.name.lower() in {view.lower() for view in scope.views} and not _is_cte(table, table.name.lower()):
            found.append(Reference(start, end, table.name.lower(), None if table.alias else f"`{table.name}`"))
    return tuple(sorted(found, key=lambda reference: reference.start))


def offset_of(node: exp.Expr) -> int:
    """Where a node begins: the first word inside it, else inside what holds it."""
    starts = [found.meta["start"] for found in node.walk() if "start" in found.meta]
    return min(starts) if starts else offset_of(node.parent) if node.parent else 0


def _tables(tree: exp.Expr) -> Iterator[exp.Table]:
    return (table for table in tree.find_all(exp.Table) if table.find_ancestor(exp.Hint) is None)


def _table_problems(table: exp.Table, statement: Statement, scope: Scope, declared: Collection[str]) -> Iterator[tuple[int, str]]:
    offset = offset_of(table)
    if extra := [part for part, value in table.args.items() if value and part not in _TABLE_PARTS]:
        yield offset, f"{table.name or 'a table'} with {', '.join(extra)} is not allowed; name it alone"
    elif isinstance(table.this, exp.Func):
        name = (table.this.name if isinstance(table.this, exp.Anonymous) else table.this.sql_name()).lower()
        if name not in TABLE_FUNCTIONS:
            yield offset, f"the function {name} is not allowed as a table; allowed are {', '.join(sorted(TABLE_FUNCTIONS))}"
    elif not isinstance(table.this, exp.Identifier):
        yield offset, "a table must be named by its name"
    elif (following := _word_behind(table.this, statement)) and following.token_type is TokenType.STAR:
        yield following.start, "a star behind a table"  # sqlglot passes over it
    elif offset not in statement.blocks:
        yield from _name_problems(table, scope, declared)


def _word_behind(name: exp.Identifier, statement: Statement) -> Token | None:
    return next((word for word in statement.words if word.start > name.meta["end"]), None)


def _name_problems(table: exp.Table, scope: Scope, declared: Collection[str]) -> Iterator[tuple[int, str]]:
    name = ".".join(part.name for part in table.parts).lower()
    if table.db:
        known = name in declared and "." not in table.name
    else:
        known = name in {view.lower() for view in scope.views} or _is_cte(table, name)
    if not known:
        hint = nearest(name, {*declared, *scope.views})
        yield offset_of(table), f"the table {name} {scope.advice.format(hint=hint)}"


def _is_cte(table: exp.Table, name: str) -> bool:
    """True when a WITH around this table, and before it, defines the name."""
    node: exp.Expr = table
    while (parent := node.parent) is not None:
        if isinstance(parent, exp.With):
            earlier = parent.expressions[: next(i for i, cte in enumerate(parent.expressions) if cte is node)]
        else:
            outer = parent.args.get("with_")
            earlier = outer.expressions if outer is not None and outer is not node else []
        if any(cte.alias.lower() == name for cte in earlier):
            return True
        node = parent
    return False


def _words(node: exp.Expr) -> str:
    """`TableSample` as TABLE SAMPLE."""
    return "".join(f" {letter}" if letter.isupper() and i else letter for i, letter in enumerate(type(node).__name__)).upper()
