"""The guard: SQL is parsed before Spark sees it. One statement, declared tables, listed functions; unknown means refused."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TypeGuard

from sqlglot import exp

from dwh_assets.config.sql_functions import AGGREGATES, FORMATS, FUNCTIONS, TABLE_FUNCTIONS, WINDOWS
from dwh_assets.config.sql_gaps import gap_problems
from dwh_assets.config.sql_names import calls, function_problems, hint_problems
from dwh_assets.config.sql_parse import Statement, parse_statement, refused
from dwh_assets.config.sql_query import Query
from dwh_assets.config.sql_tables import Scope, node_problems, references_of, table_problems
from dwh_assets.config.sql_text import classify

_VIEW = re.compile(r"\s*create\s+(?:or\s+replace\s+)?temp(?:orary)?\s+view\s+([a-z_]\w*)\s+as(?=[\s(])", re.IGNORECASE | re.ASCII)
_PLAIN = re.compile(r"[a-z_]\w*", re.IGNORECASE | re.ASCII)
_BEGINNINGS = ("select", "with", "from", "values", "(")
_SCALARS = FUNCTIONS - AGGREGATES - TABLE_FUNCTIONS - WINDOWS


def check_query(text: str, allowed_tables: Collection[str], name: str, views: Collection[str] = ()) -> Query:
    """The one query of a text, or `SqlRefused` with everything that is wrong with it."""
    return _query(text, name, Scope(allowed_tables, views))


def check_question(text: str, tables: Collection[str]) -> Query:
    """The one query that a person asks by hand, of any of these tables."""
    query = _query(text, "sql", Scope(tables, advice="does not exist{hint}; `dwh sql` alone, then \\d, lists them all"))
    if query.uses_block:
        raise refused("sql", text, [(0, "{{ block }} is for transforms; name a table")])
    return query


def _query(text: str, name: str, scope: Scope) -> Query:
    statement = parse_statement(text, name)
    tree = statement.tree.unnest() if isinstance(statement.tree, exp.Subquery) else statement.tree
    if not isinstance(tree, (exp.Select, exp.SetOperation, exp.Values)):
        raise refused(name, text, [(0, f"is not a query but {type(tree).__name__.upper()}; exactly one SELECT is allowed")])
    if statement.words[0].text.lower() not in _BEGINNINGS:  # sqlglot passes over some words that Spark does not
        raise refused(name, text, [(statement.words[0].start, "does not begin with SELECT, WITH, FROM or VALUES")])
    statement.refuse(_problems(statement, scope))
    return Query(name, statement.text, references_of(statement, scope))


def check_view(text: str, allowed: Collection[str], name: str, views: Collection[str] = ()) -> tuple[str, Query]:
    """Name and query of a CREATE TEMPORARY VIEW."""
    match = _VIEW.match(_without_comments(text))
    if match is None:
        raise refused(name, text, [(0, "must be CREATE [OR REPLACE] TEMPORARY VIEW name AS query, or be declared idempotent")])
    head = "".join(letter if letter == "\n" else " " for letter in text[: match.end()])
    return match[1].lower(), check_query(head + text[match.end() :], allowed, name, views)


def check_write(text: str, allowed: Collection[str], name: str, views: Collection[str] = ()) -> Query:
    """A write that its author declares idempotent: MERGE, DELETE or INSERT OVERWRITE of one table that is named db.table."""
    statement, scope = parse_statement(text, name), Scope(allowed, views)
    tree = statement.tree
    if not (isinstance(tree, (exp.Merge, exp.Delete)) or (isinstance(tree, exp.Insert) and tree.args.get("overwrite"))):
        raise refused(
            name, text, [(0, "is not an idempotent write; allowed are MERGE INTO, DELETE FROM and INSERT OVERWRITE db.table")]
        )
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    if not _is_plain(target):
        raise refused(name, text, [(0, "must write to a table named db.table, in plain words")])
    statement.refuse(_problems(statement, scope, target))
    return Query(name, statement.text, references_of(statement, scope, target), f"{target.db}.{target.name}".lower())


def check_predicate(text: str, name: str = "predicate") -> str:
    """A condition on one row: one expression of scalar functions."""
    _expression(text, name, _SCALARS)
    return text


def check_aggregate(text: str, name: str = "aggregate") -> str:
    """One expression that sums up rows."""
    statement = _expression(text, name, _SCALARS | AGGREGATES)
    if not any(called in AGGREGATES for _, called in calls(statement)):
        raise refused(name, text, [(0, "holds no aggregate; write for example sum(amount)")])
    return text


def _is_plain(target: exp.Expr | None) -> TypeGuard[exp.Table]:
    """A table of the warehouse, named db.table: not files by their path, not a branch of another table."""
    if not (isinstance(target, exp.Table) and target.db and not target.catalog):
        return False
    return target.db.lower() not in FORMATS and all(_PLAIN.fullmatch(word) for word in (target.db, target.name))


def _problems(statement: Statement, scope: Scope, target: exp.Table | None = None) -> Iterator[tuple[int, str]]:
    yield from node_problems(statement, write=target is not None)
    yield from table_problems(statement, scope, target)
    yield from function_problems(statement)
    yield from hint_problems(statement)
    yield from gap_problems(statement)


def _expression(text: str, name: str, functions: Collection[str]) -> Statement:
    """It will stand inside other SQL, so it must be one value when it stands alone and hold nothing that could end it."""
    classes, _ = classify(text)
    if "c" in classes or "h" in classes or ";" in text or not text.strip():
        raise refused(name, text, [(0, "must be one expression without comments and semicolons")])
    statement = parse_statement(f"SELECT {text}", name)
    tree = statement.tree
    given = {part for part, value in tree.args.items() if value}
    quantified = statement.words[1].text.lower() in ("all", "distinct")
    if (
        not isinstance(tree, exp.Select)
        or given != {"expressions"}
        or len(tree.expressions) != 1
        or quantified
        or statement.blocks
    ):
        raise refused(name, text, [(0, "must be exactly one expression")])
    if isinstance(tree.expressions[0], (exp.Alias, exp.Aliases, exp.Star)) or tree.expressions[0].find(
        exp.Query, exp.Window, exp.Table
    ):
        raise refused(name, text, [(0, "must be one expression without alias, subquery and OVER")])
    if parse_statement(f"SELECT ({text})", name).tree.expressions[0].unnest() != tree.expressions[0].unnest():
        raise refused(name, text, [(0, "means something else inside parentheses; write it more plainly")])
    statement.refuse([*node_problems(statement), *function_problems(statement, functions), *gap_problems(statement)])
    return statement


def _without_comments(text: str) -> str:
    classes, _ = classify(text)
    return "".join(" " if kind == "c" and letter != "\n" else letter for letter, kind in zip(text, classes, strict=False))
