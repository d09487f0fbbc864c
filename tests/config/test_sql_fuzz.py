"""No statement that the guard accepts can read a file, call Java, change a setting or write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.connect.session import SparkSession

from dwh_assets.config.sql_functions import FUNCTIONS
from dwh_assets.config.sql_query import Query
from dwh_assets.model.errors import SqlRefused
from dwh_assets.warehouse.session import query
from tests.config.second_look import BLOCK, NAMES, dangers
from tests.config.spark_parser import SparkParser, spark_parser
from tests.config.sql_corpus import CHECKS, corpus
from tests.config.sql_mutants import mutants

_UNHURRIED = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
QUICK = settings(max_examples=500, derandomize=True, database=None, deadline=None, suppress_health_check=_UNHURRIED)
AROUND = {"predicate": f"select 1 from {BLOCK} where ({{}}) and true", "aggregate": f"select {{}} as m from {BLOCK}"}
LONG = settings(max_examples=30_000, database=None, deadline=None, suppress_health_check=_UNHURRIED)


def rendered(text: str, checker: str = "query") -> str | None:
    """What Spark would get to see, or none when the guard refuses."""
    seen = accepted(text, checker)
    return None if seen is None else seen[0]


def accepted(text: str, checker: str) -> tuple[str, list[str]] | None:
    """That, and the tables it names; anything but a refusal is an error of the guard."""
    try:
        query = CHECKS[checker](text)
    except SqlRefused:
        return None
    if checker in AROUND:
        return AROUND[checker].format(query), [BLOCK]
    query = query[1] if isinstance(query, tuple) else query
    assert isinstance(query, Query)
    named = [BLOCK if place.table is None else NAMES[place.table] for place in query.references]
    return query.render(NAMES, BLOCK), sorted(named + ([query.target] if query.target else []))


def assert_harmless(text: str, checker: str = "query") -> None:
    if (seen := rendered(text, checker)) is not None:
        assert dangers(seen, write=checker == "write") == [], seen


@given(mutants())
@QUICK
def test_no_accepted_statement_reads_files_calls_java_sets_or_writes(text: str) -> None:
    assert_harmless(text)


@pytest.mark.parametrize("checker", ["view", "write", "predicate", "aggregate"])
@given(data=st.data())
@QUICK
def test_nor_does_an_accepted_text_of_another_kind(checker: str, data: st.DataObject) -> None:
    assert_harmless(data.draw(mutants(checker)), checker)


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("checker", CHECKS)
@given(data=st.data())
@LONG
def test_nor_does_one_of_very_many(checker: str, data: st.DataObject) -> None:
    assert_harmless(data.draw(mutants(checker)), checker)


PARSED = {
    "MultiAlias", "UnresolvedAlias", "UnresolvedAttribute", "UnresolvedExtractValue", "UnresolvedFunction", "UnresolvedGenerator",
    "UnresolvedHaving", "UnresolvedInlineTable", "UnresolvedOrdinal", "UnresolvedRelation", "UnresolvedStar", "UnresolvedWith",
    "UnresolvedStarExceptOrReplace", "UnresolvedSubqueryColumnAliases", "UnresolvedTVFAliases", "UnresolvedTableValuedFunction",
    "UnresolvedHint", "Aggregate", "Distinct", "Except", "Filter", "Generate", "GlobalLimit", "Intersect", "Join", "LateralJoin",
    "LocalLimit", "LocalRelation", "Offset", "OneRowRelation", "Pivot", "Project", "RepartitionByExpression", "Sort",
    "SubqueryAlias", "Union", "Unpivot", "WithWindowDefinition",
}  # fmt: skip
WRITING = {
    "Assignment", "DeleteAction", "DeleteFromTable", "InsertAction", "InsertIntoStatement", "MergeIntoTable", "UpdateAction",
}  # fmt: skip


UNKNOWN = re.compile("at time zone|qualify|by name")  # to this Spark, which refuses them itself


@pytest.fixture(scope="module")
def parser() -> Iterator[SparkParser]:
    with spark_parser() as parser:
        yield parser


def assert_read_alike(parser: SparkParser, text: str, checker: str) -> bool:
    """Spark sees the tables that the guard saw, listed functions and harmless operators, or refuses the text (False)."""
    if (seen := accepted(text, checker)) is None or (reading := parser.read(seen[0])) is None:
        return False
    assert reading.tables == seen[1], seen[0]
    assert reading.functions <= FUNCTIONS | {"between"}, seen[0]
    assert reading.operators <= PARSED | (WRITING if checker == "write" else set()), seen[0]
    return True


def test_spark_and_the_guard_read_legitimate_texts_alike(parser: SparkParser) -> None:
    refused = [case.text for case in corpus("legitimate") if not assert_read_alike(parser, case.text, case.checker)]
    assert [text for text in refused if not UNKNOWN.search(text)] == []


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("checker", CHECKS)
@given(data=st.data())
@LONG
def test_spark_and_the_guard_read_alike_what_is_accepted(parser: SparkParser, checker: str, data: st.DataObject) -> None:
    assert_read_alike(parser, data.draw(mutants(checker)), checker)


@given(st.text(alphabet=" ()'\"`\\/*-+;.,abr{}$\n1_", max_size=40))
@QUICK
def test_a_text_of_quotes_and_comments_is_refused_or_harmless(text: str) -> None:
    assert_harmless(f"select 1 {text} from {{{{ block }}}}")
    assert_harmless(text, "predicate")


def test_the_second_look_sees_what_the_guard_refuses() -> None:
    """It would be no judge if it found everything harmless."""
    kinds = ("writing", "Java on the server", "data definition", "scripts", "files and other places as tables")
    cases = [case.text for case in corpus("hostile") if case.kind in kinds]
    missed = [text for text in cases if not _condemned(text)]
    assert missed == []


def _condemned(text: str) -> bool:
    seen = text.replace("{{ block }}", BLOCK).replace("stage.sales", "seen_1").replace("dim.customer", "seen_2")
    try:
        return bool(dangers(seen))
    except Exception:  # noqa: BLE001 - sqlglot gives up on it: then it is no query either
        return True


def test_what_spark_runs_as_a_script_is_refused(session: SparkSession, tmp_path: Path) -> None:
    """Spark reads FROM .. JOIN .. REDUCE .. USING where sqlglot sees the alias of a table and the columns of a join."""
    marks = {word: tmp_path / word for word in ("reduce", "map")}
    tables = {BLOCK: session.range(1), "seen_2": session.range(1).toDF("customer")}
    for word, mark in marks.items():
        text = f"from {{{{ block }}}} b join dim.customer {word} (customer) using r'touch {mark}; cat'"
        assert rendered(text) is None
        query(session, text.replace("{{ block }}", BLOCK).replace("dim.customer", "seen_2"), tables).collect()
    assert all(mark.exists() for mark in marks.values())


COLUMNS = """
    id, id as a, id as b, id as c, id as d, id as e, id as i, id as n, id as amount, id as customer_id, id as parent_id,
    'x' as name, 'x' as segment, 'x' as kind, 'x' as j, true as valid, false as gone, id as v, id as k, id as x, id as y,
    current_date() as day, timestamp '2026-01-01 00:00:00' as pos, array(1, 2) as xs, array('x') as tags, array(array(1)) as ys,
    map('x', 1) as m
"""
HARMLESS = {
    "Project", "Filter", "Aggregate", "Sort", "GlobalLimit", "LocalLimit", "Offset", "Join", "Generate", "Window", "Distinct",
    "Union", "Intersect", "Except", "Range", "SubqueryAlias", "View", "WithCTE", "CTERelationDef", "CTERelationRef",
    "LocalRelation", "OneRowRelation", "Expand", "Pivot", "Unpivot", "LateralJoin", "RepartitionByExpression", "Repartition",
    "ResolvedHint", "WithWindowDefinition", "Deduplicate", "RebalancePartitions", "InlineTable",
}  # fmt: skip
_OPERATOR = re.compile(r"^[\s:|]*(?:\+- )?'?([A-Z]\w+)", re.MULTILINE)


def suspects(text: str, plan: str) -> set[str]:
    """Operators that are not known to be harmless; a call of Java, unless a string of the text only looks like one."""
    tree = plan.split("\n", 2)[2] if plan.count("\n") > 1 else plan
    found = {name for name in _OPERATOR.findall(tree) if name not in HARMLESS}
    return found | ({"reflect"} if "reflect(" in plan and "reflect(" not in "".join(re.findall(r"'.*'", text)) else set())


def analysed(session: SparkSession, text: str) -> str | None:
    """The plan that Spark makes of a text over rows that come from no table; none when it makes none."""
    frame = query(session, text, _rows(session))
    try:
        return frame._explain_string(extended=True).partition("== Analyzed")[2].partition("== Optimized")[0]  # pyright: ignore
    except PySparkException:
        return None


def _rows(session: SparkSession) -> dict[str, DataFrame]:
    rows = session.range(3).selectExpr(*re.split(r",\s+(?![^(]*\))", COLUMNS.strip()))
    return dict.fromkeys((BLOCK, *NAMES.values()), rows)


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_spark_itself_makes_a_harmless_plan_of_what_is_accepted(session: SparkSession) -> None:
    legitimate = [case.text for case in corpus("legitimate") if case.checker == "query"]
    texts: list[str] = []
    given(mutants())(settings(LONG, max_examples=400, derandomize=True)(lambda text: texts.append(text)))()
    plans = {text: analysed(session, seen) for text in (*legitimate, *texts) if (seen := rendered(text)) is not None}
    made = {text: plan for text, plan in plans.items() if plan}
    assert {text: found for text, plan in made.items() if (found := suspects(text, plan))} == {}
    assert len(made) > 100  # enough of them were real queries
