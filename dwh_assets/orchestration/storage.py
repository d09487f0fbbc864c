"""Dagster's own storage, in the control Postgres: one database to back up, and no second secret."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from dagster import Field, StringSource
from dagster._config.config_schema import UserConfigSchema
from dagster._serdes import ConfigurableClassData
from dagster_postgres import DagsterPostgresStorage

from dwh_assets.config.settings import load_settings
from dwh_assets.control.database import Database
from dwh_assets.control.migrate import migrate
from dwh_assets.control.server import store_url

SCHEMA = "dagster"


class ControlStoreStorage(DagsterPostgresStorage):
    """Run, event and schedule storage in the schema `dagster` of the control store.

    `home` is the warehouse's folder; its embedded Postgres is started if DWH_POSTGRES_URL names no server.
    """

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
    database = Database(given, deadline=settings.deadline_seconds, size=1)
    migrate(database)  # the schema must be there before Dagster fills it
    database.close()
    parts = urlsplit(given)
    options = f"options=-csearch_path%3D{SCHEMA}"
    query = f"{parts.query}&{options}" if parts.query else options
    return urlunsplit(("postgresql+psycopg2", parts.netloc, parts.path, query, ""))
