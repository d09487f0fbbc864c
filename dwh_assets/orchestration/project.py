"""The warehouse of this process: opened once, on first use, and shared by all its sensors and runs."""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from dwh_assets.config.lineage_files import load_lineage
from dwh_assets.config.settings import Settings, load_settings
from dwh_assets.control.column_lineage import ColumnLineageStore, lineage_of_row
from dwh_assets.control.database import Database
from dwh_assets.control.lineage import LineageStore
from dwh_assets.control.server import EmbeddedPostgres
from dwh_assets.engine.engine import Engine, open_engine
from dwh_assets.engine.presence import using_servers
from dwh_assets.model.column_lineage import ColumnLineage
from dwh_assets.model.errors import ControlStoreDown
from dwh_assets.model.module import Lineage

logger = logging.getLogger(__name__)
Columns = dict[str, list[dict[str, str]]]  # table -> its columns with name and type
_lock = threading.Lock()
_opened: list[Engine] = []


def engine() -> Engine:
    """The engine of this process. Embedded servers that are not there are started."""
    with _lock:
        if not _opened:
            settings, stack = load_settings(), ExitStack()
            stack.enter_context(using_servers(settings))
            _opened.append(stack.enter_context(open_engine(settings)))
            atexit.register(stack.close)
        return _opened[0]


@contextmanager
def using(engine: Engine) -> Iterator[None]:
    """Let sensors and runs of this process use an engine that is open already."""
    _opened.insert(0, engine)
    try:
        yield
    finally:
        _opened.remove(engine)


@dataclass(frozen=True)
class Project:
    """What the definitions are made from, and where it came from."""

    lineage: Lineage
    settings: Settings
    origin: str
    columns: Columns = field(default_factory=dict)
    column_lineage: dict[str, ColumnLineage] = field(default_factory=dict)  # by module, as far as it is known


def load_project() -> Project:
    """The Lineage in force; where there is no control store yet, the one of the files."""
    settings = load_settings()
    url = _running_store(settings)
    if url is not None:
        found = _in_force(settings, url)
        if found is not None:
            return found
    files = load_lineage(settings.lineage_folder, settings.transforms_folder)
    origin = "the files of this project: no Lineage is in force yet (dwh up, or dwh lineage apply)"
    logger.warning("definitions come from %s", origin)
    return Project(files, settings, origin)


def _running_store(settings: Settings) -> str | None:
    """The control store's URL. An embedded one is not started for this: validation in a clean clone needs none."""
    if settings.postgres_url is not None:
        return settings.postgres_url.get_secret_value()
    embedded = EmbeddedPostgres(settings.home)
    return embedded.url if embedded.running() else None


def _in_force(settings: Settings, url: str) -> Project | None:
    database = Database(url, deadline=5, size=1)
    try:
        store = LineageStore(database)
        if not store.exists():
            return None
        lineage = store.active()
        if not lineage.modules:
            return None
        origin = f"the Lineage in force at {database.place}"
        known = ColumnLineageStore(database).newest()
        followed = {name: lineage_of_row(row) for name, row in known.items()}
        return Project(lineage, settings, origin, store.columns(), followed)
    except ControlStoreDown as error:
        logger.warning("%s", error)
        return None
    finally:
        database.close()
