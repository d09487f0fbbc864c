"""What the cases of transforms run on: Spark alone, or the warehouse where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dwh_assets.config.lineage_files import load_lineage
from dwh_assets.config.settings import Settings
from dwh_assets.engine.cases import CaseRunner
from dwh_assets.engine.describe import columns_of
from dwh_assets.engine.engine import Engine, open_engine
from dwh_assets.engine.presence import using_servers
from dwh_assets.model.column import TableColumn
from dwh_assets.model.errors import Terminal
from dwh_assets.model.module import Lineage
from dwh_assets.warehouse.server import SparkServer
from dwh_assets.warehouse.session import make_active, open_plain_session


@contextmanager
def case_runner(settings: Settings) -> Iterator[CaseRunner]:
    """Spark is started if it does not run, and ended by the last who uses it. The control store is not created."""
    lineage = load_lineage(settings.lineage_folder, settings.transforms_folder)
    with using_servers(settings):
        if settings.postgres_url is not None or (settings.home / "postgres" / "data").exists():
            with open_engine(settings) as engine:
                yield CaseRunner(engine.session(), lineage, settings.transforms_folder, _Real(engine, lineage).columns)
            return
        session = open_plain_session(SparkServer(settings).start())
        make_active(session)
        try:
            yield CaseRunner(session, lineage, settings.transforms_folder)
        finally:
            session.stop()


class _Real:
    def __init__(self, engine: Engine, lineage: Lineage) -> None:
        self._engine, self._lineage = engine, lineage

    def columns(self, table: str) -> list[TableColumn] | None:
        """None where the table is not there, or not to be reached: then the values tell."""
        if table in self._lineage.tables and not self._engine.catalog.exists(table):
            return None
        try:
            return columns_of(self._engine, self._lineage, table)
        except Terminal:
            return None
