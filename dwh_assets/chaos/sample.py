"""The warehouse that chaos loads when it is not given one: a shop with all that makes loading hard, and few rows.

A history from a Postgres table, two tags that write one table and join that history, shards and an upsert upon it, and events
from a broker.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa

from dwh_assets.chaos.supply import IcebergRows, PostgresRows, Supply

START = datetime(2026, 1, 1, tzinfo=UTC)
CUSTOMERS, VERSIONS, ORDERS, CLICKS = 9, 4, 80, 60
PARTITIONS = 2
INSTANT = pa.timestamp("us", tz="UTC")
ORDER = pa.schema(
    [
        ("pos", INSTANT),
        ("id", pa.int64()),
        ("channel", pa.string()),
        ("region", pa.string()),
        ("customer_id", pa.int64()),
        ("amount", pa.int64()),
    ]
)
CUSTOMER = (("pos", "timestamptz not null"), ("id", "bigint not null"), ("customer_id", "bigint"), ("segment", "text"))
_QUICK = "delay: 0s\nrepeat: 0\nbackoff: 0\nstretch: 1\n"
_LINEAGE = {
    "sources/chaos.yaml": """
- {name: stage.orders, kind: iceberg}
- {name: crm.customers, kind: postgres, relation: crm.customers, horizon: delay, delay: 1s}
- name: broker.clicks
  kind: kafka
  kafka: {topic: TOPIC}
  events:
    format: json
    schemas: {1: schemas/click.json}
    version_in: field:version
    key: [click]
""",
    "dim/customer.yaml": """
table: dim.customer
depends_on: [crm.customers]
processor: history
key: [customer_id]
maxstep: 40
""",
    "fact/orders_web.yaml": """
table: "fact.orders#web"
depends_on: [stage.orders, dim.customer]
maxstep: 40
""",
    "fact/orders_shop.yaml": """
table: "fact.orders#shop"
depends_on: [stage.orders, dim.customer]
maxstep: 60
""",
    "mart/regions.yaml": """
table: mart.regions
depends_on: [fact.orders]
shards: [north, south]
shard_by: region
maxstep: 100
""",
    "mart/buyers.yaml": """
table: mart.buyers
depends_on: [fact.orders]
processor: upsert
key: [customer_id]
maxstep: 100
""",
    "stage/clicks.yaml": """
table: stage.clicks
depends_on: [broker.clicks]
processor: ingest
maxstep: 50
""",
    "mart/clicks.yaml": """
table: mart.clicks
depends_on: [stage.clicks]
maxstep: 100
""",
}
_FACT = """select o.pos, o.id, o.channel, o.region, o.customer_id, o.amount, c.segment from {{ block }} as o
left join dim.customer as c
    on c.customer_id = o.customer_id and c.valid_from <= o.pos and (c.valid_to is null or o.pos < c.valid_to)
where o.channel = '%s'"""
_TRANSFORMS = {
    "dim/customer.sql": "select pos, id, customer_id, segment from {{ block }}",
    "fact/orders_web.sql": _FACT % "web",
    "fact/orders_shop.sql": _FACT % "shop",
    "mart/regions.sql": "select pos, id, region, amount, segment from {{ block }}",
    "mart/buyers.sql": "select pos, id, customer_id, amount, segment from {{ block }}",
    "mart/clicks.sql": "select pos, id, click, page from {{ block }}",
}
_CLICK = {
    "type": "object",
    "properties": {
        "version": {"type": "integer", "format": "int32"},
        "click": {"type": "integer"},
        "page": {"type": "string"},
        "happened": {"type": "string", "format": "date-time"},
    },
    "required": ["click", "page", "happened"],
}


def write_project(folder: Path, topic: str) -> None:
    for name, text in _LINEAGE.items():
        body = text.lstrip("\n").replace("TOPIC", topic)
        if body.startswith("table:"):
            body += _QUICK if "ingest" in body else f"{_QUICK}transforms: [{name.removesuffix('.yaml')}.sql]\n"
        _write(folder / "lineage" / name, body)
    for name, text in _TRANSFORMS.items():
        _write(folder / "sql" / "transforms" / name, text)
    _write(folder / "lineage" / "schemas" / "click.json", json.dumps(_CLICK))


def supplies(seed: int) -> list[Supply]:
    random = Random(f"{seed}/rows")  # noqa: S311 - repeatable on purpose
    orders = pa.Table.from_pylist([_order(random, number) for number in range(1, ORDERS + 1)], ORDER)
    customers = [_customer(random, number) for number in range(CUSTOMERS * VERSIONS)]
    return [
        IcebergRows("stage.orders", orders, seed),
        PostgresRows("crm.customers", "crm.customers", CUSTOMER, ("pos", "id"), customers, seed),
    ]


def _order(random: Random, number: int) -> dict[str, object]:
    """Three orders share each instant."""
    return {
        "pos": START + timedelta(minutes=number // 3),
        "id": number,
        "channel": random.choice(("web", "shop")),
        "region": random.choice(("north", "south")),
        "customer_id": random.randrange(CUSTOMERS + 1),
        "amount": random.randrange(1000),
    }


def _customer(random: Random, number: int) -> tuple[object, ...]:
    """Every customer changes while orders come; one of them is never known."""
    at = START + timedelta(minutes=ORDERS // 3) * number / (CUSTOMERS * VERSIONS)
    return at, number + 1, number % CUSTOMERS, f"{random.choice(('new', 'regular', 'gold'))}-{number}"


def clicks(seed: int) -> Sequence[bytes]:
    """Some are sent twice, a few cannot be read."""
    random = Random(f"{seed}/clicks")  # noqa: S311 - repeatable on purpose
    numbers = [*range(1, CLICKS + 1), *random.sample(range(1, CLICKS + 1), CLICKS // 6)]
    events = [click(number) for number in numbers]
    for place in random.sample(range(CLICKS), 2):
        events.insert(place, b"no json %d" % place)
    return events


def click(number: int) -> bytes:
    """The same number is the same event, whenever it is sent."""
    happened = (START + timedelta(seconds=number)).isoformat()
    return json.dumps({"version": 1, "click": number, "page": f"p{number % 7}", "happened": happened}).encode()


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
