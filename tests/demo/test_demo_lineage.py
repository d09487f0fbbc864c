from __future__ import annotations

from inspect import signature
from pathlib import Path

import pytest

from dwh_assets.config.event_schemas import breaking_changes, read_schema
from dwh_assets.config.lineage_files import load_lineage
from dwh_assets.demo import events
from dwh_assets.demo.streams import STREAMS
from dwh_assets.model.module import PROCESSORS, Lineage, Module
from dwh_assets.processors.registry import processor_named
from dwh_assets.processors.transform import function_named

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lineage() -> Lineage:
    return load_lineage(ROOT / "lineage", ROOT / "sql" / "transforms")


def modules_with(lineage: Lineage, field: str) -> list[Module]:
    return [module for module in lineage.modules if getattr(module, field)]


def test_at_least_ten_tables_are_built(lineage: Lineage):
    assert len({module.table for module in lineage.modules}) >= 10


def test_every_processor_is_used(lineage: Lineage):
    assert {module.processor for module in lineage.modules} >= set(PROCESSORS)


def test_two_tags_write_one_table(lineage: Lineage):
    sales = [module for module in lineage.modules if module.table == "fact.sales"]
    assert {(module.tag, module.base) for module in sales} == {("web", "stage.web_orders"), ("shop", "stage.till_receipts")}


def test_a_table_is_loaded_by_shards(lineage: Lineage):
    assert lineage.module("fact.inventory_moves").topics == ("fact.inventory_moves:north", "fact.inventory_moves:south")


@pytest.mark.parametrize("field", ["before", "reads", "measures", "expect", "checks", "span", "key", "deleted", "columns"])
def test_a_module_uses(lineage: Lineage, field: str):
    assert modules_with(lineage, field)


def test_one_transform_is_python_and_its_parameters_are_declared_tables(lineage: Lineage):
    pairs = [(module, name) for module in lineage.modules for name in module.transforms if ":" in name]
    for module, reference in pairs:
        tables = {table.replace(".", "_") for table in module.inputs}
        assert set(list(signature(function_named(reference)).parameters)[1:]) <= tables
    assert pairs


def test_sales_wait_for_the_dimensions_they_are_joined_to(lineage: Lineage):
    assert lineage.module("fact.sales#web").depends_on == ("stage.web_orders", "dim.customer", "dim.product")


def test_one_check_blocks_on_the_planted_file_and_one_only_warns(lineage: Lineage):
    refunds, views = lineage.module("quality.refunds"), lineage.module("fact.page_views")
    assert ("not_null", ("order_id",), "error") in {(c.kind, c.columns, c.severity) for c in refunds.checks}
    assert ("null_ratio", ("customer_id",), "warn") in {(c.kind, c.columns, c.severity) for c in views.checks}


def test_the_parked_table_holds_up_nothing_else(lineage: Lineage):
    assert not [module.name for module in lineage.modules if "quality.refunds" in module.inputs]


def test_a_table_waits_for_the_slow_deliveries(lineage: Lineage):
    assert "fact.page_views" in lineage.module("fact.attribution").depends_on
    assert lineage.module("fact.page_views").base == "stage.clicks"


def test_the_sources_are_those_that_the_feed_fills(lineage: Lineage):
    declared = {(source.name, source.kind, source.position) for source in lineage.sources}
    fed = {(stream.name, stream.place, stream.position) for stream in STREAMS}
    assert declared == fed | {(events.NAME, "kafka", ("pos", "id"))}


def test_the_events_are_on_the_topic_that_the_feed_fills_in_two_declared_versions_and_one_that_is_not(lineage: Lineage):
    (source,) = [source for source in lineage.sources if source.kind == "kafka"]
    assert source.kafka is not None
    assert source.events is not None
    assert (source.kafka.topic, source.kafka.brokers) == (events.TOPIC, ())
    assert [schema.version for schema in source.events.schemas] == [1, 2]
    early = read_schema(3, (ROOT / "lineage/schemas/web_event_3.json").read_bytes(), "json", None)
    assert not list(breaking_changes((*source.events.schemas, early), "additive"))


def test_the_shops_database_is_the_control_database(lineage: Lineage):
    assert {source.url_env for source in lineage.sources if source.kind == "postgres"} == {None}


def seconds_between_blocks(lineage: Lineage, table: str) -> float:
    """A topic loads no more often than its repeat, nor than what it waits for delivers."""
    modules = [module for module in lineage.modules if module.table == table]
    if table == events.NAME:
        return 0
    if not modules:
        return next(stream.every.total_seconds() for stream in STREAMS if stream.name == table)
    return min(max(m.repeat.total_seconds(), *(seconds_between_blocks(lineage, d) for d in m.depends_on)) for m in modules)


def test_steady_state_asks_for_at_most_25_blocks_a_minute(lineage: Lineage):
    waits = [seconds_between_blocks(lineage, module.table) for module in lineage.modules for _ in module.topics]
    assert sum(60 / wait for wait in waits) <= 25
    assert max(waits) <= 60


def test_every_table_says_what_it_means(lineage: Lineage):
    assert all(len(each.description) > 20 for each in (*lineage.modules, *lineage.sources))


def test_one_processor_is_the_demos_own(lineage: Lineage):
    own = {module.processor for module in lineage.modules} - set(PROCESSORS)
    assert {type(processor_named(name)).__name__ for name in own} == {"FirstPerKey"}
