"""Opening the warehouse for a command: settings, log file, control store, engine; what was started here is stopped again."""

from __future__ import annotations

import getpass
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import typer

from dwh_assets.cli.logs import log_to_file, quiet_spark
from dwh_assets.cli.output import working
from dwh_assets.cli.presence import present
from dwh_assets.cli.stopping import undisturbed
from dwh_assets.config.settings import Settings
from dwh_assets.control.database import Database
from dwh_assets.control.migrate import migrate
from dwh_assets.control.server import EmbeddedPostgres
from dwh_assets.model.errors import ConfigError

if TYPE_CHECKING:
    from dwh_assets.engine.engine import Engine
    from dwh_assets.warehouse.server import SparkServer


def settings_of(context: typer.Context) -> Settings:
    return context.find_root().obj


def who() -> str:
    """Who acts, for the event log."""
    return f"{getpass.getuser()}@{socket.gethostname()}"


@contextmanager
def control_store(settings: Settings) -> Iterator[Database]:
    """The control store alone: enough to look and to act by hand, and opened without loading Spark's libraries."""
    _require_warehouse(settings)
    with _servers(settings):
        url = settings.postgres_url.get_secret_value() if settings.postgres_url else EmbeddedPostgres(settings.home).start()
        database = Database(url, deadline=settings.deadline_seconds, size=2)
        try:
            with working("waiting for the control store"):
                migrate(database)
            yield database
        finally:
            database.close()


@contextmanager
def warehouse(settings: Settings, create: bool = False) -> Iterator[Engine]:
    """The whole warehouse. Spark is started when it is first needed."""
    from dwh_assets.engine.engine import open_engine  # late: it takes a second that most commands do not need
    from dwh_assets.warehouse.server import SparkServer

    quiet_spark()
    if not create:
        _require_warehouse(settings)
    with _servers(settings, spark=SparkServer(settings)), open_engine(settings) as engine:
        yield engine


def _require_warehouse(settings: Settings) -> None:
    if settings.postgres_url is None and not (settings.home / "postgres" / "data").exists():
        raise ConfigError(
            f"there is no warehouse in {settings.home} yet. `dwh up` makes one there.\n"
            "To use another one, set DWH_HOME to its folder or DWH_POSTGRES_URL to its control database."
        )


@contextmanager
def _servers(settings: Settings, spark: SparkServer | None = None) -> Iterator[None]:
    log_to_file(settings)
    with present(settings.home, partial(stop_server, settings)) as owns:
        if settings.postgres_url is None and not EmbeddedPostgres(settings.home).running():
            owns("postgres")
        if spark is not None and settings.spark_remote is None and not spark.running():
            owns("spark")
        yield


def stop_server(settings: Settings, name: str) -> None:
    """End one of the servers of this home."""
    with undisturbed():
        if name == "postgres":
            EmbeddedPostgres(settings.home).stop()
            return
        from dwh_assets.warehouse.server import SparkServer

        SparkServer(settings).stop()
