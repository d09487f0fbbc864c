"""Which functions a statement calls, told from its words: whatever stands before a parenthesis."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from sqlglot import Token, TokenType, exp

from dwh_assets.config.lineage_fields import nearest
from dwh_assets.config.sql_functions import FUNCTIONS, GRAMMAR_WORDS, HINTS, REASONS
from dwh_assets.config.sql_parse import Statement
from dwh_assets.config.sql_text import STRINGS

_LIKES = (TokenType.LIKE, TokenType.ILIKE, TokenType.RLIKE)
_WORD = re.compile(r"[A-Za-z_]\w*")


def calls(statement: Statement) -> Iterator[tuple[Token, str]]:
    """Each word before a parenthesis that is a call: not grammar, not the alias of a table with columns."""
    aliases = set(_alias_offsets(statement.tree))
    for before, word, after in _triples(statement.words):
        if after is None or after.token_type is not TokenType.L_PAREN or word.start in aliases:
            continue
        if before is not None and before.token_type in _LIKES and word.text.lower() in ("all", "any", "some"):
            continue  # LIKE ANY (...) is grammar, any(x) is a call
        quoted = word.token_type is TokenType.IDENTIFIER
        if quoted or _WORD.fullmatch(word.text):
            qualified = before is not None and before.token_type is TokenType.DOT
            name = word.text.lower()
            if qualified or quoted or name in FUNCTIONS or name not in GRAMMAR_WORDS:
                yield word, f"{'.' if qualified else ''}{name}"


def function_problems(statement: Statement, allowed: Collection[str] = FUNCTIONS) -> Iterator[tuple[int, str]]:
    """Calls of what is not listed: (offset, reason)."""
    for word, name in calls(statement):
        if name.startswith("."):
            yield word.start, f"the function {name[1:]} is called with a qualified name; write its name alone"
        elif name not in allowed:
            yield word.start, _reason(name, allowed)
    for before, word, _ in _triples(statement.words):
        if before is not None and before.token_type is TokenType.USING and word.token_type in STRINGS:
            yield before.start, "USING with a script is not allowed"


def hint_problems(statement: Statement) -> Iterator[tuple[int, str]]:
    for hint in statement.tree.find_all(exp.Hint):
        for entry in hint.expressions:
            if (name := _hint_name(entry)) not in HINTS:
                offset = next((w.start for w in statement.words if w.token_type is TokenType.HINT), 0)
                yield offset, f"the hint {name} is not allowed; allowed are {', '.join(sorted(HINTS))}"


def _hint_name(entry: exp.Expr | str) -> str:
    if isinstance(entry, str):
        return entry.lower()  # a hint that the parser does not understand stays a piece of text
    if isinstance(entry, exp.Func) and not isinstance(entry, exp.Anonymous):
        return entry.sql_name().lower()  # a hint named like a function, as coalesce(2)
    return str(entry.name or entry.this).lower()


def _reason(name: str, allowed: Collection[str]) -> str:
    if name in REASONS:
        return f"the function {name} is not allowed: it {REASONS[name]}"
    if name in FUNCTIONS:
        return f"the function {name} is not allowed here"
    return f"the function {name} is not allowed{nearest(name, allowed)}; only listed built-in functions are"


def _triples(words: tuple[Token, ...]) -> Iterator[tuple[Token | None, Token, Token | None]]:
    for i, word in enumerate(words):
        yield words[i - 1] if i else None, word, words[i + 1] if i + 1 < len(words) else None


def _alias_offsets(tree: exp.Expr) -> Iterator[int]:
    for alias in tree.find_all(exp.TableAlias):
        if isinstance(alias.this, exp.Identifier) and alias.columns and "start" in alias.this.meta:
            yield alias.this.meta["start"]
