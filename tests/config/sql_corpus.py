"""The corpora for the guard: texts that end with `;;`, under headings `## checker | kind | reason`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dwh_assets.config.sql_guard import check_aggregate, check_predicate, check_query, check_view, check_write

TABLES = ("stage.sales", "dim.customer")
CHECKS: dict[str, Callable[[str], object]] = {
    "query": lambda text: check_query(text, TABLES, "x.sql"),
    "view": lambda text: check_view(text, TABLES, "x.sql"),
    "write": lambda text: check_write(text, TABLES, "x.sql"),
    "predicate": check_predicate,
    "aggregate": check_aggregate,
}


@dataclass(frozen=True)
class Case:
    checker: str
    kind: str
    reason: str  # a pattern of what the refusal may say
    text: str

    def __str__(self) -> str:
        return f"{self.checker}, {self.kind}: {self.text}"


def corpus(name: str) -> list[Case]:
    lines = (Path(__file__).parent / "corpus" / f"{name}.sql").read_text(encoding="utf-8")
    cases = []
    for group in re.split(r"^## ", lines, flags=re.MULTILINE)[1:]:
        heading, _, texts = group.partition("\n")
        checker, kind, *reason = (part.strip() for part in heading.split(" | "))
        found = re.split(r"[ ]?;;\n", texts)
        cases += [Case(checker, kind, "".join(reason), text.lstrip("\n")) for text in found if text.strip()]
    return cases
