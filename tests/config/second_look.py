"""A second, independent look at a text that the guard let through: what it could do to the server, told by its own rules.

It shares no code with the guard: it cuts the text by Spark's lexer rules as written down here, and judges the tree by a list of
what is dangerous, where the guard goes by a list of what is harmless.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import sqlglot
from sqlglot import exp

BLOCK, NAMES = "seen_block", {"stage.sales": "seen_1", "dim.customer": "seen_2"}
_DANGEROUS = re.compile(
    r"\w*reflect|java_method|input_file_\w+|\w*protobuf\w*|\w*avro\w*|\w*xpath\w*|\w*xml\w*|read_\w+|cloud_files|identifier|table_?|stream"
    r"|\w*load\w*|\w*file\w*|\w*http\w*|\w*jdbc\w*|python\w*|sql_keywords|collations|secret|getenv|\w*udf\w*|version|uuid|\w*rand\w*"
)
_EFFECTS = (
    exp.Command, exp.Create, exp.Insert, exp.Update, exp.Delete,
    exp.Drop, exp.Alter, exp.Set, exp.Use, exp.LoadData, exp.Cache, exp.Uncache, exp.Refresh,
    exp.QueryTransform, exp.Into, exp.MultitableInserts, exp.Copy, exp.Merge, exp.TruncateTable, exp.Analyze, exp.Describe,
    exp.Show, exp.Kill, exp.Transaction, exp.Commit, exp.Rollback, exp.Grant, exp.Directory, exp.TableSample, exp.Version,
    exp.Placeholder, exp.Parameter, exp.SessionParameter, exp.Lock, exp.Declare,
)  # fmt: skip


_WRITES = (exp.Insert, exp.Delete, exp.Merge)
_HEAD = re.compile(r"\s*(insert\s+overwrite(\s+table)?|delete\s+from|merge\s+into)\s+", re.IGNORECASE)
_FILES = "avro|binaryfile|csv|delta|hive|hudi|iceberg|jdbc|json|orc|parquet|text|xml"


def dangers(text: str, write: bool = False) -> list[str]:
    """What is dangerous in a rendered query, or in a write beside that it writes; an empty list if nothing is."""
    return [*_of_words(_code(text), write), *_of_tree(text, write)]


def _code(text: str) -> str:
    """The text without comments, every string as '' and every quoted name as a bare one."""
    out, i = [], 0
    while i < len(text):
        if text.startswith("--", i):
            i = _line_end(text, i)
        elif text.startswith("/*", i) and not text.startswith("/*+", i):
            i = _bracket_end(text, i)
        elif text[i] in "'\"":
            raw = bool(re.search(r"(?<![\w$])[rR]$", text[:i]))
            i = _string_end(text, i, raw)
            out.append("''")
            continue
        elif text[i] == "`":
            end = text.index("`", i + 1)
            bare = re.sub(r"\W", "_", text[i + 1 : end]) or "_"
            bare = "table_" if bare.lower() == "table" else bare  # the word alone begins a query
            out.append(f" {bare}" if out and re.search(r"\w$", out[-1]) else bare)  # select`a` is two words
            i = end + 1
            continue
        else:
            out.append(text[i])
            i += 1
            continue
        out.append(" ")
    return "".join(out)


def _line_end(text: str, i: int) -> int:
    while i < len(text) and text[i] not in "\r\n":
        i += 2 if text.startswith("\\\n", i) else 1
    return i


def _bracket_end(text: str, i: int) -> int:
    depth = 0
    while True:
        if text.startswith("/*", i):
            depth, i = depth + 1, i + 2
        elif text.startswith("*/", i):
            depth, i = depth - 1, i + 2
            if depth == 0:
                return i
        elif i >= len(text):
            raise AssertionError("a comment that Spark would not see the end of")
        else:
            i += 1


def _string_end(text: str, i: int, raw: bool) -> int:
    quote, i = text[i], i + 1
    while text[i] != quote:
        i += 2 if text[i] == "\\" and not raw else 1
    return i + 1


def _of_words(code: str, write: bool) -> Iterator[str]:
    if "${" in code:
        yield "a setting in the text"
    if ";" in code.strip().rstrip(";"):
        yield "several statements"
    begin = r"\s*(insert\s+overwrite|delete|merge)\b" if write else r"[\s(]*(select|with|from|values)\b"
    if not re.match(begin, code, re.IGNORECASE):
        yield "does not begin like a query"
    for table in re.finditer(r"\btable\s+\w", code, re.IGNORECASE):
        if not re.search(r"(\.|\boverwrite)\s*$", code[: table.start()], re.IGNORECASE):
            yield "a table as a query"
    for call in re.finditer(r"([\w.]+)\s*\(", code):
        name = call[1].lower()
        if "." in name and not re.match(r"[\d.]", name) and not (write and _HEAD.fullmatch(code[: call.start()])):
            yield f"a call by a qualified name: {name}"
        if _DANGEROUS.fullmatch(name) and not _is_alias(code, call.start()):
            yield f"a call of {name}"
    if re.search(r"\busing\s*(r?'')", code, re.IGNORECASE) or re.search(r"\bdirectory\s*''", code, re.IGNORECASE):
        yield "a script or a folder"


def _is_alias(code: str, start: int) -> bool:
    """`seen_1 AS name(a, b)`: columns of a table."""
    return bool(re.search(r"(?:\b(?:seen_\w+|as|with)|\)|,)\s*$", code[:start], re.IGNORECASE)) and bool(
        re.match(r"\w+\s*\(\s*[a-z_]\w*(\s*,\s*[a-z_]\w*)*\s*\)", code[start:], re.IGNORECASE)
    )


def _of_tree(text: str, write: bool) -> Iterator[str]:
    trees = sqlglot.parse(text, read="spark")
    if len([tree for tree in trees if tree is not None]) != 1:
        yield "not one tree"
    for tree in filter(None, trees):
        named = {cte.alias.lower() for cte in tree.find_all(exp.CTE)} | {BLOCK, *NAMES.values()}
        target = _target(tree) if write else None
        for node in tree.walk():
            if isinstance(node, _EFFECTS) and not (write and (node is tree or isinstance(node.parent, exp.When))):
                yield type(node).__name__
            if isinstance(node, exp.Table) and not node.find_ancestor(exp.Hint):
                yield from _of_target(node) if node is target else _of_table(node, named)


def _target(tree: exp.Expr) -> exp.Expr | None:
    written = tree.this if isinstance(tree, _WRITES) else None
    return written.this if isinstance(written, exp.Schema) else written


def _of_target(table: exp.Table) -> Iterator[str]:
    if table.args.get("catalog") or not re.fullmatch(rf"(?!({_FILES})\.)[a-z_]\w*\.[a-z_]\w*", _name_of(table), re.IGNORECASE):
        yield f"writes to {table.sql()}"


def _name_of(table: exp.Table) -> str:
    return ".".join(part.name for part in table.parts)


def _of_table(table: exp.Table, named: set[str]) -> Iterator[str]:
    if table.args.get("db") or table.args.get("catalog"):
        yield f"the table {table.sql()}"
    elif isinstance(table.this, exp.Identifier) and table.name.lower() not in named:
        yield f"the table {table.name}"
