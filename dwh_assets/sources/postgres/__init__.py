"""Tables of a Postgres database as sources of base rows."""

from dwh_assets.sources.postgres.source import PostgresSource

__all__ = ["PostgresSource"]
