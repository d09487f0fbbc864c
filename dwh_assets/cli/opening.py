"""Opening the warehouse for a command: settings, log file, control store, engine; what was started here is stopped again."""

from __future__ import annotations

import getpass
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from dwh_assets.cli.logs import log_to_file
from dwh_assets.cli.output import working
from dwh_assets.config.settings import Settings
from dwh_assets.control.database import Database
from dwh_assets.control.migrate import prepare
from dwh_assets.control.server import store_url
from dwh_assets.engine.presence import using_servers
from dwh_assets.model.errors import ConfigError

if TYPE_CHECKING:
    from dwh_assets.engine.engine import Engine


def settings_of(context: typer.Context) -> Settings:
    return context.find_root().obj


def who() -> str:
    """Who acts, for the event log."""
    return f"{getpass.getuser()}@{socket.gethostname()}"


@contextmanager
def control_store(settings: Settings, create: bool = False) -> Iterator[Database]:
    """The control store alone: enough to look and to act by hand, and opened without loading Spark's libraries."""
    if not create:
        require_warehouse(settings)
    log_to_file(settings)
    with using_servers(settings, spark=False):
        url = store_url(settings)
        database = Database(url, deadline=settings.deadline_seconds, size=2)
        try:
            with working("waiting for the control store"):
                prepare(database)
            yield database
        finally:
            database.close()


@contextmanager
def warehouse(settings: Settings, create: bool = False) -> Iterator[Engine]:
    """The whole warehouse. Spark is started when it is first needed."""
    from dwh_assets.engine.engine import open_engine  # late: it takes a second that most commands do not need

    if not create:
        require_warehouse(settings)
    log_to_file(settings)
    with using_servers(settings), open_engine(settings) as engine:
        yield engine


def require_warehouse(settings: Settings) -> None:
    if settings.postgres_url is None and not (settings.home / "postgres" / "data").exists():
        raise ConfigError(
            f"there is no warehouse in {settings.home} yet. `dwh up` makes one there.\n"
            "To use another one, set DWH_HOME to its folder or DWH_POSTGRES_URL to its control database."
        )
