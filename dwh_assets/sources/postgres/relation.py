"""One relation in a source database: its connection, its columns, and the conditions that select a range of it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from dwh_assets.model.errors import BadPosition, SourceDown, SourceError
from dwh_assets.model.position import EARLIEST, MAX_ID, Bounds, Position

APPLICATION = "dwh_assets source"  # its transactions only read, so that they hold back no watermark
_INTEGERS = {"smallint": 2**15 - 1, "integer": 2**31 - 1, "bigint": 2**63 - 1}
Connection = psycopg.Connection[tuple]


@dataclass(frozen=True)
class Columns:
    """What the catalog of the source database says of the relation's columns, checked to be usable."""

    types: dict[str, str]
    not_null: frozenset[str]
    greatest_id: int


@dataclass(frozen=True)
class Relation:
    source: str
    url: str = field(repr=False)
    name: str
    position: tuple[str, str]
    shard_by: str | None = None

    def __post_init__(self) -> None:
        self.conninfo()

    def conninfo(self) -> dict[str, str]:
        """The parts of the URL. A malformed one is never quoted: it may hold the password."""
        try:
            return {key: str(value) for key, value in conninfo_to_dict(self.url).items()}
        except psycopg.ProgrammingError:
            raise SourceError(
                f"source {self.source}: its URL is not a Postgres URL. Nothing was read.\n"
                "Write postgresql://user:password@host:port/database in the environment variable that its file names."
            ) from None

    @property
    def identifier(self) -> sql.Identifier:
        return sql.Identifier(*self.name.split("."))

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One read-only transaction that sees one state of the source database throughout."""
        try:
            with psycopg.connect(self.url, connect_timeout=10, application_name=APPLICATION) as connection:
                connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                connection.read_only = True
                connection.execute("set local timezone to 'UTC'")
                yield connection
        except psycopg.errors.InsufficientPrivilege as error:
            raise SourceError(
                f"source {self.source}: {error.diag.message_primary}. Nothing was read.\n"
                f"Grant the source's role the right to select from {self.name}."
            ) from error
        except (psycopg.OperationalError, psycopg.errors.IdleInTransactionSessionTimeout) as error:
            raise SourceDown(
                f"source {self.source}: its database cannot be reached or gave up: {str(error).strip()}\n"
                "Nothing was lost; the source is asked again at the next tick."
            ) from error

    def columns(self, connection: Connection) -> Columns:
        """The relation's columns, or an error that names what exists instead of what is missing."""
        rows = connection.execute(
            "select attname, format_type(atttypid, atttypmod), attnotnull from pg_attribute"
            " where attrelid = to_regclass(%s) and attnum > 0 and not attisdropped order by attnum",
            (self.identifier.as_string(connection),),
        ).fetchall()
        if not rows:
            raise self.unknown(connection)
        types = {name: type_ for name, type_, _ in rows}
        self._require_columns(types)
        return Columns(types, frozenset(name for name, _, not_null in rows if not_null), self._greatest_id(types))

    def unknown(self, connection: Connection) -> SourceError:
        found = connection.execute(
            "select schemaname || '.' || relname from pg_stat_user_tables"
            " union all select schemaname || '.' || viewname from pg_views where schemaname !~ '^(pg_|information_schema)'"
        ).fetchall()
        near = difflib.get_close_matches(self.name, sorted(name for (name,) in found), n=5, cutoff=0.3)
        return SourceError(
            f"source {self.source}: there is no relation {self.name} in its database, or the role may not see it.\n"
            f"Nothing was read. {'Similar ones are ' + ', '.join(near) if near else 'It holds no similar one'}."
            " Correct `relation` in the source's file."
        )

    def _require_columns(self, types: dict[str, str]) -> None:
        wanted = [*self.position, *([self.shard_by] if self.shard_by else [])]
        if missing := [name for name in wanted if name not in types]:
            raise SourceError(
                f"source {self.source}: {self.name} has no column {', '.join(missing)}. Nothing was read, no cursor moved.\n"
                f"It has {', '.join(types)}. Correct `position` or `shard_by` in the source's file, or restore the column."
            )
        pos_type = types[self.position[0]]
        if not pos_type.startswith("timestamp") or not pos_type.endswith("with time zone"):
            raise BadPosition(
                f"source {self.source}: {self.name}.{self.position[0]} is {pos_type}; it must have a time zone.\n"
                f"Nothing was read. Without a time zone an hour in autumn comes twice. Change the column, or name a view that"
                f" says which zone it means: ({self.position[0]} at time zone 'Europe/Berlin') as {self.position[0]}."
            )

    def _greatest_id(self, types: dict[str, str]) -> int:
        type_ = types[self.position[1]]
        if type_ in _INTEGERS:
            return _INTEGERS[type_]
        precision, _, scale = type_.removeprefix("numeric(").removesuffix(")").partition(",")
        if precision.isdigit() and int(precision) <= 20 and scale in ("", "0"):
            return min(10 ** int(precision) - 1, MAX_ID)
        raise BadPosition(
            f"source {self.source}: {self.name}.{self.position[1]} is {type_}; an id needs bigint or numeric(20,0).\n"
            "Nothing was read. Change the column, or name a view that casts it."
        )

    def condition(self, columns: Columns, last: Position, end: Position | datetime, shard: str | None) -> sql.Composed:
        """Rows after `last`, up to `end`: a position, or an instant with all its ids."""
        pos, id_ = map(sql.Identifier, self.position)
        parts = [sql.SQL("({}, {}) > {}").format(pos, id_, self._literal(columns, last))]
        if isinstance(end, Position):
            parts.append(sql.SQL("({}, {}) <= {}").format(pos, id_, self._literal(columns, end)))
        else:
            parts.append(sql.SQL("{} <= {}").format(pos, sql.Literal(end)))
        return sql.SQL(" and ").join([*parts, *self.of_shard(shard)])

    def of_shard(self, shard: str | None) -> list[sql.Composable]:
        if shard is None:
            return []
        if self.shard_by is None:
            raise SourceError(
                f"source {self.source} is read by shard {shard}, but its file names no `shard_by` column. Nothing was read."
            )
        return [sql.SQL("{} = {}").format(sql.Identifier(self.shard_by), sql.Literal(shard))]

    def _literal(self, columns: Columns, position: Position) -> sql.Composed:
        # A literal beyond the column's type would turn the column into numeric and lose the index.
        numeric = columns.types[self.position[1]].startswith("numeric")
        id_ = position.id if numeric else min(position.id, _INTEGERS["bigint"])
        type_ = sql.SQL("numeric" if numeric else "bigint")
        return sql.SQL("({}, {}::{})").format(sql.Literal(position.pos), sql.Literal(str(id_)), type_)

    def require_positions(self, connection: Connection, columns: Columns) -> None:
        """No row without a position: it would be in no block."""
        pos, _ = self.position
        test = sql.SQL("{pos} < {first}") if pos in columns.not_null else sql.SQL("{pos} is null or {pos} < {first}")
        self._refuse(
            connection, test.format(pos=sql.Identifier(pos), first=sql.Literal(EARLIEST.pos)), pos, "NULL or before year 1"
        )

    def require_ids(self, connection: Connection, columns: Columns, bounds: Bounds) -> None:
        """No row of the range without an id, or with one that is no unsigned 64-bit value."""
        pos, id_ = map(sql.Identifier, self.position)
        test = sql.SQL("{pos} between {first} and {end} and ({id} is null or {id} < 0 or {id} > {most})").format(
            pos=pos,
            id=id_,
            first=sql.Literal(bounds.last.pos),
            end=sql.Literal(bounds.next.pos),
            most=sql.Literal(columns.greatest_id),
        )
        self._refuse(connection, test, self.position[1], "NULL or not an unsigned 64-bit value")

    def _refuse(self, connection: Connection, test: sql.Composable, column: str, what: str) -> None:
        exists = sql.SQL("select exists (select from {} where {})").format(self.identifier, test)
        if not scalar(connection, exists):
            return
        count = scalar(connection, sql.SQL("select count(*) from {} where {}").format(self.identifier, test))
        raise BadPosition(
            f"source {self.source}: {count} rows of {self.name} have a {column} that is {what}; no block would hold them.\n"
            f"Nothing was read and no cursor moved. Correct these rows, or name a view without them as the source's `relation`."
        )


def scalar(connection: Connection, query: sql.Composable) -> object:
    row = connection.execute(query).fetchone()  # type: ignore[arg-type]
    return row[0] if row else None
