"""The rows of the sources: most are there when a round begins, the rest may come while it runs, and some of those are late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, LiteralString, Protocol, cast

import psycopg
import pyarrow as pa
from psycopg import sql

from dwh_assets.engine.engine import Engine

BASE, MORE, LATE = "base", "more", "late"
CHUNKS = (BASE, MORE, LATE)
_MARK = "chaos.chunk"


def split(count: int, seed: str) -> dict[str, list[int]]:
    """Which rows, in the order of their positions, are there at first, come after them, or come late between them."""
    random = Random(seed)  # noqa: S311 - repeatable on purpose
    end = count - count // 5
    late = set(random.sample(range(end), end // 10)) if end else set()
    return {BASE: [n for n in range(end) if n not in late], MORE: list(range(end, count)), LATE: sorted(late)}


class Supply(Protocol):
    """One source table. Its rows are given in parts, each exactly once whatever happens meanwhile."""

    @property
    def name(self) -> str: ...

    def create(self, engine: Engine) -> None: ...

    def feed(self, engine: Engine, chunk: str) -> None: ...


@dataclass(frozen=True)
class IcebergRows:
    name: str
    rows: pa.Table  # in the order of their positions
    seed: int

    def create(self, engine: Engine) -> None:
        engine.catalog.sql.create_namespace_if_not_exists(self.name.split(".")[0])
        engine.catalog.sql.create_table_if_not_exists(self.name, self.rows.schema)

    def feed(self, engine: Engine, chunk: str) -> None:
        """Marked: after a lost reply the table itself says whether they came."""
        with engine.catalog.asking(self.name):
            table = engine.catalog.load(self.name)
            known = {str((s.summary or {}).get(_MARK)) for s in table.metadata.snapshots}
            chosen = self.rows.take(split(self.rows.num_rows, f"{self.seed}/{self.name}")[chunk])
            if chunk not in known and chosen.num_rows:
                table.append(chosen, snapshot_properties={_MARK: chunk})


@dataclass(frozen=True)
class PostgresRows:
    """In the control database, whatever database the source's own is."""

    name: str
    relation: str
    columns: Sequence[tuple[str, str]]  # name and type, ours or as the catalog of a Postgres tells it
    position: tuple[str, str]
    rows: Sequence[tuple[Any, ...]]  # in the order of their positions
    seed: int

    def create(self, engine: Engine) -> None:
        schema = self.relation.rpartition(".")[0] or "public"
        words = [(sql.Identifier(name), sql.SQL(cast("LiteralString", kind))) for name, kind in self.columns]
        columns = sql.SQL(", ").join(sql.SQL("{} {}").format(*pair) for pair in words)
        with psycopg.connect(engine.postgres_url, autocommit=True) as connection:
            connection.execute(sql.SQL("create schema if not exists {}").format(sql.Identifier(schema)))
            connection.execute(sql.SQL("create table {} ({})").format(self._table, columns))
            position = sql.SQL(", ").join(sql.Identifier(name) for name in self.position)
            connection.execute(sql.SQL("create index on {} ({})").format(self._table, position))

    def feed(self, engine: Engine, chunk: str) -> None:
        """In one transaction with a mark, so that they come once."""
        chosen = [self.rows[n] for n in split(len(self.rows), f"{self.seed}/{self.name}")[chunk]]
        values = sql.SQL(", ").join([sql.Placeholder()] * len(self.columns))
        insert = sql.SQL("insert into {} values ({})").format(self._table, values)
        with engine.database.transaction() as connection:
            connection.execute(b"create table if not exists public.chaos_fed (chunk text primary key)")
            mark = b"insert into public.chaos_fed values (%s) on conflict do nothing returning chunk"
            if connection.execute(mark, [f"{self.name}/{chunk}"]).fetchone() and chosen:
                with connection.cursor() as cursor:
                    cursor.executemany(insert, chosen)

    @property
    def _table(self) -> sql.Identifier:
        return sql.Identifier(*self.relation.split("."))
