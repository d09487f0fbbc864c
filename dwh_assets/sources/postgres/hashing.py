"""A hash of a row's values, made by Postgres itself where the row lies."""

from __future__ import annotations

import re
from collections.abc import Sequence

from psycopg import sql

from dwh_assets.sources.postgres.relation import Columns, Connection

# Types that Postgres hashes as they are, in a tenth of the time that their text takes. The others are hashed as text.
_HASHABLE = re.compile(
    r"(smallint|integer|bigint|numeric|real|double precision|boolean|uuid|date|interval|bytea|text|jsonb|inet|timestamp|time"
    r"|character|character varying)(\([\d,]+\))?( with(out)? time zone)?"
)


def all_values(connection: Connection, columns: Columns) -> tuple[str, ...]:
    """How a row is hashed here: by the major version, as another one may hash otherwise, and every column."""
    return (f"postgres {connection.info.server_version // 10000}", *sorted(columns.types))


def row_hash(columns: Columns, names: Sequence[str]) -> sql.Composable:
    values = [_value(name, columns.types[name]) for name in names]
    return sql.SQL("hash_record_extended(row({}), 0)").format(sql.SQL(", ").join(values))


def _value(name: str, type_: str) -> sql.Composable:
    return sql.Identifier(name) if _HASHABLE.fullmatch(type_) else sql.SQL("{}::text").format(sql.Identifier(name))
