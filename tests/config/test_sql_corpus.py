"""A corpus of hostile and of legitimate statements, each through the guard."""

from __future__ import annotations

import re

import pytest

from dwh_assets.model.errors import SqlRefused
from tests.config.sql_corpus import CHECKS, Case, corpus

HOSTILE, LEGITIMATE = corpus("hostile"), corpus("legitimate")


@pytest.mark.parametrize("case", HOSTILE, ids=str)
def test_a_hostile_statement_is_refused_for_the_reason_of_its_kind(case: Case) -> None:
    with pytest.raises(SqlRefused) as refused:
        CHECKS[case.checker](case.text)
    assert re.search(case.reason, str(refused.value))


@pytest.mark.parametrize("case", LEGITIMATE, ids=str)
def test_a_legitimate_statement_passes(case: Case) -> None:
    CHECKS[case.checker](case.text)


def test_both_corpora_are_large_and_hold_nothing_twice() -> None:
    for cases in (HOSTILE, LEGITIMATE):
        texts = [(case.checker, case.text) for case in cases]
        assert len(texts) == len(set(texts)) >= 200
