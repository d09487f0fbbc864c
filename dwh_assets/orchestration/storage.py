"""Dagster's own storage, in the control Postgres: one database to back up, and no second secret."""

from __future__ import annotations

import os
from functools import cache
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from dagster import Field, StringSource
from dagster._config.config_schema import UserConfigSchema
from dagster._serdes import ConfigurableClassData
from dagster_postgres import DagsterPostgresStorage
from sqlalchemy import Engine, create_engine

from dwh_assets.config.settings import load_settings
from dwh_assets.control.database import Database
from dwh_assets.control.migrate import prepare
from dwh_assets.control.server import store_url

SCHEMA = "dagster"
_created: set[str] = set()  # URLs whose tables this process has seen


class ControlStoreStorage(DagsterPostgresStorage):
    """Run, event and schedule storage in the schema `dagster` of the control store.

    `home` is the warehouse's folder; its embedded Postgres is started if DWH_POSTGRES_URL names no server.

    Dagster's own storage opens a connection for every query, and a code server makes a storage for every tick of a sensor. A
    connection costs more than most of these queries, so that all storages of a process share a few.
    """

    def __init__(self, postgres_url: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(postgres_url, should_autocreate_tables=postgres_url not in _created, inst_data=inst_data)
        _created.add(postgres_url)
        for storage in (self._run_storage, self._event_log_storage, self._schedule_storage):
            storage._engine = _engine(postgres_url)

    @classmethod
    def config_type(cls) -> UserConfigSchema:
        return {"home": Field(StringSource, is_required=True)}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> ControlStoreStorage:
        return cls(storage_url(config_value["home"]), inst_data=inst_data)


def storage_url(home: str) -> str:
    """The control store's URL as dagster-postgres wants it, with a search path of its own."""
    settings = load_settings(home=os.fspath(home))
    given = store_url(settings)
    _prepare(given, settings.deadline_seconds)  # the schema must be there before Dagster fills it
    parts = urlsplit(given)
    options = f"options=-csearch_path%3D{SCHEMA}"
    query = f"{parts.query}&{options}" if parts.query else options
    return urlunsplit(("postgresql+psycopg2", parts.netloc, parts.path, query, ""))


@cache
def _prepare(url: str, deadline: float) -> None:
    database = Database(url, deadline=deadline, size=1)
    prepare(database)
    database.close()


@cache
def _engine(url: str) -> Engine:
    """Asked whether it still answers before it is used: Postgres may have been started again meanwhile."""
    return create_engine(url, isolation_level="AUTOCOMMIT", pool_size=3, max_overflow=20, pool_recycle=600, pool_pre_ping=True)
