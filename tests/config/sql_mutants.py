"""Statements made of pieces of the two corpora: honest ones with something hostile in them, cut, doubled and put together."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from tests.config.sql_corpus import corpus

_WORD = re.compile(r"\{\{.*?\}\}|\w+|`[^`]*`?|'[^']*'?|\s+|.", re.DOTALL)
_LEGITIMATE, _HOSTILE = corpus("legitimate"), [case.text for case in corpus("hostile")]
_PIECES = [
    "reflect('a', 'b')", "java_method", "reflect", "(", ")", "'", '"', "`", "--", "/*", "*/", "/*+", "\n", "\\", ";",
    "{{ block }}", "${env:HOME}", "text.`/etc/passwd`", "csv.`/x`", "secret.t", "union", "select", "from", "using 'cat'",
    "using r'cat'", 'using R"cat"', "using x'00'", "reduce (id) using r'cat'", "map (id) using 'cat'", "(table x)",
    "n'x'", "b'x'", "u&'x'", "e'x'", "'a' 'b'", "`a -- b`", "`/* a`", "table x",
    "transform", "map", "reduce", "insert overwrite directory '/x'", "insert into x.y", "into x", "set x = 1",
    "add jar '/x'", "with z as (", "lateral view", "table", "identifier('x')", "r'\\'", "x'00'", "$", "@", ".", ",", "=>",
    "->", "::", ":", "|>", "as", "tablesample", "version as of 1", "values", "stream", "builtin.", "`reflect`", "\u200b",
    "\u00e9", "0", "exists", "any", "filter", "over", "pivot", "if", "array", "struct",
]  # fmt: skip


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


@st.composite
def mutants(draw: st.DrawFn, checker: str = "query") -> str:
    """An honest text for this checker after some changes; often still one, often no longer honest."""
    honest = [case.text for case in _LEGITIMATE if case.checker == checker]
    words = _words(draw(st.sampled_from(honest)))
    others = _words(draw(st.sampled_from(_HOSTILE + honest)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(words)))
        change = draw(st.sampled_from(("insert", "replace", "drop", "splice", "double")))
        if change == "insert":
            words[at:at] = [draw(st.sampled_from(("", " "))), draw(st.sampled_from(_PIECES)), draw(st.sampled_from(("", " ")))]
        elif change == "replace":
            words[at : at + 1] = [draw(st.sampled_from(_PIECES))]
        elif change == "drop":
            del words[at : at + draw(st.integers(1, 3))]
        elif change == "splice":
            start = draw(st.integers(0, len(others)))
            words[at:at] = others[start : start + draw(st.integers(1, 12))]
        else:
            words[at:at] = words[at : at + draw(st.integers(1, 5))]
    return "".join(words)
