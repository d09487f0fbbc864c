"""Lineage files are read whole or not at all, and every problem names its file, line and field."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dwh_assets.config.lineage_files import lineage_schema
from dwh_assets.model.batch import Batch, Link
from dwh_assets.model.module import Action, Check
from dwh_assets.model.window import Window

EXAMPLE = """\
    table: fact.sales
    description: One row per sold item, with the customer's segment at the time of sale.
    depends_on: [stage.sales, dim.customer]      # the first is the base table
    processor: step
    transforms: [fact/sales.sql]
    delay: 30s
    repeat: 1min
    maxstep: 1_000_000                           # rows of a block; up to stretch times more while behind
    checks:
      - not_null: [sale_id, amount]              # blocking unless it says warn
      - null_ratio: {column: segment, max: 0.05, severity: warn}
      - rows: {min_ratio: 0.5}                   # rows out / rows in
"""
MODULE = "table: fact.sales\ndepends_on: [stage.sales]\n"
SCHEMA = '{"type": "object", "properties": {"version": {"type": "integer"}, "click": {"type": "integer"}}}'
EVENTS = """\
name: broker.clicks
kind: kafka
kafka: {topic: clicks}
events: {format: json, schemas: {1: schemas/click.json}, version_in: "field:version", key: [click]}
"""
SOURCE = "name: stage.shop\nkind: postgres\n"

# Lines that follow MODULE (from line 3 on): line and field of the problem, and a part of what it says.
BAD_FIELDS = [
    ("delaay: 30s", 3, "delaay", "unknown field (did you mean delay?); allowed are table, description"),
    ("delay: 30", 3, "delay", "must be a duration with its unit, for example 30s"),
    ("delay: soon", 3, "delay", "'soon' is not a duration; write for example 30s"),
    ("repeat: [1h]", 3, "repeat", "must be a duration with its unit"),
    ("promise: 0s", 3, "promise", "must be longer than 0"),
    ("delay: 1h\npromise: 15min", 4, "promise", "must be longer than delay"),
    ("keep: 90", 3, "keep", "must be a duration with its unit"),
    ("delay: 1h\nkeep: 1h", 4, "keep", "must be longer than delay"),
    ("processor: reload\nkeep: 90d", 4, "keep", "is not used by processor reload; only step, one_day_step, range"),
    ("maxstep: many", 3, "maxstep", "must be a whole number such as 1_000_000"),
    ("maxstep: 0", 3, "maxstep", "must be at least 1"),
    ("attempts: 1.5", 3, "attempts", "must be a whole number"),
    ("active: yes", 3, "active", "must be true or false"),
    ("owner: 7", 3, "owner", "must be text; put it in quotes"),
    ("description:", 3, "description", "must be text"),
    ("processor: stepp", 3, "processor", "unknown processor 'stepp' (did you mean step?); allowed are step, reload"),
    ("transforms: [../secret.sql]", 3, "transforms[0]", "is not a transform; write a path below sql/transforms"),
    ("transforms: [/etc/passwd]", 3, "transforms[0]", "is not a transform"),
    ("transforms: [fact/other.sql]", 3, "transforms[0]", "there is no file sql/transforms/fact/other.sql"),
    ("transforms: []", 3, "transforms", "has 0 entries; 1 needed"),
    ("position: [pos]", 3, "position", "has 1 entries; 2 needed"),
    ("position: [pos, id; drop]", 3, "position[1]", "write a column name"),
    ("position: [ts, nr]", 3, "position", "differs from the position [pos, id] of the base stage.sales"),
    ("start: yesterday", 3, "start", "'yesterday' is not a start; write earliest, now or a timestamp"),
    ("start: 2024-01-01T00:00:00", 3, "start", "has no time zone; write earliest, now"),
    ("span: 1h", 3, "span", "is not used by processor step; only range has it"),
    ("processor: range\nstart: 2024-01-01", 1, "span", "is required for processor range"),
    ("processor: range\nspan: 1h\nstart: now", 5, "start", "processor range needs a timestamp"),
    ("processor: range\nspan: 0\nstart: 2024-01-01", 4, "span", "must be longer than 0"),
    ("time: 25:00-01:00", 3, "time", "is not a daily window; write HH:MM-HH:MM"),
    ("timezone: Europe/Berln", 3, "timezone", "unknown time zone 'Europe/Berln' (did you mean Europe/Berlin?)"),
    ("shards: [a, b]", 3, "shards", "needs shard_by"),
    ("shard_by: country", 3, "shard_by", "needs shards"),
    ("shards: [A-1]\nshard_by: c", 3, "shards[0]", "write a word of a-z, 0-9 and _"),
    ("shards: [a, a]\nshard_by: c", 3, "shards", "'a' is listed twice"),
    ("processor: upsert", 1, "key", "is required for processor upsert"),
    ("processor: history", 1, "key", "is required for processor history"),
    ("deleted: gone", 3, "deleted", "only upsert has it"),
    ("processor: upsert\nkey: [id]\ndeleted: sum(a)", 5, "deleted", "the function sum is not allowed here"),
    ("columns: [a]", 3, "columns", "must be a mapping of name: value"),
    ("expect:\n  good: amount > 0\n  bad: reflect('a')", 5, "expect.bad", "the function reflect is not allowed"),
    ("measures:\n  total: amount", 4, "measures.total", "holds no aggregate"),
    ("checks:\n  - not_null: [a]\n  - nonull: [b]", 5, "checks[1].nonull", "unknown field (did you mean not_null?)"),
    ("checks:\n  - rows: {}", 4, "checks[0].rows", "has no bound; give at least one of min, max"),
    ("checks:\n  - rows: {min: 3, max: 2}", 4, "checks[0].rows", "its least value 3 is above its greatest 2"),
    ("checks:\n  - rows: {min_ration: 3}", 4, "checks[0].rows.min_ration", "did you mean min_ratio?); allowed are min, max"),
    ("checks:\n  - null_ratio: {column: a, max: 5}", 4, "checks[0].null_ratio.max", "must be at most 1"),
    ("checks:\n  - unique: {columns: [a], severity: bad}", 4, "checks[0].unique.severity", "allowed are 'error' or 'warn'"),
    ("checks:\n  - {not_null: [a], unique: [a]}", 4, "checks[0]", "exactly one check; allowed are not_null"),
    ("checks:\n  - not_null: [a]\n  - not_null: [b, a]", 3, "checks", "not_null(a) is declared 2 times"),
    ("checks:\n  - expect: {name: x, predicate: a from b}", 4, "checks[0].expect.predicate", "must be exactly one expression"),
    ("before:\n  - drop table x", 4, "before[0]", "must be CREATE [OR REPLACE] TEMPORARY VIEW"),
    ("after:\n  - {sql: insert into log.a select 1, idempotent: true}", 4, "after[0]", "is not an idempotent write"),
    ("after:\n  - {sql: delete from dim.customer, idempotent: true}", 4, "after[0]", "which the Lineage builds or reads"),
    ("after:\n  - {sqll: x}", 4, "after[0].sql", "is required"),
    ("reads: [stage.sale]", 3, "reads[0]", "neither built here nor a source (did you mean stage.sales"),
    ("reads: [stage.sales#a]", 3, "reads[0]", "names a tag or a shard; name the table, stage.sales"),
    ("reads: dim.customer", 3, "reads", "must be a list such as [a, b]"),
    ("comment: postgres://u:canary@host/db", 3, "comment", "holds a URL with a password"),
    ("delay: 1s\ndelay: 2s", 4, "delay", "given twice, first in line 3"),
]

BAD_SOURCES = [
    ("url: postgres://u:canary@h/d", 3, "url", "secrets come from the environment; name the variable in url_env"),
    ("url_env: postgres://u:canary@h/d", 3, "url_env", "is not the name of an environment variable"),
    ("horizon: delay", 1, "delay", "horizon delay needs a delay above 0"),
    ("horizon: late", 3, "horizon", "allowed are 'transaction_start' or 'delay'"),
    ("relation: public.a; drop", 3, "relation", "write schema.table"),
    ("idle_after: 0", 3, "idle_after", "must be longer than 0"),
    ("shards: [a]", 3, "shards", "needs shard_by"),
]


def test_the_example_of_the_design_is_read(project: Any) -> None:
    (module,) = project.write("lineage/fact/sales.yaml", EXAMPLE).load().modules
    assert (module.name, module.area, module.base, module.topics) == ("fact.sales", "fact", "stage.sales", ("fact.sales",))
    assert (module.delay, module.repeat, module.maxstep) == (timedelta(seconds=30), timedelta(minutes=1), 1_000_000)
    assert module.checks == (
        Check("not_null", "not_null(sale_id)", ("sale_id",)),
        Check("not_null", "not_null(amount)", ("amount",)),
        Check("null_ratio", "null_ratio(segment)", ("segment",), max_ratio=0.05, severity="warn"),
        Check("rows", "rows(min_ratio)", min_ratio=0.5),
    )


def test_every_other_field_is_read(project: Any) -> None:
    text = """\
        table: fact.sales#web
        depends_on: [stage.sales]
        reads: [dim.customer]
        processor: UniqId
        transforms: [fact/sales.sql, shop.rules:web_sales]
        before: ["create temp view big as select * from {{ block }} where amount > 9"]
        after:
          - {sql: delete from log.seen where day < current_date, idempotent: true}
        start: 2024-01-31
        promise: 15min
        time: 22:00-06:00
        timezone: Europe/Berlin
        shards: [no, 1, "02"]
        shard_by: country
        key: [sale_id]
        deleted: op = 'D'
        columns: {sale_id: the sale}
        checks:
          - not_null: {columns: [a], severity: warn}
          - unique: [a, b]
          - expect: {name: positive, predicate: amount > 0, min_ratio: 0.9}
        measures: {revenue: sum(amount)}
        expect: {cheap: amount < 10}
        active: false
        priority: -3
    """
    (module,) = project.write("lineage/fact/web.yaml", text).load().modules
    assert (module.table, module.tag, module.processor, module.active) == ("fact.sales", "web", "upsert", False)
    assert module.priority == -3
    assert module.start == "2024-01-31T00:00:00+00:00"
    assert module.time == Window.parse("22:00-06:00")
    assert module.promise == timedelta(minutes=15)
    assert module.topics == ("fact.sales#web:no", "fact.sales#web:1", "fact.sales#web:02")
    assert module.after == (Action("delete from log.seen where day < current_date", idempotent=True),)
    assert [check.name for check in module.checks] == ["not_null(a)", "unique(a, b)", "expect(positive)"]
    assert module.transforms == ("fact/sales.sql", "shop.rules:web_sales")


@pytest.mark.parametrize(("text", "line", "field", "hint"), BAD_FIELDS)
def test_a_bad_field_is_refused_with_its_file_line_and_hint(project: Any, text: str, line: int, field: str, hint: str) -> None:
    problems = project.write("lineage/fact/sales.yaml", MODULE + text + "\n").problems()
    assert any(p.startswith(f"lineage/fact/sales.yaml:{line}: {field}: ") and hint in p for p in problems), problems
    assert "canary" not in "".join(problems)


@pytest.mark.parametrize(("text", "line", "field", "hint"), BAD_SOURCES)
def test_a_bad_source_is_refused_with_its_file_line_and_hint(project: Any, text: str, line: int, field: str, hint: str) -> None:
    problems = project.write("lineage/sources/other.yaml", SOURCE + text + "\n").problems()
    assert any(p.startswith(f"lineage/sources/other.yaml:{line}: {field}: ") and hint in p for p in problems), problems
    assert "canary" not in "".join(problems)


@pytest.mark.parametrize(
    "text", ["", "[a]", "a: [", "a: &x 1\nb: *x", "a: 1\n---\nb: 2", "? [a]\n: b", "a: !!python/name:os.system x"]
)
def test_what_is_not_one_plain_mapping_is_refused(project: Any, text: str) -> None:
    assert all(p.startswith("lineage/fact/x.yaml:") for p in project.write("lineage/fact/x.yaml", text).problems())


def test_all_problems_of_all_files_come_together(project: Any) -> None:
    project.write("lineage/fact/a.yaml", "table: fact.a\ndepends_on: [fact.b]\nmaxstep: x\nahead: 0\n")
    project.write("lineage/fact/b.yaml", "table: fact.b\ndepends_on: [nowhere.x]\n")
    problems = [p.split(": ")[:2] for p in project.problems()]
    assert problems == [
        ["lineage/fact/a.yaml:3", "maxstep"],
        ["lineage/fact/a.yaml:4", "ahead"],
        ["lineage/fact/b.yaml:1", "transforms[0]"],
        ["lineage/fact/b.yaml:2", "depends_on[0]"],
    ]


def test_a_write_to_the_dead_letters_of_an_ingest_is_refused(project: Any) -> None:
    """Spark would commit to main of a table that blocks are loaded into (R14)."""
    project.write("lineage/sources/events.yaml", EVENTS).write("lineage/schemas/click.json", SCHEMA)
    project.write("lineage/stage/clicks.yaml", "table: stage.clicks\ndepends_on: [broker.clicks]\nprocessor: ingest\n")
    write = "after:\n  - {sql: delete from stage.clicks_dead, idempotent: true}\n"
    (problem,) = project.write("lineage/fact/sales.yaml", MODULE + write).problems()
    assert "writes to stage.clicks_dead, which the Lineage builds or reads" in problem


def test_a_cycle_is_printed_with_the_line_that_closes_it(project: Any) -> None:
    for name, needed in (("a", "b"), ("b", "a")):
        project.write(f"lineage/fact/{name}.yaml", f"table: fact.{name}\ndepends_on:\n  - stage.sales\n  - fact.{needed}\n")
        project.write(f"sql/transforms/fact/{name}.sql", "select * from {{ block }}")
    assert [p.split("; ")[0] for p in project.problems()] == [
        "lineage/fact/a.yaml:4: depends_on[1]: closes a cycle: fact.a -> fact.b -> fact.a"
    ]


def test_two_files_that_build_the_same_module_are_both_named(project: Any) -> None:
    project.write("lineage/fact/a.yaml", MODULE).write("lineage/mart/b.yaml", MODULE)
    assert project.problems() == [
        "lineage/mart/b.yaml:1: table: fact.sales is also built by lineage/fact/a.yaml:1; give each its own #tag"
    ]


def test_tags_may_share_a_table_unless_one_of_them_reloads_it(project: Any) -> None:
    project.write("lineage/fact/a.yaml", MODULE)
    project.write("lineage/fact/b.yaml", "table: fact.sales#b\ndepends_on: [stage.sales]\ntransforms: [fact/sales.sql]\n")
    assert len(project.load().modules) == 2
    project.write("lineage/fact/a.yaml", MODULE + "processor: Reload\n")
    assert "is also written by lineage/fact/b.yaml:1; processor reload must be the only writer" in project.problems()[0]


def test_a_table_is_either_built_or_a_source(project: Any) -> None:
    project.write("lineage/fact/a.yaml", MODULE).write("lineage/sources/s.yaml", "name: fact.sales\nkind: iceberg\n")
    assert any("is also a source in lineage/sources/s.yaml:1" in p for p in project.problems())


def test_a_reloaded_table_is_never_the_base_of_a_step(project: Any) -> None:
    project.write("lineage/fact/a.yaml", MODULE + "processor: reload\n")
    project.write("lineage/mart/b.yaml", "table: mart.b\ndepends_on: [fact.sales]\ntransforms: [fact/sales.sql]\n")
    assert "lineage/mart/b.yaml:2: depends_on[0]: fact.sales is rebuilt as a whole by reload" in project.problems()[0]


def test_a_shard_that_a_dependency_does_not_have_is_refused(project: Any) -> None:
    project.write("lineage/sources/s.yaml", "name: stage.split\nkind: iceberg\nshards: [eu]\nshard_by: region\n")
    project.write("lineage/fact/a.yaml", "table: fact.sales\ndepends_on: [stage.split]\nshards: [eu, us]\nshard_by: region\n")
    assert "stage.split has no shard us; its shards are eu" in project.problems()[0]


def test_a_bad_transform_is_named_by_its_own_file_and_line(project: Any) -> None:
    project.write("lineage/fact/a.yaml", MODULE)
    project.write("sql/transforms/fact/sales.sql", "select upperr(a)\nfrom {{ block }}\njoin dim.customer using (id)\n")
    problems = project.problems()
    assert problems[0].startswith("sql/transforms/fact/sales.sql:1: the function upperr is not allowed (did you mean upper?)")
    assert problems[1].startswith("sql/transforms/fact/sales.sql:3: the table dim.customer is not declared")


def test_a_step_that_does_not_read_its_block_is_refused(project: Any) -> None:
    project.write("lineage/fact/a.yaml", MODULE).write("sql/transforms/fact/sales.sql", "select * from stage.sales")
    assert "does not read {{ block }}" in project.problems()[0]


def test_a_source_gives_its_position_to_the_modules_on_it(project: Any) -> None:
    project.write("lineage/sources/s.yaml", "name: stage.shop\nkind: postgres\nposition: [changed_at, nr]\nurl_env: SHOP_URL\n")
    project.write("lineage/fact/a.yaml", "table: fact.sales\ndepends_on: [stage.shop]\n")
    lineage = project.load()
    assert lineage.module("fact.sales").position == ("changed_at", "nr")
    assert next(s for s in lineage.sources if s.name == "stage.shop").relation == "stage.shop"
    assert lineage.places["fact.sales"] == "lineage/fact/a.yaml:1"


def test_a_batch_groups_modules_and_names_what_it_does_not_know(project: Any) -> None:
    project.write("lineage/sources/s.yaml", "name: stage.shop\nkind: iceberg\n")
    project.write("lineage/fact/a.yaml", "table: fact.sales\ndepends_on: [stage.shop]\n")
    project.write("lineage/batches/nightly.yaml", "batch: nightly\nmodules: [fact.sales]\nfrequency: '0 3 * * *'\n")
    (batch,) = project.load().batches
    assert batch == Batch("nightly", (Link("fact.sales"),), frequency="0 3 * * *")
    project.write("lineage/batches/nightly.yaml", "batch: nightly\nmodules: [fact.sale]\nfrequency: daily\n")
    assert project.problems() == [
        "lineage/batches/nightly.yaml:3: frequency: 'daily' is not a cron expression (it has not five fields); write five "
        "fields such as '0 3 * * *' for every day at 3:00",
    ]
    project.write("lineage/batches/nightly.yaml", "batch: nightly\nmodules: [fact.sale]\n")
    assert project.problems() == [
        "lineage/batches/nightly.yaml:2: modules[0]: there is no module fact.sale (did you mean fact.sales?)"
    ]


def test_files_in_wrong_places_are_named(project: Any) -> None:
    assert "move it to lineage/<area>/<table>.yaml" in project.write("lineage/stray.yaml", MODULE).problems()[0]


def test_the_schema_for_editors_knows_every_field() -> None:
    definitions = lineage_schema()["$defs"]
    assert {"table", "depends_on", "checks", "measures"} <= set(definitions["module"]["properties"])
    assert definitions["module"]["additionalProperties"] is False
    assert definitions["source"]["required"] == ["name", "kind"]
