"""Parameters: each type has one form to be kept in and one literal of Spark SQL."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from dwh_assets.model.parameter import Parameter, ParameterType, canonical, literal, resolve, value_of

GOOD: list[tuple[ParameterType, Any, Any, str]] = [
    ("text", "EU", "EU", "'EU'"),
    ("text", "", "", "''"),
    ("text", "O'Neil", "O'Neil", r"'O\u0027Neil'"),
    ("integer", 7, 7, "7"),
    ("integer", -(2**63), -(2**63), "(-9223372036854775808)"),
    ("number", 0.19, 0.19, "0.19D"),
    ("number", 3, 3.0, "3.0D"),
    ("number", -1e-7, -1e-7, "(-1e-07D)"),
    ("boolean", True, True, "true"),
    ("boolean", False, False, "false"),
    ("date", "2024-01-31", date(2024, 1, 31), "date '2024-01-31'"),
    (
        "timestamp",
        "2024-01-31T01:30:00.5+01:00",
        datetime(2024, 1, 31, 0, 30, 0, 500_000, tzinfo=UTC),
        "timestamp '2024-01-31 00:30:00.500000Z'",
    ),
]


@pytest.mark.parametrize(("type_", "given", "value", "sql"), GOOD)
def test_a_value_keeps_its_type_from_the_file_to_python_and_sql(type_: ParameterType, given: Any, value: Any, sql: str) -> None:
    parameter = Parameter("p", type_, canonical(type_, given))
    assert (value_of(parameter), literal(parameter)) == (value, sql)
    assert type(value_of(parameter)) is type(value)


BAD: list[tuple[ParameterType, Any]] = [
    ("text", 7),
    ("text", True),
    ("text", "a\0b"),
    ("integer", True),
    ("integer", 1.5),
    ("integer", "7"),
    ("integer", 2**63),
    ("number", float("nan")),
    ("number", float("inf")),
    ("number", "0.19"),
    ("boolean", 1),
    ("boolean", "true"),
    ("date", "2024-02-30"),
    ("date", "20240131"),
    ("date", "2024-01-31T00:00:00Z"),
    ("timestamp", "2024-01-31T00:00:00"),
    ("timestamp", "soon"),
    ("timestamp", None),
]


@pytest.mark.parametrize(("type_", "given"), BAD)
def test_a_value_of_another_type_is_refused(type_: ParameterType, given: Any) -> None:
    with pytest.raises(ValueError, match="must be"):
        canonical(type_, given)


@pytest.mark.parametrize("type_", ["integer", "number", "boolean", "date", "timestamp"])
def test_what_was_changed_in_the_store_by_hand_never_becomes_sql(type_: ParameterType) -> None:
    with pytest.raises(ValueError, match=f"the parameter p is not a {type_}"):
        literal(Parameter("p", type_, "1; drop table x"))


def test_the_narrowest_declaration_counts() -> None:
    everywhere = [Parameter("a", "text", "all"), Parameter("b", "text", "all"), Parameter("c", "text", "all")]
    batch = [Parameter("b", "text", "batch"), Parameter("c", "text", "batch")]
    found = resolve(everywhere, batch, [Parameter("c", "text", "module")])
    assert [(p.name, p.value) for p in found] == [("a", "all"), ("b", "batch"), ("c", "module")]
