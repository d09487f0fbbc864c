"""Rows that were expected against rows that came."""

from __future__ import annotations

from dwh_assets.model.row_diff import compare


def test_the_order_of_rows_does_not_matter_and_doubles_do() -> None:
    one, two = {"k": 1, "v": "a"}, {"k": 2, "v": "b"}
    assert compare([one, two], [two, one]).empty
    diff = compare([one, one], [one])
    assert (diff.missing, diff.extra, diff.changed) == ((one,), (), ())


def test_a_row_that_changed_is_set_against_the_one_that_has_most_in_common() -> None:
    expected = [{"k": 1, "v": "a", "n": 5}, {"k": 2, "v": "b", "n": 5}]
    given = [{"k": 2, "v": "x", "n": 5}, {"k": 1, "v": "a", "n": 6}]
    lines = list(compare(expected, given).lines())
    assert lines == ["differs (k 1, v 'a'): n: expected 5, got 6", "differs (k 2, n 5): v: expected 'b', got 'x'"]


def test_rows_with_nothing_in_common_are_missing_and_not_expected() -> None:
    diff = compare([{"k": 1, "v": None}], [{"k": 2, "v": 0}])
    assert list(diff.lines()) == ["missing: k 1, v None", "not expected: k 2, v 0"]


def test_the_last_digits_of_a_sum_do_not_differ() -> None:
    assert compare([{"x": 0.3}], [{"x": 0.1 + 0.2}]).empty
    assert not compare([{"x": 0.3}], [{"x": 0.31}]).empty
    assert compare([{"x": float("nan")}], [{"x": float("nan")}]).empty
