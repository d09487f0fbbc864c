"""What in a SQL text is code, string, quoted name or comment, by Spark's own rules.

The guard parses with sqlglot, but Spark runs the text. A text that the two would cut into different words could hide a call in
what only one of them takes for a comment or a string. So the text is cut here a second time, and both must agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sqlglot import Token, TokenType

# What begins like a hint is none of the comments, also where sqlglot takes it for one: Spark reads the words and strings inside.
_PIECE = re.compile(
    r"""(?P<h>/\*\+[\w\s,().]*\*/)
      | (?P<c>--[^\r\n]*|/\*(?!\+)(?:(?!/\*)(?!\*/).)*\*/)
      | (?P<s>(?<![\w$])[rR](?:'[^']*'|"[^"]*")|(?:(?<![\w$])[xX])?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))
      | (?P<q>`(?:[^`]|``)*`)
      | (?P<p>\{\{[ \t]*block[ \t]*\}\})
      | (?P<v>\{\{[ \t]*param\.[A-Za-z_]\w*[ \t]*\}\})
      | (?P<w>[A-Za-z0-9_\s.,()\[\]<>=!+\-*/%&|^~:;])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?(?:bd|[lsyfd])?(?![\w.])", re.IGNORECASE | re.ASCII)
_NUMBER_BEGINS = re.compile(r"(?<![\w.])\.?\d", re.ASCII)
_LOOSE_DOT = re.compile(r"(?<!\d)\.(?!\s*[\w*])|(?<=\d)\.(?=\s*[({])", re.ASCII)
_LOOSE_COMMA = re.compile(r",(?=\s*(?:[,)\]]|$))", re.ASCII)
_DIGIT_NAME = re.compile(r"(?:(?<!\w)[A-Za-z_]\w*|[)\]])\.\s*\d", re.ASCII)
_COMMENT_END = re.compile(r"\*/")
_WORDLIKE = re.compile(r"[\w'{]", re.ASCII)
_MASKS = {"w": None, "s": "'", "q": "q", "p": "{", "v": "{"}
STRINGS = (TokenType.STRING, TokenType.RAW_STRING, TokenType.HEX_STRING)
_HIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u0085\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def text_problems(text: str) -> Iterator[tuple[int, str]]:
    """What no text may hold, wherever it stands: (offset, reason)."""
    if match := _HIDDEN.search(text):
        yield match.start(), f"holds the invisible character U+{ord(match[0]):04X}; remove it"
    if (offset := text.find("${")) >= 0:
        # Spark puts settings and environment variables in place of ${...} before it parses, even inside strings.
        yield offset, "${...} is not allowed: Spark would put settings of the server in its place"
    if match := re.search(r"--[^\r\n]*\\(?=[\r\n])", text):
        yield match.start(), "a comment that ends in a backslash goes on in the next line for Spark; remove the backslash"


def word_problems(text: str, classes: str) -> Iterator[tuple[int, str]]:
    """Words of the code that sqlglot passes over or cuts in two, and Spark does not: (offset, reason)."""
    code = "".join(_MASKS.get(kind, " ") or letter for letter, kind in zip(text, classes, strict=True))
    for begin in _NUMBER_BEGINS.finditer(code):
        if not _NUMBER.match(code, begin.start()):
            yield (
                begin.start(),
                "a word that begins with a digit is a name for Spark; put it in backticks, or a space behind the number",
            )
    for name in _DIGIT_NAME.finditer(code):
        yield name.start(), "a name behind a dot that begins with a digit; put it in backticks"
    for dot in _LOOSE_DOT.finditer(code):
        yield dot.start(), "a dot with no name behind it"
    for comma in _LOOSE_COMMA.finditer(code):
        yield comma.start(), "a comma with nothing behind it"
    for end in _COMMENT_END.finditer(code):
        yield end.start(), "the end of a comment that does not begin"
    for name in re.finditer("q+", classes):
        if _WORDLIKE.search(code[: name.start()][-1:] + code[name.end() :][:1]):
            yield name.start(), "a name in backticks stands against another word; put a space between them"


def classify(text: str) -> tuple[str, int | None]:
    """A letter a character: w code, s string, q quoted name, c comment, h hint, p {{ block }}, v parameter; then where stuck."""
    classes: list[str] = []
    offset = 0
    while offset < len(text):
        match = _PIECE.match(text, offset)
        if match is None or match.lastgroup is None or (text.startswith("/*", offset) and match.lastgroup == "w"):
            return "".join(classes), offset
        classes.append(match.lastgroup * len(match[0]))
        offset = match.end()
    return "".join(classes), None


def disagreement(text: str, classes: str, tokens: Sequence[Token]) -> int | None:
    """The first place that sqlglot's words and Spark's see differently; none when they agree."""
    end = 0
    for token in tokens:
        if token.start >= end and (gap := _first_other(text, classes, end, token.start, gap=True)) is not None:
            return gap
        if (other := _first_other(text, classes, token.start, token.end + 1, wanted=_class_of(token))) is not None:
            return other
        end = max(end, token.end + 1)
    return _first_other(text, classes, end, len(text), gap=True)


def _class_of(token: Token) -> str:
    if token.token_type in STRINGS:
        return "s"
    return {TokenType.IDENTIFIER: "q", TokenType.HINT: "h"}.get(token.token_type, "w")


def _first_other(text: str, classes: str, start: int, end: int, wanted: str = "", gap: bool = False) -> int | None:
    for offset in range(start, end):
        fits = classes[offset] == "c" or (classes[offset] == "w" and text[offset].isspace()) if gap else classes[offset] == wanted
        if not fits:
            return offset
    return None
