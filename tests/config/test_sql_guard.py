"""The guard lets honest transforms through and refuses the rest, each with its line and reason."""

from __future__ import annotations

import pytest

from dwh_assets.config.sql_guard import check_aggregate, check_predicate, check_query, check_view, check_write
from dwh_assets.model.errors import SqlRefused

TABLES = ("stage.sales", "dim.customer")

LEGITIMATE = [
    "select * from {{ block }}",
    "select s.*, c.segment from {{ block }} s left join dim.customer c on c.id=s.customer_id",
    "with a as (select 1 x), b (y) as (select x from a) select * from b union all select x from a",
    "select a from stage.sales where sales.a > 1;",
    "values (1,2)",
    "select * from values (1,2),(3,4) as v(a,b)",
    "(select 1) union all (select 2)",
    "from {{ block }} select a",
    "select * from {{block}} lateral view outer explode(tags) t as tag",
    "select * from explode(array(1)) as e(x)",
    "select * from range(10) r",
    "select transform(a, x -> x + 1), filter(a, x -> x > 1), aggregate(a, 0, (s, x) -> s + x) from {{ block }} ",
    "select /*+ broadcast(c), repartition(3) */ * from {{ block }} b join dim.customer c using (id)",
    "select interval 3 days, date '2020-01-01', timestamp '2020-01-01 00:00:00', cast(a as "
    "struct<x:int,y:array<string>>), a::decimal(10,2), try_cast(a as int) from {{ block }} ",
    "select sum(x) filter (where y) over (partition by a order by b rows between 1 preceding and current "
    "row), row_number() over w from {{ block }}  window w as (partition by a order by b)",
    "select * except(a) from {{ block }} ",
    "select * from {{ block }} qualify row_number() over (partition by id order by pos desc) = 1",
    "select count(distinct a, b), extract(year from x), position('a' in b), trim(both 'x' from y), "
    "substring(a from 2 for 3) from {{ block }} group by grouping sets ((a),(b))",
    "select a from {{ block }} group by rollup(a), cube(b)",
    "select r'\\d+' rlike a, 'it''s', 'a\\'b', x'ab', 'ünïcödé', `weird name` from {{ block }} ",
    "-- a comment; select reflect()\nselect 1 /* another; */ from {{ block }} ",
    "select percentile_cont(0.5) within group (order by a) from {{ block }} ",
    "select * from {{ block }} pivot (sum(a) for b in ('x','y'))",
    "select * from {{ block }} where a in (select id from dim.customer) and not exists (select 1 from "
    "dim.customer c where c.id = a)",
    "select a.b.c, m['x'], a[0], named_struct('a',1).a from {{ block }} ",
    "select case a when 1 then 2 else (3) end, if(a>1, 2, 3), coalesce(a, b), nullif(a, b) from {{ block }} ",
    "select a rlike 'x', a like any ('b','c'), a <=> b, a div 2, a % 3, ~a, a||b, a between (1) and (2), a is "
    "not null from {{ block }} ",
    "select date_trunc('day', pos), current_timestamp(), current_date, pos at time zone 'UTC' from {{ block }} ",
    "select from_json(a, 'x int').x, get_json_object(a,'$.x') from {{ block }} ",
    "select * from stage.sales sales left anti join dim.customer using (id)",
    "select * from `stage`.`sales`",
    "select Sales.a from Stage.Sales",
    "select * from stage . sales",
    "select * from (select 1) t(x)",
    "select struct(*), count(*) from {{ block }} ",
    "select a from {{ block }} order by 1 nulls last limit 3 offset 2",
    "select a from {{ block }} sort by a",
    "select * from {{ block }}, lateral (select a + 1 as c)",
    "select 1L, 1.5BD, 2e3, 1S from {{ block }} ",
    "select a, '{{ block }}' as t -- {{ block }}\nfrom {{ block }} ",
    "select first(a) ignore nulls, any_value(b), max_by(a, b), count_if(a > 1) from {{ block }} having count(*) > 1",
    "select stack(2, 'a', x, 'b', y) as (k, v) from {{ block }} ",
    "select `count`(a) from {{ block }} ",
    "select try_divide(a, b), sha2(a, 256), xxhash64(a, b) from {{ block }} ",
    "select * from {{ block }} unpivot (v for k in (a, b))",
    "select not (a), - (b), (a, b) in ((1, 2)) from {{ block }} ",
    "select * from {{ block }} b cross join (select max(id) m from dim.customer)",
]

# Each with a part of the reason, so that it is not refused for some other fault.
HOSTILE = [
    ("", "is empty"),
    ("select 1; select 2", "holds several statements"),
    (";", "holds several statements"),
    ("drop table x", "is not a query but DROP"),
    ("insert into stage.sales select 1", "is not a query but INSERT"),
    ("insert overwrite directory '/x' select 1", "is not a query but INSERT"),
    ("select reflect('java.lang.Runtime','x') ", "the function reflect is not allowed: it runs any Java method"),
    ("select `reflect`('a','b')", "the function reflect is not allowed: it runs any Java method"),
    ("select java_method('a','b')", "the function java_method is not allowed: it runs any Java me"),
    ("select try_reflect('a','b')", "the function try_reflect is not allowed: it runs any Java me"),
    ("select RefLect /* x */ ('a')", "the function reflect is not allowed: it runs any Java method"),
    ("select builtin.reflect('a')", "the function reflect is called with a qualified name"),
    ("select system.builtin.upper('a')", "the function upper is called with a qualified name"),
    ("select * from parquet.`/etc`", "the table parquet./etc is not declared"),
    ("select * from json.`x`", "the table json.x is not declared"),
    ("select * from `stage.sales`", "the table stage.sales is not declared"),
    ("select * from secret.t", "the table secret.t is not declared"),
    ("select * from sales", "the table sales is not declared"),
    ("select * from spark_catalog.stage.sales", "sales with catalog is not allowed"),
    ("select * from stage.sales.snapshots", "snapshots with catalog is not allowed"),
    ("select transform(a) using 'cat' from {{ block }} ", "QUERY TRANSFORM is not allowed"),
    ("select map a using 'x' from {{ block }} ", "cannot be parsed: Invalid expression / Unexpected token, nea"),
    ("from {{ block }} reduce a using 'x' as b", "cannot be parsed: Invalid expression / Unexpected token, nea"),
    ("set x=1", "is not a query but SET"),
    ("add jar x", "is not a query but ADD JAR"),
    ("select * from identifier('secret.t')", "the function identifier is not allowed as a table"),
    ("table secret.t", "cannot be parsed: Invalid expression / Unexpected token, nea"),
    ("select * from (table secret.t)", "cannot be parsed: Expecting ), near '.'"),
    ("cache table x select 1", "is not a query but CACHE"),
    ("explain select 1", "is not a query but EXPLAIN"),
    ("describe stage.sales", "is not a query but DESCRIBE"),
    ("with a as (select 1) insert into b select * from a", "is not a query but INSERT"),
    ("select * from read_files('/x')", "the function read_files is not allowed"),
    ("select input_file_name() from {{ block }} ", "the function input_file_name is not allowed: it shows where "),
    ("select rand() from {{ block }} ", "the function rand is not allowed: it gives other rows each t"),
    ("select uuid() from {{ block }} ", "the function uuid is not allowed: it gives other rows each t"),
    ("select '${env:HOME}' from {{ block }} ", "${...} is not allowed: Spark would put settings of the serve"),
    ("select {{ other }}", "{{ other }} is not known"),
    ("select {{ block }}", "{{ block }} may only stand where a table stands"),
    ("select {{ block }}.a from {{ block }} ", "{{ block }} may only stand where a table stands"),
    ("select stage.sales.a from stage.sales", "stage.sales.a names a column with its database"),
    ("select * from stage.sales tablesample (10 percent)", "TABLE SAMPLE is not allowed"),
    ("select * from stage.sales version as of 3", "VERSION is not allowed"),
    ("with recursive r as (select 1) select * from r", "WITH RECURSIVE is not allowed"),
    ("select 1 -- \\\n/* \nfrom secret.t */", "a comment that ends in a backslash goes on in the next line "),
    ("select 1 /* a /*+ b */ , reflect('x') /* */", "a comment that is not closed, or holds another comment"),
    ("select 1 /* /* */ , reflect('a') */", "a comment that is not closed, or holds another comment"),
    ("select r'\\' , reflect('a','b') --'", "the function reflect is not allowed: it runs any Java method"),
    ("select :p", "PLACEHOLDER is not allowed"),
    ("select ?", "the character '?' is not allowed outside strings, quoted nam"),
    ("select * from x where a = @v", "the character '@' is not allowed outside strings, quoted nam"),
    ("select a from {{ block }} |> where b", "the pipe |> is not allowed"),
    ("select 1 into x", "INTO is not allowed"),
    ("create table x as select 1", "is not a query but CREATE"),
    ("create view x as select 1", "is not a query but CREATE"),
    ("truncate table stage.sales", "is not a query but TRUNCATETABLE"),
    ("select * from {{ block }} where a in (select b from secret.t)", "the table secret.t is not declared"),
    ("with a as (select * from b), b as (select 1) select * from a", "the table b is not declared"),
    ("select * from (with z as (select 1) select * from z) join z", "the table z is not declared"),
    ("select\u200b 1", "holds the invisible character U+200B"),
    ("select 1\x00", "holds the invisible character U+0000"),
    ("selеct 1", "the character 'е' is not allowed outside strings, quoted nam"),
    ("select 'a", "' is not closed"),
    ("select /* 1", "a comment that is not closed, or holds another comment"),
    ("select ((((1)", "cannot be parsed: Expecting ), near ')'"),
    ("select xpath(a,'b') from {{ block }} ", "the function xpath is not allowed"),
    ("select upperr(a) from {{ block }} ", "the function upperr is not allowed"),
    ("select * from python_worker_logs()", "the function python_worker_logs is not allowed as a table"),
    ("select * from sql_keywords()", "the function sql_keywords is not allowed as a table"),
    ("merge into a.b using c on a=b when matched then delete", "is not a query but MERGE"),
    ("delete from stage.sales", "is not a query but DELETE"),
    ("select /*+ evil(x) */ 1", "the hint evil is not allowed"),
    ("select secret.f(1)", "the function f is called with a qualified name"),
    ("select * from upper('a')", "the function upper is not allowed as a table"),
    ("select b'01'", "cannot be parsed: Invalid expression / Unexpected token, nea"),
    ("call system.x()", "is not a query but CALL"),
    ("begin select 1; end", "holds several statements"),
    ("declare x int", "is not a query but DECLARE"),
    ("execute immediate 'drop table x'", "'immediate ' can be read in two ways"),
    ("select * from stage.sales, secret.t", "the table secret.t is not declared"),
    ("select (select max(a) from secret.t)", "the table secret.t is not declared"),
    ("select * from stage.`sales.snapshots`", "the table stage.sales.snapshots is not declared"),
    ("select session_user(), kafka_offsets()", "the function kafka_offsets is not allowed"),
    ("select $$a$$", "the character '$' is not allowed outside strings, quoted nam"),
    ("select N'a'", "\"'a'\" can be read in two ways"),
    ("select a like reflect('x') from {{ block }}", "the function reflect is not allowed: it runs any Java method"),
    ("select * from {{ block }} b, reflect('a')", "the function reflect is not allowed as a table"),
    (
        "select a from {{ block }} lateral view reflect('a') x as y",
        "the function reflect is not allowed: it runs any Java method",
    ),
    ("select current_user(), reflect\n('a')", "the function reflect is not allowed: it runs any Java method"),
    (
        "select map_filter(m, (k, v) -> reflect('a') = v) from {{ block }}",
        "the function reflect is not allowed: it runs any Java method",
    ),
]


@pytest.mark.parametrize("text", LEGITIMATE)
def test_an_honest_query_passes_and_is_not_rewritten(text: str) -> None:
    query = check_query(text, TABLES, "x.sql")
    names = {table: f"{table}" for table in TABLES}
    rendered = query.render(names, "{{ block }}")
    for reference in query.references:
        rendered = rendered.replace(f" AS {reference.alias}", "")
    assert _squeezed(rendered) == _squeezed(text)


@pytest.mark.parametrize(("text", "reason"), HOSTILE)
def test_a_hostile_statement_is_refused_for_its_own_reason(text: str, reason: str) -> None:
    with pytest.raises(SqlRefused) as refused:
        check_query(text, TABLES, "x.sql")
    assert reason in str(refused.value)
    assert str(refused.value).startswith("x.sql:")


def _squeezed(text: str) -> str:
    return text.replace("`", "").replace(" ", "").replace("{{block}}", "").rstrip(";").lower()


def test_deep_nesting_is_refused_and_does_not_break_the_parser() -> None:
    with pytest.raises(SqlRefused, match="too deeply nested"):
        check_query("select " + "(" * 3000 + "1" + ")" * 3000, TABLES, "x.sql")


def test_every_problem_is_named_with_its_line() -> None:
    with pytest.raises(SqlRefused) as refused:
        check_query("select upperr(a),\n  b\nfrom secret.t\njoin {{ block }}", TABLES, "fact/sales.sql")
    assert str(refused.value).splitlines() == [
        "fact/sales.sql:1: the function upperr is not allowed (did you mean upper?); only listed built-in functions are",
        "fact/sales.sql:3: the table secret.t is not declared; add it to depends_on or reads",
    ]


def test_tables_are_renamed_in_place_and_keep_the_name_their_columns_use() -> None:
    text = (
        "select sales.a, s.b -- from stage.sales\nfrom stage.sales\njoin `Stage` . `Sales` s\njoin {{ block }} on block.x = s.x;"
    )
    query = check_query(text, TABLES, "x.sql")
    assert query.render({"stage.sales": "v1"}, "b7") == (
        "select sales.a, s.b -- from stage.sales\nfrom v1 AS `sales`\njoin v1 s\njoin b7 AS block on block.x = s.x "
    )
    assert query.tables == ("stage.sales",)
    assert query.uses_block


def test_tables_named_like_keywords_keep_their_names() -> None:
    query = check_query("select date.a from dim.date join dim.order o on o.d = date.d", ("dim.date", "dim.order"), "x.sql")
    assert query.render({"dim.date": "v1", "dim.order": "v2"}, "") == "select date.a from v1 AS `date` join v2 o on o.d = date.d"


def test_views_made_before_may_be_named_and_are_given_the_name_of_this_attempt() -> None:
    query = check_query("select * from recent", TABLES, "x.sql", views=["recent"])
    assert query.render({"recent": "v9"}, "") == "select * from v9 AS `recent`"
    with pytest.raises(SqlRefused, match=r"recnt is not declared .did you mean recent"):
        check_query("select * from recnt", TABLES, "x.sql", views=["recent"])


@pytest.mark.parametrize(
    "text", ["amount > 0", "not isnull(a) and b in (1, 2)", "a like any ('x', 'y')", "exists(tags, t -> t > 1)"]
)
def test_a_row_predicate_passes(text: str) -> None:
    assert check_predicate(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "", "a, b", "a) or (b", "a from t", "a as b", "a -- b", "a /* b */", "a; b", "distinct a", "all a", "*", "a where b",
        "a limit 1", "a union select 1", "exists(select 1)", "a in (select 1)", "sum(a) > 1", "any(a)", "explode(a)",
        "row_number() over (order by a) = 1", "rand() > 0.5", "reflect('a')", "{{ block }}", "'${env:HOME}' = a",
    ],
)  # fmt: skip
def test_what_is_not_one_row_predicate_is_refused(text: str) -> None:
    with pytest.raises(SqlRefused):
        check_predicate(text)


@pytest.mark.parametrize(
    "text", ["sum(amount) / count(*)", "count(distinct customer_id)", "every(a > 0)", "first(a) ignore nulls"]
)
def test_an_aggregate_passes(text: str) -> None:
    assert check_aggregate(text) == text


@pytest.mark.parametrize("text", ["amount", "sum(x) over ()", "sum(a), sum(b)", "sum(a) from t", "sum(reflect('a'))"])
def test_what_is_not_one_aggregate_is_refused(text: str) -> None:
    with pytest.raises(SqlRefused):
        check_aggregate(text)


def test_a_temporary_view_gives_its_name_and_its_query() -> None:
    name, query = check_view("-- why\nCREATE OR REPLACE TEMP VIEW Recent AS\nselect * from {{ block }}", TABLES, "x")
    assert name == "recent"
    assert query.render({}, "b1").strip() == "select * from b1 AS block"


@pytest.mark.parametrize(
    "text",
    [
        "create view v as select 1", "create temp view a.b as select 1", "create global temp view v as select 1", "select 1",
        "create temp view v using parquet options (path '/x')", "create temp view v as drop table x",
        "create temp view v as select reflect('a')", "create temp view v as select 1; drop table x",
    ],
)  # fmt: skip
def test_what_is_not_a_temporary_view_is_refused(text: str) -> None:
    with pytest.raises(SqlRefused):
        check_view(text, TABLES, "x")


@pytest.mark.parametrize(
    "text",
    [
        "merge into log.seen t using (select * from {{ block }}) s on t.id = s.id when matched and s.gone then delete "
        "when matched then update set t.x = s.x when not matched then insert (id, x) values (s.id, s.x)",
        "delete from log.seen where id in (select id from {{ block }})",
        "insert overwrite log.seen partition (day = '2026-01-01') select * from dim.customer",
    ],
)
def test_an_idempotent_write_names_its_target(text: str) -> None:
    assert check_write(text, TABLES, "x").target == "log.seen"


@pytest.mark.parametrize(
    "text",
    [
        "insert into log.seen select 1", "insert overwrite directory '/x' select 1", "drop table log.seen", "delete from seen",
        "insert overwrite log.seen select * from secret.t", "delete from cat.log.seen", "truncate table log.seen",
        "merge into log.seen using dim.customer s on reflect('a') when matched then delete", "update log.seen set a = 1",
    ],
)  # fmt: skip
def test_other_writes_are_refused(text: str) -> None:
    with pytest.raises(SqlRefused):
        check_write(text, TABLES, "x")
