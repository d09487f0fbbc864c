"""Drafts of new tables: valid as they are, whatever their base looks like."""

from __future__ import annotations

from pathlib import Path

import pytest

from dwh_assets.config.drafts import Wish, draft, key_of, position_of
from dwh_assets.config.lineage_files import load_lineage
from dwh_assets.model.column import TableColumn

COLUMNS = [
    TableColumn("pos", "timestamp", required=True),
    TableColumn("id", "bigint", required=True),
    TableColumn("order_id", "bigint", "the shop's number: unique 'per year'", required=True, key=True),
    TableColumn("Ordered by", "string", "who # ordered\nit"),
    TableColumn("amount", "decimal(12,2)"),
    TableColumn("seen_at", "timestamp"),
    TableColumn("_block", "bigint"),
]


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("processor", ["step", "one_day_step", "upsert", "history", "reload"])
def test_a_draft_passes_the_check_of_the_lineage_at_once(tmp_path: Path, processor: str) -> None:
    table = "fact.orders" if processor == "reload" else "fact.orders#web"
    files = draft(Wish(table, "stage.orders", processor, COLUMNS, ("pos", "id"), undeclared=True))
    folder = written(tmp_path, files)
    lineage = load_lineage(folder / "lineage", folder / "sql" / "transforms")
    [module] = lineage.modules
    assert (module.name, module.base, module.processor, module.position) == (table, "stage.orders", processor, ("pos", "id"))
    assert module.key == (("order_id",) if processor in ("upsert", "history") else ())
    assert module.columns["ordered_by"] == "who # ordered it"
    assert [check.columns for check in module.checks] == [("order_id",)]


def test_a_draft_names_every_column_and_leaves_out_what_each_table_has(tmp_path: Path) -> None:
    files = draft(Wish("fact.orders", "stage.orders", "step", COLUMNS, ("pos", "id")))
    assert sorted(files) == ["lineage/fact/orders.yaml", "sql/transforms/fact/orders.sql"]
    text = files["sql/transforms/fact/orders.sql"]
    assert "`Ordered by` as ordered_by," in text
    assert "_block" not in text
    assert "from {{ block }}" in text
    lineage = files["lineage/fact/orders.yaml"]
    assert "other instants: seen_at" in lineage
    assert "# key: [order_id]" in lineage


def test_a_stream_of_events_needs_no_transform() -> None:
    files = draft(Wish("stage.events", "broker.events", "ingest", COLUMNS, ("pos", "id")))
    assert list(files) == ["lineage/stage/events.yaml"]


def test_keys_and_positions_are_suggested_from_names_and_types() -> None:
    assert key_of(COLUMNS, "stage.orders") == (["order_id"], "its primary key")
    plain = [TableColumn("customer_id", "bigint"), TableColumn("order_id", "int"), TableColumn("created_at", "timestamp")]
    assert key_of(plain, "crm.orders") == (["order_id"], "by its name")
    assert key_of(plain, "crm.things") == ([], "")
    assert position_of(plain, "crm.orders") == ("created_at", "order_id")
    assert position_of([TableColumn("a", "string")], "crm.orders") is None
