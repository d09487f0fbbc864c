"""The shop's own database: a schema of the control Postgres with customers' changes, payments, and how far they were fed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import psycopg
from psycopg.sql import SQL, Composed, Identifier

from dwh_assets.demo.shop import Row
from dwh_assets.demo.streams import Kind, Stream
from dwh_assets.model.errors import AlreadyRunning, ControlStoreDown

_TYPES: dict[Kind, SQL] = {
    "instant": SQL("timestamptz"),
    "bigint": SQL("bigint"),
    "integer": SQL("integer"),
    "text": SQL("text"),
    "money": SQL("numeric(10, 2)"),
}
_FEEDER = 7_301_977  # the advisory lock of the one feeder
_STATE = """
create schema if not exists crm;
create table if not exists crm.demo (
    one boolean primary key default true check (one), seed bigint not null, start timestamptz not null,
    scale double precision not null, past interval not null
);
create table if not exists crm.fed (stream text primary key, upto timestamptz not null);
"""
_MARK = """
insert into crm.fed (stream, upto) values (%s, %s)
on conflict (stream) do update set upto = greatest(fed.upto, excluded.upto)
"""


@dataclass(frozen=True)
class Story:
    """What the generator was first started with; a later start goes on with the same."""

    seed: int
    start: datetime
    scale: float
    past: timedelta


class Oltp:
    def __init__(self, url: str) -> None:
        self._url = url

    def prepare(self, streams: tuple[Stream, ...]) -> None:
        """Create the schema and its tables where they are missing."""
        with self._connection() as connection:
            connection.execute("select pg_advisory_xact_lock(%s, 0)", [_FEEDER])  # `if not exists` alone can collide
            connection.execute(_STATE)
            for stream in streams:
                connection.execute(_create_table(stream))

    def story(self, first: Story) -> Story:
        """The story that is being told; `first` becomes it if there is none yet."""
        with self._connection() as connection:
            connection.execute(
                "insert into crm.demo (seed, start, scale, past) values (%s, %s, %s, %s) on conflict do nothing",
                [first.seed, first.start, first.scale, first.past],
            )
            row = connection.execute("select seed, start, scale, past from crm.demo").fetchone()
        assert row is not None
        return Story(*row)

    def fed_upto(self, name: str) -> datetime | None:
        with self._connection() as connection:
            row = connection.execute("select upto from crm.fed where stream = %s", [name]).fetchone()
        return row[0] if row else None

    def mark_fed(self, name: str, upto: datetime) -> None:
        with self._connection() as connection:
            connection.execute(_MARK, [name, upto])

    def write(self, stream: Stream, upto: datetime, rows_since: Callable[[datetime | None], list[Row]]) -> int:
        """Insert what arrived since the last time. Rows and `upto` commit together: a crash neither loses nor doubles a row."""
        with self._connection() as connection:
            connection.execute("select pg_advisory_xact_lock(%s, hashtext(%s))", [_FEEDER, stream.name])
            found = connection.execute("select upto from crm.fed where stream = %s", [stream.name]).fetchone()
            fed = found[0] if found else None
            rows = rows_since(fed) if fed is None or fed < upto else []
            _copy(connection, stream, rows)
            connection.execute(_MARK, [stream.name, upto])
        return len(rows)

    @contextmanager
    def sole_feeder(self) -> Iterator[None]:
        """Hold the place of the one feeder; a second one would append the same rows to the Iceberg tables."""
        with self._connection(autocommit=True) as connection:
            row = connection.execute("select pg_try_advisory_lock(%s)", [_FEEDER]).fetchone()
            if not row or not row[0]:
                raise AlreadyRunning(
                    "the demo is being fed by another process on this database; this one wrote nothing.\n"
                    "Stop the other one first, or let it go on: the warehouse needs only one."
                )
            try:
                yield
            finally:
                # Not left to the end of the connection: the server notices that a little later than the next round begins.
                connection.execute("select pg_advisory_unlock(%s)", [_FEEDER])

    @contextmanager
    def _connection(self, autocommit: bool = False) -> Iterator[psycopg.Connection[tuple]]:
        try:
            with psycopg.connect(self._url, autocommit=autocommit, connect_timeout=5, options="-c timezone=UTC") as connection:
                yield connection
        except psycopg.OperationalError as error:
            raise ControlStoreDown(
                f"the demo's database did not answer ({type(error).__name__}).\n"
                "What was fed is complete up to the last commit; the feed goes on from there when it is back."
            ) from error


def _table(stream: Stream) -> Identifier:
    return Identifier(*stream.name.split("."))


def _create_table(stream: Stream) -> Composed:
    """The primary key is the index on the position that a source needs."""
    columns = [SQL("{} {}").format(Identifier(name), _TYPES[kind]) for name, kind in stream.columns]
    key = SQL(", ").join(map(Identifier, stream.position))
    return SQL("create table if not exists {} ({}, primary key ({}))").format(_table(stream), SQL(", ").join(columns), key)


def _copy(connection: psycopg.Connection[tuple], stream: Stream, rows: list[Row]) -> None:
    if not rows:
        return
    names = SQL(", ").join(Identifier(name) for name, _ in stream.columns)
    with connection.cursor().copy(SQL("copy {} ({}) from stdin").format(_table(stream), names)) as copy:
        for row in rows:
            copy.write_row(row)
