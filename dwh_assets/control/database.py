"""Connections to the control store: a pool that outlives a restart of the server, and errors that say so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any

import psycopg
from psycopg.abc import Buffer, QueryNoTemplate
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

from dwh_assets.model.errors import ConfigError, ControlStoreDown, DamagedData, DiskFull, NotPermitted

_LOST = ("57P01", "57P02", "57P03", "57P05", "25P03")  # shutdown by command, by crash, starting up, idle too long
_CONNECT_SECONDS = 5


class Database:
    """The control database behind a pool; every statement runs in a transaction."""

    def __init__(self, url: str, deadline: float = 30, size: int = 8, idle: float = 60) -> None:
        """`idle`: a process that stops inside a transaction loses it after so many seconds, and with it its locks."""
        self.url = _readable(url)
        self._deadline = deadline
        self._pool: ConnectionPool[psycopg.Connection[DictRow]] = ConnectionPool(
            url,
            connection_class=psycopg.Connection[DictRow],
            min_size=0,
            max_size=size,
            timeout=deadline,
            reconnect_timeout=deadline,
            open=True,
            configure=_configure,
            check=ConnectionPool[psycopg.Connection[DictRow]].check_connection,
            kwargs=_session(idle),
        )

    def __repr__(self) -> str:
        return f"Database({self.place})"

    @property
    def place(self) -> str:
        """Host, port and database, for messages: never the password."""
        parts = conninfo_to_dict(self.url)
        return f"{parts.get('host', 'localhost')}:{parts.get('port', 5432)}/{parts.get('dbname', '')}"

    @property
    def _login(self) -> str:
        return str(conninfo_to_dict(self.url).get("user", ""))

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[DictRow]]:
        """One transaction: committed on leaving, rolled back on an error."""
        connection = self._connection()
        try:
            with self._pool_return(connection), connection.transaction():
                yield connection
        except psycopg.errors.DiskFull as error:
            raise DiskFull(f"the disk of the control store at {self.place} is full; nothing was changed: {error}") from error
        except psycopg.errors.InsufficientPrivilege as error:
            raise NotPermitted(
                f"this login, {self._login}, may not do that in the control store at {self.place}: "
                f"{error.diag.message_primary}. Nothing was changed.\n"
                "Set DWH_POSTGRES_URL to a login that may; docs/operations.md says which role is for what."
            ) from error
        except (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted) as error:
            raise DamagedData(
                f"the control store at {self.place} is damaged on its disk: {error.diag.message_primary}.\n"
                "Nothing was changed. Stop the warehouse and look at the disk. Then `dwh restore BACKUP --reason ...` puts the\n"
                "control store back, and `dwh verify` and `dwh repair --reconcile` bring the tables along.\n"
                "A damaged index alone is mended by REINDEX."
            ) from error
        except psycopg.Error as error:  # an end for idling is of another class than other ends of a connection
            if not _is_lost(connection, error):
                raise
            raise ControlStoreDown(
                f"the connection to the control store at {self.place} was lost inside a transaction.\n"
                "Either all of it was committed or nothing: the caller reads its own row again to learn which."
            ) from error

    def fetch(self, statement: QueryNoTemplate, **params: Any) -> list[dict[str, Any]]:
        with self.transaction() as connection:
            return connection.execute(statement, params or None).fetchall()

    def fetch_one(self, statement: QueryNoTemplate, **params: Any) -> dict[str, Any] | None:
        rows = self.fetch(statement, **params)
        if len(rows) > 1:
            raise ValueError(f"a statement that gives at most one row gave {len(rows)}: {statement!r:.200}")
        return rows[0] if rows else None

    def execute(self, statement: QueryNoTemplate, **params: Any) -> int:
        with self.transaction() as connection:
            return connection.execute(statement, params or None).rowcount

    def clock(self) -> datetime:
        """The one clock that counts (R6)."""
        row = self.fetch_one("select clock_timestamp() as now")
        assert row is not None
        return row["now"]

    def close(self) -> None:
        self._pool.close()

    def _connection(self) -> psycopg.Connection[DictRow]:
        try:
            return self._pool.getconn()
        except PoolTimeout as error:
            raise ControlStoreDown(
                f"the control store at {self.place} gave no connection within {self._deadline:g} s: {self._problem()}\n"
                "Nothing was changed. Start it (dwh up), or correct DWH_POSTGRES_URL."
            ) from error

    @contextmanager
    def _pool_return(self, connection: psycopg.Connection[DictRow]) -> Iterator[None]:
        try:
            yield
        finally:
            self._pool.putconn(connection)

    def _problem(self) -> str:
        try:
            psycopg.connect(self.url, connect_timeout=_CONNECT_SECONDS).close()
        except psycopg.OperationalError as error:
            return str(error)
        return "it answers, but all connections of this process are in use"


def _readable(url: str) -> str:
    """A malformed URL is never quoted, as psycopg would: it may hold the password."""
    try:
        conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise ConfigError(
            "DWH_POSTGRES_URL is not the URL of a Postgres database. Nothing was changed.\n"
            "Write postgresql://user:password@host:port/database; in the password write @ as %40 and the like."
        ) from None
    return url


def one(cursor: psycopg.Cursor[Any]) -> dict[str, Any]:
    """The row of a statement that always gives one."""
    row = cursor.fetchone()
    if row is None:
        raise LookupError("a statement that always gives a row gave none")
    return row


class _IntegralNumeric(Loader):
    """Ids are numeric(20); without a fraction they are ints."""

    def load(self, data: Buffer) -> int | Decimal:
        digits = bytes(data).decode()
        return int(digits) if digits.lstrip("-").isdigit() else Decimal(digits)


def _session(idle: float) -> dict[str, Any]:
    return {
        "row_factory": dict_row,
        "application_name": "dwh",
        # Without the limit a worker that was stopped inside a transaction keeps its topic's row lock beyond its lease.
        # Without jit=off the verdicts of many topics are compiled, which takes longer than to answer them.
        # Without generic plans each claim plans the verdict anew: that takes 4 ms, to judge one topic 0.1 ms.
        "options": "-c timezone=UTC -c jit=off -c plan_cache_mode=force_generic_plan"
        f" -c idle_in_transaction_session_timeout={max(1, round(idle * 1000))}",
        "connect_timeout": _CONNECT_SECONDS,
    }


def _configure(connection: psycopg.Connection[Any]) -> None:
    connection.adapters.register_loader("numeric", _IntegralNumeric)


def _is_lost(connection: psycopg.Connection[Any], error: psycopg.Error) -> bool:
    state = error.sqlstate or ""
    return connection.closed or state in _LOST or state.startswith("08")
