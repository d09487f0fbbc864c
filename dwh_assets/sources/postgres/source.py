"""A table or view of a Postgres database as a source: cut by its index, read over JDBC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import reduce
from itertools import accumulate
from operator import add
from typing import TYPE_CHECKING, Literal

from psycopg import sql

from dwh_assets.model.column import TableColumn
from dwh_assets.model.errors import SourceError
from dwh_assets.model.position import Bounds, Position
from dwh_assets.sources.postgres.binary import hashed_positions, positions
from dwh_assets.sources.postgres.describing import columns_of
from dwh_assets.sources.postgres.hashing import all_values, row_hash
from dwh_assets.sources.postgres.horizon import TransactionHorizon, clock
from dwh_assets.sources.postgres.relation import APPLICATION, Columns, Connection, Relation, scalar
from dwh_assets.sources.source import HASH_MODULUS, NOTHING, Content, Cut, Fingerprint, Noted, Observation, ReadRange, Recount

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

ROWS_A_READER = 250_000
MOST_READERS = 8
ROWS_WATCHED = 1_000_000
# Two numbers of eight bytes a row. Ids are moved by 2^63: they are unsigned, and Postgres has no such type.
_POSITIONS = """
    copy (select {pos}::timestamptz, ({id}::numeric - 9223372036854775808)::bigint{content} from {relation} where {condition})
    to stdout (format binary)"""


@dataclass
class PostgresSource:
    name: str
    url: str = field(repr=False)
    relation: str
    position: tuple[str, str] = ("pos", "id")
    horizon: Literal["transaction_start", "delay"] = "transaction_start"
    delay: timedelta = timedelta()
    shard_by: str | None = None

    def __post_init__(self) -> None:
        if self.horizon == "delay" and not self.delay:
            raise SourceError(
                f"source {self.name}: `horizon: delay` needs a `delay` above the time that a transaction may take to commit.\n"
                "Nothing was read. Rows that commit later than that are found as late rows."
            )
        self._relation = Relation(self.name, self.url, self.relation, self.position, self.shard_by)
        self._transactions = TransactionHorizon(self.name)

    def observe(self, now: datetime) -> Observation:
        with self._relation.transaction() as connection:
            columns = self._relation.columns(connection)
            self._relation.require_positions(connection, columns)
            at = min(clock(connection), now)
            complete = clock(connection) if self.horizon == "delay" else self._transactions.observe(connection)
        with self._relation.transaction() as connection:
            query = sql.SQL("select max({pos}) from {relation} where {pos} <= {at}").format(**self._names(), at=sql.Literal(at))
            newest = scalar(connection, query)
        assert newest is None or isinstance(newest, datetime)
        return Observation(None if complete is None else min(complete - self.delay, now), newest)

    def columns(self) -> list[TableColumn]:
        """What the source database says of its columns."""
        return columns_of(self._relation)

    def snapshot(self) -> int | None:
        return None

    def cut(self, last: Position, upto: datetime, size: int, count: int, shard: str | None = None) -> list[Cut]:
        if size < 1:
            raise ValueError(f"a block needs at least one row, not {size}")
        cuts: list[Cut] = []
        with self._relation.transaction() as connection:
            columns = self._relation.columns(connection)
            self._relation.require_positions(connection, columns)
            while len(cuts) < count and (cut := self._next_cut(connection, columns, last, upto, size, shard)) is not None:
                cuts.append(cut)
                last = cut.next
        return cuts

    def read(self, session: SparkSession, bounds: Bounds | None, snapshot: int | None, shard: str | None = None) -> DataFrame:
        """One JDBC connection a part. Below the watermark rows do not change, so that the parts need no common snapshot."""
        with self._relation.transaction() as connection:
            columns = self._relation.columns(connection)
            if bounds is None:
                conditions = [sql.SQL(" and ").join(self._relation.of_shard(shard) or [sql.SQL("true")])]
            else:
                parts = self._parts(connection, columns, bounds, shard)
                conditions = [self._relation.condition(columns, part.last, part.next, shard) for part in parts]
            predicates = [condition.as_string(connection) for condition in conditions]
            table = self._relation.identifier.as_string(connection)
        return session.read.jdbc(self._jdbc_url(), table, predicates=predicates, properties=self._jdbc_properties())

    def fingerprint(self, bounds: Bounds, snapshot: int | None, shard: str | None = None) -> Fingerprint:
        """With the values: Postgres hashes the rows that it reads, which makes the count slower by a few hundredths."""
        with self._relation.transaction() as connection:
            columns = self._relation.columns(connection)
            return self._hashed(connection, columns, bounds, shard, all_values(connection, columns))

    def recount(self, bounds: Bounds, noted: Noted, shard: str | None = None) -> Recount | None:
        """What was hashed by another version, or of a column that is gone, cannot be compared: it is noted anew."""
        with self._relation.transaction() as connection:
            columns = self._relation.columns(connection)
            everything, known = all_values(connection, columns), noted.read.content
            if known is None or known.hashed[0] != everything[0] or not columns.types.keys() >= set(known.columns):
                now = self._hashed(connection, columns, bounds, shard, everything)
                return Recount(now, replace(noted.read, content=now.content), rows=now.rows)
            now = self._hashed(connection, columns, bounds, shard, known.hashed)
        return Recount(now, noted.read, rows=now.rows)

    def late(self, ranges: Sequence[ReadRange], shard: str | None = None) -> dict[int, int]:
        """By counting again: a Postgres table does not say what is new in it, so only its newest blocks are watched."""
        watched = _newest(ranges)
        if not watched:
            return {}
        with self._relation.transaction() as connection:
            columns = self._relation.columns(connection)
            whole = Bounds(watched[-1][1].last, watched[0][1].next)
            read = reduce(add, (then for _, _, _, then in watched), NOTHING)
            if self._fingerprint(connection, columns, whole, shard) == read:
                return {}
            found = {
                block: self._fingerprint(connection, columns, bounds, shard).appeared_since(then)
                for block, bounds, _, then in watched
            }
        return {block: rows for block, rows in found.items() if rows}

    def about(self, last: Position, upto: datetime, shard: str | None = None) -> int:
        """How many rows the planner expects behind a position: years of them are not counted one by one."""
        with self._relation.transaction() as connection:
            condition = self._relation.condition(self._relation.columns(connection), last, upto, shard)
            query = sql.SQL("explain (format json) select from {relation} where {condition}")
            found = scalar(connection, query.format(**self._names(), condition=condition))
        assert isinstance(found, list)
        return round(found[0]["Plan"]["Plan Rows"])

    def has_index(self) -> bool:
        """Whether a whole index begins with the position, so that a cut does not sort the table."""
        query = """
            select exists (
                select from pg_index i join pg_class c on c.oid = i.indexrelid
                join pg_am m on m.oid = c.relam and m.amname = 'btree'
                join pg_attribute p on p.attrelid = i.indrelid and p.attnum = i.indkey[0] and p.attname = {pos}
                join pg_attribute q on q.attrelid = i.indrelid and q.attnum = i.indkey[1] and q.attname = {id}
                where i.indrelid = to_regclass({relation}) and i.indisvalid and i.indpred is null)"""
        with self._relation.transaction() as connection:
            pos, id_ = map(sql.Literal, self.position)
            relation = sql.Literal(self._relation.identifier.as_string(connection))
            return bool(scalar(connection, sql.SQL(query).format(pos=pos, id=id_, relation=relation)))

    def _names(self) -> dict[str, sql.Identifier]:
        pos, id_ = map(sql.Identifier, self.position)
        return {"pos": pos, "id": id_, "relation": self._relation.identifier}

    def _next_cut(
        self, connection: Connection, columns: Columns, last: Position, upto: datetime, size: int, shard: str | None
    ) -> Cut | None:
        rest = self._relation.condition(columns, last, upto, shard)
        next_ = self._row(connection, rest, size - 1) or self._row(connection, rest, 0, descending=True)
        if next_ is None:
            return None
        self._relation.require_ids(connection, columns, Bounds(last, next_))
        rows = self._count(connection, self._relation.condition(columns, last, next_, shard))
        left = self._row(connection, self._relation.condition(columns, next_, upto, shard), 0)
        return Cut(next_, rows, takes_all=left is None)

    def _row(self, connection: Connection, condition: sql.Composable, offset: int, descending: bool = False) -> Position | None:
        query = "select {pos}, {id} from {relation} where {condition} order by {pos} {way}, {id} {way} offset {offset} limit 1"
        way = sql.SQL("desc" if descending else "asc")
        row = connection.execute(
            sql.SQL(query).format(**self._names(), condition=condition, way=way, offset=sql.Literal(offset))
        ).fetchone()
        return None if row is None else self._position_of(row[0], row[1])

    def _position_of(self, pos: datetime, id_: object) -> Position:
        # A NULL or negative id sorts to an end of its pos; the check of the range that follows names it.
        return Position(pos, min(max(int(str(id_)), 0), 2**64 - 1) if id_ is not None else 2**64 - 1)

    def _count(self, connection: Connection, condition: sql.Composable) -> int:
        return int(
            str(scalar(connection, sql.SQL("select count(*) from {relation} where {c}").format(**self._names(), c=condition)))
        )

    def _fingerprint(self, connection: Connection, columns: Columns, bounds: Bounds, shard: str | None) -> Fingerprint:
        """By the same hash as tables have theirs, so that a loaded block can be compared with its base rows."""
        condition = self._relation.condition(columns, bounds.last, bounds.next, shard)
        query = sql.SQL(_POSITIONS).format(**self._names(), condition=condition, content=sql.SQL(""))
        found = NOTHING
        with connection.cursor().copy(query) as copy:
            for part in positions(copy):
                found += part.fingerprint()
        return found

    def _hashed(
        self, connection: Connection, columns: Columns, bounds: Bounds, shard: str | None, hashed: tuple[str, ...]
    ) -> Fingerprint:
        condition = self._relation.condition(columns, bounds.last, bounds.next, shard)
        content = sql.SQL(", {}").format(row_hash(columns, hashed[1:]))
        query = sql.SQL(_POSITIONS).format(**self._names(), condition=condition, content=content)
        found, total = NOTHING, 0
        with connection.cursor().copy(query) as copy:
            for part, hash_sum in hashed_positions(copy):
                found += part.fingerprint()
                total += hash_sum
        return replace(found, content=Content(total % HASH_MODULUS, hashed))

    def _parts(self, connection: Connection, columns: Columns, bounds: Bounds, shard: str | None) -> list[Bounds]:
        """The range in parts of equal numbers of rows, one for each reader."""
        condition = self._relation.condition(columns, bounds.last, bounds.next, shard)
        rows = self._count(connection, condition)
        parts = min(MOST_READERS, rows // ROWS_A_READER + 1)
        ends = {self._row(connection, condition, rows * part // parts) for part in range(1, parts)}
        stops = sorted({bounds.next, *(end for end in ends if end is not None)})
        return [Bounds(last, next_) for last, next_ in zip([bounds.last, *stops], stops, strict=False)]

    def _jdbc_url(self) -> str:
        parts = self._relation.conninfo()
        return f"jdbc:postgresql://{parts.get('host', 'localhost')}:{parts.get('port', '5432')}/{parts.get('dbname', '')}"

    def _jdbc_properties(self) -> dict[str, str]:
        parts = self._relation.conninfo()
        # Without a fetch size the driver takes all rows of a part into memory at once.
        fixed = {"driver": "org.postgresql.Driver", "fetchsize": "20000", "ApplicationName": APPLICATION}
        return fixed | {key: parts[key] for key in ("user", "password", "sslmode") if key in parts}


def _newest(ranges: Sequence[ReadRange]) -> list[ReadRange]:
    """The newest blocks that together hold no more than the rows that are cheap to count every minute, newest first."""
    ordered = sorted(ranges, key=lambda entry: entry[1].last, reverse=True)
    rows = accumulate(then.rows for _, _, _, then in ordered)
    return [entry for entry, total in zip(ordered, rows, strict=True) if total <= ROWS_WATCHED] or ordered[:1]
