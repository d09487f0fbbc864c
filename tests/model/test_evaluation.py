"""The decision tables of D4 and D5, whole: every combination of facts, against the rows of the document in their order."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from dwh_assets.model.evaluation import BatchFacts, LinkState, ModuleFacts, NextRun, evaluate_batch, evaluate_module, skipped

MODULE_TABLE = (
    ("another instance runs", lambda f: f.running is not None, "Abort"),
    ("the link is inactive", lambda f: f.link == "inactive", "Cancel"),
    ("there is no link", lambda f: f.link == "missing", "Abort"),
    ("inactive", lambda f: not f.active, "Cancel"),
    ("cancel was asked for", lambda f: f.asked == "Cancel", "Cancel"),
    ("rollback was asked for", lambda f: f.asked == "Rollback", "Rollback"),
    ("attempts failed since the last success", lambda f: bool(f.failed), "Rollback"),
    ("nothing stands against it", lambda f: True, "Proceed"),
)
BATCH_TABLE = (
    ("another instance runs", lambda f: f.running is not None, "Abort"),
    ("the link is inactive", lambda f: f.link == "inactive", "Cancel"),
    ("inactive", lambda f: not f.active, "Cancel"),
    ("cancel was asked for", lambda f: f.next_run == "Cancel", "Cancel"),
    ("rollback was asked for", lambda f: f.next_run == "Rollback", "Rollback"),
    ("outside of its window", lambda f: not f.window_open, "Cancel"),
    ("the run before failed", lambda f: f.previous == "Failed", "Proceed"),
    ("not yet due", lambda f: not f.due, "Cancel"),
    ("nothing stands against it", lambda f: True, "Proceed"),
)
MODULES = [
    ModuleFacts(running, link, active, asked, failed)
    for running, link, active, asked, failed in product(
        (None, "worker w"), get_args(LinkState), (True, False), get_args(NextRun), ((), (7,), (7, 8, 9))
    )
]
BATCHES = [
    BatchFacts(running, link, active, next_run, previous, then, window, due)
    for running, link, active, next_run, previous, then, window, due in product(
        (None, "instance 3"),
        ("alone", "active", "inactive"),
        (True, False),
        get_args(NextRun),
        (None, "Succeeded", "Failed"),
        ((), ("a.b",)),
        (True, False),
        (True, False),
    )
]


@pytest.mark.parametrize(
    ("evaluate", "table", "facts"), [(evaluate_module, MODULE_TABLE, MODULES), (evaluate_batch, BATCH_TABLE, BATCHES)]
)
def test_every_combination_of_facts_gives_the_first_row_of_the_table_that_fits(evaluate, table, facts) -> None:
    for fact in facts:
        name, _, expected = next(row for row in table if row[1](fact))
        decision = evaluate(fact)
        assert decision.code == expected, (name, fact)
        assert decision.text


@pytest.mark.parametrize(("table", "facts"), [(MODULE_TABLE, MODULES), (BATCH_TABLE, BATCHES)])
def test_every_row_of_the_table_is_the_first_that_fits_some_facts(table, facts) -> None:
    met = {next(row[0] for row in table if row[1](fact)) for fact in facts}
    assert met == {row[0] for row in table}


def test_a_decision_runs_only_as_proceed_or_rollback_and_names_its_execution_code() -> None:
    for fact in MODULES:
        decision = evaluate_module(fact)
        assert decision.runs == (decision.execution_code == "Executing") == (decision.code in ("Proceed", "Rollback"))


def test_a_rollback_names_every_attempt_that_it_rolls_back() -> None:
    assert "7, 8, 9" in evaluate_module(ModuleFacts(failed=(7, 8, 9))).text


def test_a_run_leaves_out_what_succeeded_only_where_it_makes_a_failed_one_good() -> None:
    for fact in BATCHES:
        makes_good = fact.previous == "Failed" and fact.next_run == "Proceed"
        assert skipped(fact) == (fact.succeeded_then if makes_good else ())
