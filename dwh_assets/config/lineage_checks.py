"""Declared checks: from their forms to `Check`, each with a name that stays when its bounds change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dwh_assets.config.lineage_entries import Entry, Problem
from dwh_assets.config.lineage_forms import CheckForm, DeadLettersForm, ExpectForm, ModuleForm, RowsForm
from dwh_assets.model.module import Check, Module

DEAD_LETTERS = "dead_letters"


def checks_of(forms: list[CheckForm], processor: str) -> tuple[Check, ...]:
    """The declared checks; dead letters are always counted, and warn where nothing else is said."""
    declared = tuple(check for form in forms for check in _checks(form))
    if processor != "ingest" or any(check.kind == "dead_letters" for check in declared):
        return declared
    return (*declared, Check("dead_letters", DEAD_LETTERS, maximum=0, severity="warn"))


def check_problems(entry: Entry[ModuleForm], module: Module) -> Iterator[Problem]:
    """A name stands for one check: people release a block by it."""
    for name, count in Counter(check.name for check in module.checks).items():
        if count > 1:
            yield entry.problem(f"{name} is declared {count} times; keep one", "checks")


def _checks(form: CheckForm) -> Iterator[Check]:
    if form.not_null:
        for column in form.not_null.columns:
            yield Check("not_null", f"not_null({column})", (column,), severity=form.not_null.severity)
    elif form.unique:
        columns = tuple(form.unique.columns)
        yield Check("unique", f"unique({', '.join(columns)})", columns, severity=form.unique.severity)
    elif form.null_ratio:
        ratio = form.null_ratio
        yield Check("null_ratio", f"null_ratio({ratio.column})", (ratio.column,), max_ratio=ratio.max, severity=ratio.severity)
    elif form.rows:
        yield _rows(form.rows)
    elif form.expect:
        yield _expect(form.expect)
    elif form.dead_letters:
        yield _dead_letters(form.dead_letters)


def _rows(rows: RowsForm) -> Check:
    return Check(
        "rows",
        f"rows({', '.join(rows.given)})",
        minimum=rows.min,
        maximum=rows.max,
        min_ratio=rows.min_ratio,
        max_ratio=rows.max_ratio,
        severity=rows.severity,
    )


def _dead_letters(form: DeadLettersForm) -> Check:
    return Check("dead_letters", DEAD_LETTERS, maximum=form.max, max_ratio=form.max_ratio, severity=form.severity)


def _expect(expect: ExpectForm) -> Check:
    return Check(
        "expect", f"expect({expect.name})", predicate=expect.predicate, min_ratio=expect.min_ratio, severity=expect.severity
    )
