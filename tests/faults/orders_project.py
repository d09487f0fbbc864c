"""The small warehouse that the fault tests load: its Lineage, its transforms, its source rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import dedent
from typing import Any

import pyarrow as pa

from dwh_assets.warehouse.catalog import Catalog

START = datetime(2026, 1, 1, tzinfo=UTC)
ORDERS, CUSTOMERS, BLOCK = 70, 7, 40  # two blocks; the first ends between equal pos, with two rows of its last (pos, id)
INSTANT = pa.timestamp("us", tz="UTC")
ORDER = pa.schema([("pos", INSTANT), ("id", pa.int64()), ("customer_id", pa.int64()), ("amount", pa.int64())])
CUSTOMER = pa.schema([("pos", INSTANT), ("id", pa.int64()), ("customer_id", pa.int64()), ("segment", pa.string())])

_QUICK = f"delay: 0s\nrepeat: 1us\nbackoff: 1us\nmaxstep: {BLOCK}\nstretch: 1\n"
_LINEAGE = {
    "sources/stage.yaml": """
        - {name: stage.orders, kind: iceberg}
        - {name: stage.customers, kind: iceberg}
    """,
    "dim/customer.yaml": """
        table: dim.customer
        description: The newest state of each customer.
        depends_on: [stage.customers]
        processor: upsert
        key: [customer_id]
    """,
    "fact/orders.yaml": """
        table: fact.orders
        description: Orders with the customer's segment.
        depends_on: [stage.orders, dim.customer]
        measures: {total: sum(amount)}
    """,
    "fact/events_a.yaml": """
        table: fact.events#a
        description: Orders of even customers.
        depends_on: [stage.orders]
    """,
    "fact/events_b.yaml": """
        table: fact.events#b
        description: Orders of odd customers.
        depends_on: [stage.orders]
    """,
    "mart/orders.yaml": """
        table: mart.orders
        description: Built upon the facts.
        depends_on: [fact.orders]
    """,
    "batches/nightly.yaml": """
        batch: nightly
        modules: [fact.orders, mart.orders, ops.note]
    """,
    "ops/note.yaml": """
        module: ops.note
        command: [sh, -c, "echo done >> $DWH_HOME/notes"]
        depends_on: [mart.orders]
    """,
    "mart/broken.yaml": """
        table: mart.broken
        description: Its transform fails on every row.
        depends_on: [stage.orders]
        attempts: 2
    """,
}
_TRANSFORMS = {
    "dim/customer.sql": "select pos, id, customer_id, segment from {{ block }}",
    "fact/orders.sql": "select o.pos, o.id, o.customer_id, o.amount, c.segment from {{ block }} as o"
    " left join dim.customer as c on c.customer_id = o.customer_id",
    "fact/events_a.sql": "select pos, id, amount from {{ block }} where customer_id % 2 = 0",
    "fact/events_b.sql": "select pos, id, amount from {{ block }} where customer_id % 2 = 1",
    "mart/orders.sql": "select pos, id, amount, segment from {{ block }}",
    "mart/broken.sql": "select pos, id, cast(concat('x', cast(id as string)) as int) as number from {{ block }}",
}
FILE_OF = {"fact.events#a": "fact/events_a.sql", "fact.events#b": "fact/events_b.sql"}


def write_project(folder: Path) -> None:
    for name, text in _LINEAGE.items():
        body = dedent(text).lstrip()
        if body.startswith("table:"):
            topic = body.split("\n", 1)[0].removeprefix("table: ")
            transform = FILE_OF.get(topic, f"{topic.replace('.', '/')}.sql")
            body += _QUICK + f"transforms: [{transform}]\n"
        _write(folder / "lineage" / name, body)
    for name, text in _TRANSFORMS.items():
        _write(folder / "sql" / "transforms" / name, text)


def create_sources(catalog: Catalog) -> None:
    catalog.sql.create_namespace_if_not_exists("stage")
    catalog.sql.create_table("stage.orders", ORDER)
    catalog.sql.create_table("stage.customers", CUSTOMER)
    append(catalog, "stage.customers", CHANGES)
    append(catalog, "stage.orders", orders(1, ORDERS) + orders(BLOCK, BLOCK))


def append(catalog: Catalog, table: str, rows: list[dict[str, Any]]) -> None:
    schema = ORDER if table == "stage.orders" else CUSTOMER
    catalog.load(table).append(pa.Table.from_pylist(rows, schema=schema))


def orders(first: int, last: int) -> list[dict[str, Any]]:
    """Orders by number; three of them share each instant."""
    return [_order(number) for number in range(first, last + 1)]


def _order(number: int) -> dict[str, Any]:
    at = START + timedelta(seconds=number // 3)
    return {"pos": at, "id": number, "customer_id": number % CUSTOMERS, "amount": number}


def customers(segment: str, number: int, at: datetime) -> list[dict[str, Any]]:
    """A new state of every customer."""
    return [{"pos": at, "id": number + customer, "customer_id": customer, "segment": segment} for customer in range(CUSTOMERS)]


# The dimension reaches beyond the orders, so that no order waits for it.
CHANGES = customers("new", 1, START) + customers("regular", 101, START + timedelta(days=1))


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
