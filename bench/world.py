"""A warehouse of the bench's own: a backlog of events, a dimension, and tables that plain Spark writes for comparison."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import psycopg

from bench.scale import Scale
from dwh_assets.config.settings import Settings
from dwh_assets.control.database import Database
from dwh_assets.control.migrate import migrate
from dwh_assets.engine.apply import apply
from dwh_assets.engine.engine import Engine
from dwh_assets.model.module import Lineage, Module, SourceTable
from dwh_assets.warehouse.tables import create_or_widen

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession
    from pyspark.sql.types import StructType

CUSTOMERS = "stage.customer"
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
DAYS = 10
FILE_ROWS = 1_000_000
QUERY = """SELECT e.pos, e.id, e.customer_id, e.product_id, e.quantity, e.price, e.quantity * e.price AS amount, e.channel,
       e.city, c.segment
FROM {events} e JOIN {customers} c ON c.customer_id = e.customer_id"""
TRANSFORM = QUERY.format(events="{{ block }}", customers=CUSTOMERS)
AUDIT = ("0L AS _block", "0L AS _execution", "current_timestamp() AS _loaded_at")


@dataclass(frozen=True)
class World:
    engine: Engine
    scale: Scale

    @property
    def session(self) -> SparkSession:
        return self.engine.session()

    def events(self, rows: int) -> str:
        """A source of so many rows in the order of their position; made once, in files as a loader would leave them."""
        name = f"stage.events_{rows}"
        if not self.engine.catalog.exists(name):
            self._write_events(name, rows)
        return name

    def module(self, name: str, events: str, maxstep: int, stretch: int = 16) -> Module:
        """Put a module in force, alone, that joins the events with the dimension."""
        self._write_customers()
        file = self.engine.settings.transforms_folder / "bench" / "events.sql"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(TRANSFORM)
        module = Module(
            name, name, (events,), reads=(CUSTOMERS,), transforms=("bench/events.sql",), maxstep=maxstep, stretch=stretch
        )
        sources = tuple(SourceTable(table, "iceberg") for table in (events, CUSTOMERS))
        apply(self.engine, Lineage((module,), sources), "bench")
        return module

    def plain_query(self, events: str, where: str = "") -> str:
        query = QUERY.format(events=f"dwh.{events}", customers=f"dwh.{CUSTOMERS}")
        return f"SELECT *, {', '.join(AUDIT)} FROM ({query} {where})"

    def plain_table(self, name: str, events: str) -> str:
        """A table like the one that the module builds, for plain Spark to write."""
        self._write_customers()
        own = self.session.sql(QUERY.format(events=f"dwh.{events}", customers=f"dwh.{CUSTOMERS}")).schema
        create_or_widen(self.engine.catalog, name, _optional(own), "pos", {})
        return name

    def count(self, table: str) -> int:
        return self.session.table(f"dwh.{table}").count()

    def _write_customers(self) -> None:
        if self.engine.catalog.exists(CUSTOMERS):
            return
        rows = self.session.range(self.scale.customers).selectExpr(
            f"timestamp_seconds({int(FIRST.timestamp())}) AS pos",
            "id",
            "id AS customer_id",
            "element_at(array('private', 'business', 'partner', 'staff'), CAST(id % 4 + 1 AS int)) AS segment",
        )
        create_or_widen(self.engine.catalog, CUSTOMERS, _optional(rows.schema), None, {})
        rows.selectExpr("*", *AUDIT).coalesce(1).writeTo(f"dwh.{CUSTOMERS}").append()

    def _write_events(self, name: str, rows: int) -> None:
        step = DAYS * 86_400_000_000 // rows
        ids = self.session.range(0, rows, 1, max(1, rows // FILE_ROWS))
        made = ids.selectExpr(
            f"timestamp_micros({int(FIRST.timestamp())} * 1000000L + id * {step}L) AS pos",
            "id",
            f"abs(hash(id)) % {self.scale.customers}L AS customer_id",
            "abs(hash(id, 1)) % 5000L AS product_id",
            "CAST(abs(hash(id, 2)) % 9 + 1 AS int) AS quantity",
            "CAST(abs(hash(id, 3)) % 100000 / 100 AS decimal(10, 2)) AS price",
            "element_at(array('web', 'shop', 'phone'), CAST(abs(hash(id, 4)) % 3 + 1 AS int)) AS channel",
            "concat('city-', abs(hash(id, 5)) % 800) AS city",
            "CASE WHEN id % 50 <> 0 THEN concat('note ', abs(hash(id, 6)) % 100000) END AS note",
            "id % 7 = 0 AS returned",
        )
        create_or_widen(self.engine.catalog, name, _optional(made.schema), "pos", {})
        made.selectExpr("*", *AUDIT).writeTo(f"dwh.{name}").append()


def _optional(columns: StructType) -> StructType:
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, field.dataType, True) for field in columns if not field.name.startswith("_")])


@contextmanager
def fresh_engine(settings: Settings, postgres_url: str, name: str) -> Iterator[Engine]:
    """An engine on a control store of its own, in the same server, dropped afterwards."""
    server, _, _ = postgres_url.rpartition("/")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"create database {name}".encode())
        database = Database(f"{server}/{name}")
        migrate(database)
        database.close()
        engine = Engine(settings, f"{server}/{name}")
        try:
            yield engine
        finally:
            engine.catalog.close()
            engine.close()
            connection.execute(f"drop database {name} with (force)".encode())
