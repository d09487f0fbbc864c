"""How far a Postgres table is complete when its position is set by now(): just below the oldest open transaction (R7)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from dwh_assets.model.errors import SourceError
from dwh_assets.model.failpoints import protected
from dwh_assets.model.position import MICROSECOND
from dwh_assets.sources.postgres.relation import APPLICATION, Connection

# A transaction takes its now() a little before others can see that it began.
UNSEEN = timedelta(milliseconds=100)

_ACTIVITY = """
select min(coalesce(xact_start, query_start)) filter (where xact_start is not null or state = 'active') as oldest,
       count(*) filter (where query = '<insufficient privilege>' or state = 'disabled') as hidden
from pg_stat_activity
where datname = current_database()
  and pid <> pg_backend_pid()
  and application_name is distinct from %s
  and coalesce(backend_type, '') not in ('walsender', 'autovacuum worker', 'parallel worker')
"""
_PREPARED = "select transaction::text from pg_prepared_xacts where database = current_database()"


def clock(connection: Connection) -> datetime:
    row = connection.execute("select clock_timestamp()").fetchone()
    assert row is not None
    return row[0]


@dataclass
class TransactionHorizon:
    """Remembers what it saw: Postgres does not tell when a prepared transaction began, only when it was prepared.

    One that is new since the observation before began after that horizon, or it would have held it back. So that horizon
    bounds it until it ends. Without an observation before, nothing is known.
    """

    source: str
    _before: datetime | None = None
    _prepared: dict[str, datetime | None] = field(default_factory=dict)

    def observe(self, connection: Connection) -> datetime | None:
        """The instant below which every row is committed; None if that cannot be told."""
        self._refuse_standby(connection)
        # The order matters: a transaction that is prepared meanwhile must be seen by one of the two queries.
        horizon = clock(connection) - UNSEEN
        oldest = self._oldest_open(connection)
        self._prepared = {key: self._prepared.get(key, self._before) for (key,) in connection.execute(_PREPARED).fetchall()}
        if oldest is not None and protected("horizon"):
            horizon = min(horizon, oldest - MICROSECOND)  # or rows that commit late would be passed over
        for bound in self._prepared.values():
            if bound is None:
                return None
            horizon = min(horizon, bound)
        self._before = horizon
        return horizon

    def _oldest_open(self, connection: Connection) -> datetime | None:
        row = connection.execute(_ACTIVITY, (APPLICATION,)).fetchone()
        assert row is not None
        oldest, hidden = row
        if hidden:
            raise SourceError(
                f"source {self.source}: {hidden} sessions of its database do not show when their transactions began, so rows that"
                " commit late could be lost. Nothing was read.\n"
                f"Run there: GRANT pg_read_all_stats TO {connection.info.user} (and leave track_activities on),"
                " or set `horizon: delay` and a `delay` in the source's file."
            )
        return oldest

    def _refuse_standby(self, connection: Connection) -> None:
        row = connection.execute("select pg_is_in_recovery()").fetchone()
        if row and row[0]:
            raise SourceError(
                f"source {self.source}: its database is a standby, which does not show the transactions of its primary.\n"
                "Nothing was read. Set `horizon: delay` and a `delay` above the replication lag in the source's file,"
                " or read from the primary."
            )
