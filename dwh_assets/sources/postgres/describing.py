"""The columns of a relation in a source database, in Spark's words."""

from __future__ import annotations

import re

from dwh_assets.model.column import TableColumn
from dwh_assets.sources.postgres.relation import Relation

# As Spark's JDBC reader takes them; whatever it does not know comes as text.
_TYPES = {
    "smallint": "smallint",
    "integer": "int",
    "bigint": "bigint",
    "real": "float",
    "double precision": "double",
    "numeric": "decimal(38,18)",
    "boolean": "boolean",
    "date": "date",
    "bytea": "binary",
}
_NUMERIC = re.compile(r"numeric\((\d+),(-?\d+)\)")
_COLUMNS = """
    select a.attname, format_type(a.atttypid, a.atttypmod), coalesce(col_description(a.attrelid, a.attnum), ''), a.attnotnull,
           exists (select from pg_index i where i.indrelid = a.attrelid and i.indisprimary and a.attnum = any (i.indkey))
    from pg_attribute a
    where a.attrelid = to_regclass(%s) and a.attnum > 0 and not a.attisdropped
    order by a.attnum
"""


def columns_of(relation: Relation) -> list[TableColumn]:
    """With their comments and the primary key; an unknown relation is an error that names near ones."""
    with relation.transaction() as connection:
        rows = connection.execute(_COLUMNS, (relation.identifier.as_string(connection),)).fetchall()
        if not rows:
            raise relation.unknown(connection)
    return [TableColumn(name, spark_type(type_), comment, required, key) for name, type_, comment, required, key in rows]


def spark_type(type_: str) -> str:
    if type_.endswith("[]"):
        return f"array<{spark_type(type_.removesuffix('[]'))}>"
    if type_.startswith("timestamp"):
        return "timestamp"
    if match := _NUMERIC.fullmatch(type_):
        return f"decimal({match[1]},{match[2]})"
    return _TYPES.get(type_, "string")
