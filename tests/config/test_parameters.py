"""Parameters in Lineage files and in SQL: declared, typed, and each one literal whatever it holds."""

from __future__ import annotations

import pytest
from sqlglot import exp, parse_one

from dwh_assets.config.lineage_files import lineage_schema
from dwh_assets.config.parameter_forms import override_problems
from dwh_assets.config.sql_guard import check_predicate, check_query
from dwh_assets.config.sql_parameters import bound, with_values
from dwh_assets.model.errors import SqlRefused
from dwh_assets.model.module import Action, Check, Module
from dwh_assets.model.parameter import Parameter
from tests.config.conftest import Project

MODULE = "table: fact.sales\ndepends_on: [stage.sales]\n"
HOSTILE = [
    "'; drop table fact.sales; --",
    "\\' or 1=1 --",
    "\\",
    "\\\\'",
    "' union select * from secret.t where '' = '",
    "a\nb\r\n-- c",
    "*/ /* x",
    "\u2019 or \u02bc1\uff07=1",
    '" or ""="',
    "`x`",
    "{{ block }} {{ param.other }}",
    "${env:HOME}",
    "\u200b\u202e\u2028\x01\x1a",
    "\U0001f600 ümlaut",
    "%_\\%",
]


def test_parameters_for_all_and_of_a_module_are_read_typed(project: Project) -> None:
    project.write(
        "lineage/parameters.yaml",
        """\
        region: {type: text, value: EU, description: where we sell}
        since: {type: date, value: 2024-01-31}
        """,
    )
    project.write("lineage/fact/sales.yaml", MODULE + "parameters:\n  least: {type: number, value: 10}\nallow_truncate: true\n")
    lineage = project.load()
    assert lineage.parameters == (Parameter("region", "text", "EU", "where we sell"), Parameter("since", "date", "2024-01-31"))
    [module] = lineage.modules
    assert module.parameters == (Parameter("least", "number", "10.0"),)
    assert module.allow_truncate
    assert "parameters" in lineage_schema()["$defs"]


BAD_FILES = [
    ("Region: {type: text, value: EU}", 1, "parameters.Region", "is not the name of a parameter"),
    ("a: {type: text, value: x}\nb: {type: txt, value: x}", 2, "parameters.b.type", "allowed are 'text', 'integer'"),
    ("a:\n  type: integer\n  value: 1.5", 3, "parameters.a.value", "must be a whole number"),
    ("a: {type: text}", 1, "parameters.a.value", "is required"),
    ("a: {type: text, value: x, valu: y}", 1, "parameters.a.valu", "(did you mean value?); allowed are type, value, description"),
    ("a: 5", 1, "parameters.a", "must be a mapping of field: value"),
    ("- a", 1, "parameters", "must be a mapping of name: value"),
    ("a: {type: text, value: postgres://me:secret@host/db}", 1, "parameters.a.value", "holds a URL with a password"),
]


@pytest.mark.parametrize(("text", "line", "field", "reason"), BAD_FILES)
def test_a_bad_parameter_is_named_with_file_line_and_field(
    project: Project, text: str, line: int, field: str, reason: str
) -> None:
    project.write("lineage/parameters.yaml", text).write("lineage/fact/sales.yaml", MODULE)
    [problem] = project.problems()
    assert problem.startswith(f"lineage/parameters.yaml:{line}: {field}: ")
    assert reason in problem


def test_an_undeclared_parameter_is_named_with_its_line_and_near_names(project: Project) -> None:
    project.write("lineage/parameters.yaml", "region: {type: text, value: EU}\n")
    project.write("sql/transforms/fact/sales.sql", "select *\nfrom {{ block }}\nwhere r = {{ param.regin }}")
    project.write("lineage/fact/sales.yaml", MODULE + "expect:\n  good: amount > {{ param.least }}\n")
    assert project.problems() == [
        "lineage/fact/sales.yaml:4: expect.good: the parameter least is not declared; "
        "declare it in lineage/parameters.yaml or under parameters in the module's file",
        "sql/transforms/fact/sales.sql:3: the parameter regin is not declared (did you mean region?); "
        "declare it in lineage/parameters.yaml or under parameters in the module's file (module fact.sales)",
    ]


MISPLACED = [
    ("select '{{ param.p }}'", "stands inside quotes"),
    ("select `{{ param.p }}`", "stands inside quotes"),
    ("select r{{ param.p }}", "stands against another word"),
    ("select 1.{{ param.p }}", "stands against another word"),
    ("select {{ param.p }}'x'", "stands against another word"),
    ("select {{ param.p }}{{ param.p }}", "stands against another word"),
    ("select {{ params.p }}", "only {{ block }} and {{ param.name }} are"),
    ("select * from {{ param.p }}", "the table fact.sales is not declared"),
]


@pytest.mark.parametrize(("text", "reason"), MISPLACED)
def test_a_parameter_stands_only_where_a_value_stands(text: str, reason: str) -> None:
    with pytest.raises(SqlRefused, match=reason.replace("{", r"\{")):
        check_query(with_values(text, [Parameter("p", "text", "fact.sales")], "x.sql"), ["fact.sales"], "x.sql")


def test_a_comment_keeps_its_words_and_a_text_without_a_value_is_refused() -> None:
    assert with_values("select 1 -- {{ param.p }}", [], "x.sql") == "select 1 -- {{ param.p }}"
    with pytest.raises(SqlRefused, match="holds a parameter without a value"):
        check_query("select {{ param.p }}", [], "x.sql")


@pytest.mark.parametrize("value", HOSTILE)
def test_a_hostile_value_stays_one_literal_on_its_line(value: str) -> None:
    parameter = Parameter("p", "text", value)
    text = with_values("select a,\n  {{ param.p }} as p\nfrom {{ block }}", [parameter], "x.sql")
    query = check_query(text, ["fact.sales"], "x.sql")
    assert (query.text.count("\n"), query.tables) == (2, ())
    tree = parse_one(query.render({}, "b"), read="spark")
    assert [type(e.unalias()) for e in tree.expressions] == [exp.Column, exp.Literal]  # type: ignore[attr-defined]
    check_predicate(with_values("name = {{ param.p }}", [parameter], "x"))


@pytest.mark.parametrize(
    ("type_", "value"),
    [("integer", "-5"), ("number", "1e-07"), ("number", "-0.5"), ("boolean", "true"), ("date", "2024-01-31")],
)
def test_literals_of_every_type_pass_the_guard_also_behind_a_minus(type_, value) -> None:
    sign = "-" if type_ in ("integer", "number") else ""
    text = with_values(f"select a {sign or ','}{{{{ param.p }}}} as p from {{{{ block }}}}", [Parameter("p", type_, value)], "x")
    assert "--" not in text
    check_query(text, [], "x")


def test_a_bound_module_holds_no_placeholder() -> None:
    module = Module(
        "a.b", "a.b", ("c.d",), before=(Action("create temp view v as select {{ param.p }} as p"),),
        after=(Action("delete from log.a where p = {{param.p}}", idempotent=True),), deleted="x < {{ param.p }}",
        checks=(Check("expect", "e", predicate="x > {{ param.p }}"), Check("rows", "rows(min)", minimum=1)),
        measures={"m": "sum(x * {{ param.p }})"}, expect={"e": "x = {{ param.p }}"},
    )  # fmt: skip
    valued = bound(module, (Parameter("p", "integer", "7"),))
    assert "param" not in repr(valued).replace("parameters=", "").replace("Parameter(", "")
    assert (valued.deleted, valued.measures, valued.checks[0].predicate) == ("x < 7", {"m": "sum(x * 7)"}, "x > 7")


def test_a_batch_may_only_override_what_is_declared_for_all_in_its_type() -> None:
    everywhere = [Parameter("region", "text", "EU"), Parameter("least", "integer", "1")]
    own = [Parameter("region", "text", "US"), Parameter("least", "text", "1"), Parameter("regio", "text", "x")]
    problems = dict(override_problems(own, everywhere))
    assert problems["least"].startswith("is text here and integer")
    assert "did you mean region?" in problems["regio"]
    assert "region" not in problems
