"""Words with nothing behind them, and words that stand for nothing: sqlglot reads on where Spark takes them for names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import Token, TokenType, exp

from dwh_assets.config.sql_functions import FUNCTIONS, GRAMMAR_WORDS
from dwh_assets.config.sql_parse import Statement
from dwh_assets.config.sql_tables import offset_of
from dwh_assets.config.sql_text import STRINGS

_NAME = re.compile(r"[a-z_`]|\{\{", re.IGNORECASE | re.ASCII)
_CLAUSES = {
    "select", "all", "distinct", "from", "where", "group by", "having", "qualify", "order by", "sort by", "distribute by",
    "cluster by", "limit", "offset", "join", "on", "using", "lateral", "union", "intersect", "except", "minus", "as",
    "table", "into", "overwrite",
}  # fmt: skip
_CONNECTORS = {"and", "or", "not", "in", "between", "like", "case", "when", "then", "else"}
_WHOLE = (*STRINGS, TokenType.IDENTIFIER, TokenType.NUMBER)
_ENDS = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.GT)  # the last as in a::array<int> AS b
_BEGINS = (TokenType.L_PAREN, TokenType.PLUS, TokenType.DASH, TokenType.TILDE)
_SOURCES = (exp.Table, exp.Subquery, exp.Values, exp.Lateral)
_QUERY = {"with_", "order", "sort", "distribute", "cluster", "limit", "offset", "windows"}
_PARTS: dict[type[exp.Expr], set[str]] = {
    exp.Select: {
        *_QUERY, "expressions", "hint", "distinct", "from_", "laterals", "joins", "where", "group", "having", "qualify"
    },
    exp.SetOperation: {*_QUERY, "this", "expression", "distinct", "by_name"},
    exp.Subquery: {*_QUERY, "this", "alias", "pivots", "joins", "laterals"},
    exp.Values: {"expressions", "alias", "order", "limit", "offset", "pivots"},
    exp.Join: {"this", "on", "side", "kind", "using", "method", "pivots"},
    exp.Lateral: {"this", "view", "outer", "alias"},
    exp.CTE: {"this", "alias"},
}  # fmt: skip


def gap_problems(statement: Statement) -> Iterator[tuple[int, str]]:
    """Where the tree holds more or less than the words say: (offset, reason)."""
    yield from _of_words(statement.words)
    yield from _of_selects(statement)
    for node in statement.tree.walk(prune=lambda node: isinstance(node, exp.Hint)):  # in a hint, places count from its beginning
        yield from ((offset_of(node), reason) for reason in _of_node(node, statement.text))


def _of_words(words: tuple[Token, ...]) -> Iterator[tuple[int, str]]:
    for i, word in enumerate(words):
        after = words[i + 1] if i + 1 < len(words) else None
        is_number = after is not None and after.token_type is TokenType.NUMBER  # .5
        if word.token_type is TokenType.DOT and not (is_number or _ends_a_value(words, i - 1)):
            yield word.start, "a dot with no name before it"
        if _is_column(words, i):
            continue
        if word.token_type is TokenType.ALIAS and not (_ends_a_value(words, i - 1) and _begins_a_name(after)):
            yield word.start, "AS must stand between a value and its name"
        if word.token_type in (TokenType.AND, TokenType.OR) and not _ends_a_value(words, i - 1):
            yield word.start, f"{word.text.upper()} has nothing before it"
        if word.token_type is TokenType.STAR and _ends_a_value(words, i - 1) and not _begins_a_value(after):
            yield word.start, "the star has nothing behind it"
        if _is_empty(words[i : i + 3]):
            yield word.start, f"{word.text.upper()} has nothing in its parentheses"


def _is_empty(words: tuple[Token, ...]) -> bool:
    """NOT () is a call for Spark."""
    brackets = [word.token_type for word in words[1:]] == [TokenType.L_PAREN, TokenType.R_PAREN]
    return brackets and words[0].text.lower() in GRAMMAR_WORDS - FUNCTIONS - {"over", "as"}


def _of_selects(statement: Statement) -> Iterator[tuple[int, str]]:
    """Each SELECT of the tree is one that somebody wrote, and the other way round."""
    words = statement.words
    written = [w for i, w in enumerate(words) if w.token_type is TokenType.SELECT and not _is_column(words, i)]
    if len(written) != sum(1 for _ in statement.tree.find_all(exp.Select)):
        yield written[-1].start if written else 0, "the query needs one SELECT, and each further one parentheses of its own"


def _of_node(node: exp.Expr, text: str) -> Iterator[str]:
    if isinstance(node, exp.Select) and not node.expressions:
        yield "SELECT has nothing behind it"
    if isinstance(node, (exp.From, exp.Join)) and not isinstance(node.this, _SOURCES):
        yield "FROM and JOIN need the name of a table, or a query in parentheses"
    if isinstance(node, exp.Identifier) and "start" in node.meta and not _NAME.match(text, node.meta["start"]):
        yield f"{node.name} is no name; write it in backticks"
    if isinstance(node, exp.Values) and isinstance(node.parent, (exp.Condition, exp.Tuple)):
        yield "VALUES may only stand where a table stands"
    if isinstance(node, exp.Anonymous) and node.name.lower() in GRAMMAR_WORDS - FUNCTIONS:
        yield f"{node.name.upper()} is a word of the grammar; it is not a function"
    if isinstance(node, exp.Aliases) and isinstance(node.this, exp.Column):
        yield f"{node.this.name} is no function; it cannot have several names"
    for kind, parts in _PARTS.items():
        if isinstance(node, kind) and (extra := [part for part, value in node.args.items() if value and part not in parts]):
            yield f"{', '.join(extra)} is not allowed here"


def _is_column(words: tuple[Token, ...], i: int) -> bool:
    return i > 0 and words[i - 1].token_type is TokenType.DOT


def _ends_a_value(words: tuple[Token, ...], i: int) -> bool:
    if i < 0 or _is_column(words, i):
        return i >= 0
    word = words[i]
    connects = word.token_type not in _WHOLE and word.text.lower() in _CONNECTORS
    return word.token_type in _ENDS or (_is_word(word) and not connects)


def _begins_a_value(word: Token | None) -> bool:
    return word is not None and (word.token_type in _BEGINS or _is_word(word))


def _begins_a_name(word: Token | None) -> bool:
    return word is not None and (word.token_type is TokenType.L_PAREN or _is_word(word))


def _is_word(word: Token) -> bool:
    """A name, a number or a string, or a word of the grammar that does not begin a clause."""
    if word.token_type in _WHOLE:
        return True
    return word.text[:1].isidentifier() and word.text.lower() not in _CLAUSES and word.token_type is not TokenType.HINT
