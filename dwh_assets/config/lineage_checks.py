"""Declared checks: from their forms to `Check`, each with a name that stays when its bounds change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dwh_assets.config.lineage_entries import Entry, Problem
from dwh_assets.config.lineage_forms import CheckForm, ExpectForm, ModuleForm, RowsForm
from dwh_assets.model.module import Check, Module


def checks_of(forms: list[CheckForm]) -> tuple[Check, ...]:
    return tuple(check for form in forms for check in _checks(form))


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


def _expect(expect: ExpectForm) -> Check:
    return Check(
        "expect", f"expect({expect.name})", predicate=expect.predicate, min_ratio=expect.min_ratio, severity=expect.severity
    )
