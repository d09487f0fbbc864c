"""Dagster is told where columns come from, by the assets that their tables are."""

from __future__ import annotations

from dagster import AssetKey

from dwh_assets.model.column_lineage import ColumnLineage, Origin
from dwh_assets.model.module import Lineage, Module, SourceTable
from dwh_assets.orchestration.column_lineage import KEY, column_metadata

WEB = Module(name="fact.sales#web", table="fact.sales", tag="web", depends_on=("stage.sales",))
SHOP = Module(name="fact.sales#shop", table="fact.sales", tag="shop", depends_on=("stage.sales",))
MART = Module(name="mart.day", table="mart.day", depends_on=("fact.sales",))
LINEAGE = Lineage((WEB, SHOP, MART), (SourceTable("stage.sales", "iceberg"),))


def test_a_column_names_the_assets_that_its_table_stands_for():
    found = ColumnLineage({"total": (Origin("fact.sales", "amount", "aggregation"),), "one": ()}, ())
    shown = column_metadata(LINEAGE, MART, found)[KEY]
    keys = [dep.asset_key for dep in shown.deps_by_column["total"]]
    assert set(keys) == {AssetKey(["fact", "sales", "web"]), AssetKey(["fact", "sales", "shop"])}
    assert {dep.column_name for dep in shown.deps_by_column["total"]} == {"amount"}
    assert shown.deps_by_column["one"] == []


def test_what_is_not_known_is_not_shown():
    assert column_metadata(LINEAGE, MART, None) == {}
    assert column_metadata(LINEAGE, MART, ColumnLineage({}, ())) == {}
