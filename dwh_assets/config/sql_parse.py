"""One SQL statement as sqlglot's words and tree, once it is certain that Spark would cut the text into the same words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from dwh_assets.config.sql_text import classify, disagreement, line_of, text_problems, word_problems
from dwh_assets.model.errors import SqlRefused

_PLACEHOLDER = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_BLOCK_NAME = "_dwh_blk"  # shorter than {{block}}, so that it can be padded to the same length
_SLIPS = (LookupError, AttributeError, TypeError, ValueError)  # of sqlglot on texts that nobody foresaw: refused as well


@dataclass(frozen=True)
class Statement:
    name: str
    text: str
    words: tuple[Token, ...]
    tree: exp.Expr
    blocks: frozenset[int]  # where each {{ block }} starts

    def refuse(self, problems: Iterable[tuple[int, str]]) -> None:
        """Raise all problems, given with their offsets, at once; go on if there are none."""
        if found := list(problems):
            raise refused(self.name, self.text, found)


def refused(name: str, text: str, problems: Iterable[tuple[int, str]]) -> SqlRefused:
    lines = tuple(sorted({(line_of(text, offset), reason) for offset, reason in problems}))
    return SqlRefused("\n".join(f"{name}:{line}: {reason}" for line, reason in lines), lines)


def parse_statement(text: str, name: str) -> Statement:
    """The one statement of a text; several, none or one that cannot be trusted is refused."""
    if problems := [*text_problems(text)]:
        raise refused(name, text, problems)
    classes, stuck = classify(text)
    if stuck is not None:
        raise refused(name, text, [(stuck, _why_stuck(text, stuck))])
    if (offset := classes.find("v")) >= 0:
        raise refused(name, text, [(offset, "holds a parameter without a value")])
    if problems := [*word_problems(text, classes)]:
        raise refused(name, text, problems)
    blocks = frozenset(m.start() for m in _PLACEHOLDER.finditer(text) if classes[m.start()] == "p")
    plain = re.sub(r"\{\{[ \t]*block[ \t]*\}\}", lambda m: _stand_in(m, classes), text)
    words = _words(plain, text, name)
    if (offset := disagreement(plain, classes.replace("p", "w"), words)) is not None:
        raise refused(name, text, [(offset, f"{text[offset : offset + 10]!r} can be read in two ways; write it more plainly")])
    spans = {(word.start, word.end + 1) for word in words}
    if glued := [m.start() for m in _PLACEHOLDER.finditer(text) if m.start() in blocks and m.span() not in spans]:
        raise refused(name, text, [(offset, "{{ block }} may only stand where a table stands, alone") for offset in glued])
    semicolons = [word for word in words if word.token_type is TokenType.SEMICOLON]
    if semicolons and (semicolons[0] is not words[-1] or len(words) == 1):
        raise refused(name, text, [(semicolons[0].end, "holds several statements; exactly one is allowed")])
    if semicolons:
        plain = plain[: semicolons[0].start] + " " + plain[semicolons[0].end + 1 :]
        text = text[: semicolons[0].start] + " " + text[semicolons[0].end + 1 :]
    return Statement(name, text, tuple(w for w in words if w not in semicolons), _tree(plain, text, name), blocks)


def _stand_in(match: re.Match[str], classes: str) -> str:
    return _BLOCK_NAME.ljust(len(match[0]), "_") if classes[match.start()] == "p" else match[0]


def _why_stuck(text: str, offset: int) -> str:
    if match := _PLACEHOLDER.match(text, offset):
        return f"{match[0]} is not known; only {{{{ block }}}} and {{{{ param.name }}}} are"
    if text.startswith("/*+", offset):
        return "a hint may hold names, numbers and commas only; this one is not allowed"
    if text.startswith("/*", offset):
        return "a comment that is not closed, or holds another comment; write it more plainly"
    if text[offset] in "'\"`":
        return f"{text[offset]} is not closed"
    return f"the character {text[offset]!r} is not allowed outside strings, quoted names and comments"


def _words(plain: str, text: str, name: str) -> list[Token]:
    if _BLOCK_NAME in text.lower():
        raise refused(name, text, [(text.lower().index(_BLOCK_NAME), f"the name {_BLOCK_NAME} is reserved")])
    try:
        words = list(sqlglot.tokenize(plain, read="spark"))
    except (SqlglotError, *_SLIPS):
        raise refused(name, text, [(0, "cannot be cut into words; is a quote not closed?")]) from None
    if not words:
        raise refused(name, text, [(0, "is empty; exactly one query is needed")])
    if words[0].token_type is TokenType.COMMAND:
        raise refused(
            name, text, [(words[0].start, f"is not a query but {words[0].text.upper()}; exactly one SELECT is allowed")]
        )
    return words


def _tree(plain: str, text: str, name: str) -> exp.Expr:
    try:
        trees = sqlglot.parse(plain, read="spark")
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        line = first.get("line") or 1
        reason = f"cannot be parsed: {first.get('description', 'syntax error').rstrip('.')}"
        near = f", near {first['highlight']!r}" if first.get("highlight") else ""
        raise SqlRefused(f"{name}:{line}: {reason}{near}", ((line, reason + near),)) from None
    except (SqlglotError, RecursionError, *_SLIPS):
        raise refused(name, text, [(0, "cannot be parsed: too deeply nested or not SQL")]) from None
    if len(trees) != 1 or trees[0] is None:
        raise refused(name, text, [(0, f"holds {len(trees)} statements; exactly one is allowed")])
    return trees[0]
