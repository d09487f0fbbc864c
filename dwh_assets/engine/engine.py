"""One warehouse, opened: its settings, its control store, its catalog, its Spark server."""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING

from dwh_assets.config.settings import Settings
from dwh_assets.control.alerts import AlertStore
from dwh_assets.control.batches import BatchStore
from dwh_assets.control.claims import ClaimStore
from dwh_assets.control.column_lineage import ColumnLineageStore
from dwh_assets.control.commands import CommandStore
from dwh_assets.control.commits import CommitStore
from dwh_assets.control.database import Database
from dwh_assets.control.ingest import IngestStore
from dwh_assets.control.lateness import LatenessStore
from dwh_assets.control.lineage import LineageStore
from dwh_assets.control.maintenance import MaintenanceStore
from dwh_assets.control.migrate import prepare
from dwh_assets.control.partitions import PartitionStore
from dwh_assets.control.phases import PhaseStore
from dwh_assets.control.server import store_url
from dwh_assets.control.sources import SourceStore
from dwh_assets.control.topics import TopicStore
from dwh_assets.engine.openlineage import OpenLineage
from dwh_assets.engine.phases import Tell
from dwh_assets.model.errors import SourceError, SparkDown, SparkLost
from dwh_assets.model.failpoints import protected
from dwh_assets.model.module import Lineage, Module, SourceTable
from dwh_assets.sources.folder import FolderSource
from dwh_assets.sources.iceberg import IcebergSource
from dwh_assets.sources.kafka.source import KafkaSource, open_kafka
from dwh_assets.sources.ledger import IngestLedger
from dwh_assets.sources.postgres.source import PostgresSource
from dwh_assets.sources.source import Source
from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.object_store import object_store
from dwh_assets.warehouse.server import SparkServer
from dwh_assets.warehouse.session import end_session, open_session

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession


class Engine:
    """What every step of the way of a block needs. Threads share it; each has its own Spark session (R12)."""

    def __init__(self, settings: Settings, postgres_url: str) -> None:
        self.settings = settings
        self.postgres_url = postgres_url
        self.id = uuid.uuid4()
        self.worker = f"{socket.gethostname()}-{os.getpid()}-{self.id.hex[:6]}"  # free_lost_topics.sql knows it so
        # Whoever is stopped inside a transaction must not keep its locks from those who take over.
        size, idle = settings.slots * 2 + 4, min(settings.lease_seconds, settings.silence_seconds)
        self.database = Database(postgres_url, deadline=settings.deadline_seconds, size=size, idle=idle)
        self.topics = TopicStore(self.database)
        self.claims = ClaimStore(self.database, self.worker, settings.lease_seconds)
        self.commits = CommitStore(self.database, settings.lease_seconds)
        self.lineage = LineageStore(self.database)
        self.sources = SourceStore(self.database)
        self.ingest = IngestStore(self.database)
        self.lateness = LatenessStore(self.database)
        self.columns = ColumnLineageStore(self.database)
        self.openlineage = OpenLineage(settings, self.lineage, self.columns)
        self.partitions = PartitionStore(self.database)
        self.alerts = AlertStore(self.database)
        self.batches = BatchStore(self.database, self.worker, settings.lease_seconds)
        self.commands = CommandStore(self.database, self.worker, settings.lease_seconds)
        self.maintenance = MaintenanceStore(self.database, self.worker, settings.lease_seconds)
        self.tell_phases: Tell = PhaseStore(self.database).note
        self.ending: Callable[[], bool] = lambda: False  # asked after each block: is whoever loads to end?
        self.spark = SparkServer(settings)
        # A session a thread: settings of one attempt must not reach the statements of another (R12).
        self._sessions = threading.local() if protected("session") else SimpleNamespace()
        self._opened: list[SparkSession] = []
        self._counted: dict[int, tuple[int, int]] = {}  # block -> late rows, and the files that they were counted in
        self._postgres: dict[tuple[str, tuple[str, str], str | None], tuple[SourceTable, PostgresSource]] = {}
        self._kafka: dict[str, tuple[SourceTable, KafkaSource]] = {}

    @cached_property
    def catalog(self) -> Catalog:
        return Catalog(self.postgres_url, self.settings.warehouse_root, object_store(self.settings))

    def session(self) -> SparkSession:
        """This thread's session; the server is started if it is not there, and again if it was lost."""
        remote = self.spark.start()
        if getattr(self._sessions, "remote", None) != remote:
            self._sessions.session = self._open_session(remote)
            self._opened.append(self._sessions.session)
            self._sessions.remote = remote
        return self._sessions.session

    def _open_session(self, remote: str) -> SparkSession:
        try:
            return open_session(remote, self.postgres_url, self.settings.warehouse_root, object_store(self.settings))
        except SparkLost as error:  # nothing was begun: no block is the reason
            raise SparkDown(
                "the Spark server cannot be reached. Nothing was begun and nothing is lost; it is tried again, after a pause.\n"
                "Start it, or correct DWH_SPARK_REMOTE; without it, dwh starts a server of its own."
            ) from error

    def forget_session(self) -> None:
        """Open a new session next time: this one lost its server."""
        self._sessions.remote = None

    def end_session(self) -> None:
        """End this thread's session with its jobs; the next one that is asked for is new."""
        if getattr(self._sessions, "remote", None) is not None and self.spark.running():
            end_session(self._sessions.session)
            self._opened.remove(self._sessions.session)
        self.forget_session()

    def source(self, name: str, lineage: Lineage, reader: Module | None = None) -> Source:
        """A table as a source of rows, built here or not. `reader` is the module whose base it is: its file says which columns
        hold the position and the shard."""
        declared = next((s for s in lineage.sources if s.name == name), None)
        if declared is not None and declared.events is not None:
            return self._events(declared, lineage)
        if declared is not None:
            return self._outside(declared, reader or declared)
        builders = lineage.builders(name)
        if not builders:
            raise SourceError(f"table {name} is neither built here nor declared in lineage/sources/.")
        columns = reader or builders[0]
        return IcebergSource(
            self.catalog,
            name,
            columns.position,
            shard_by=columns.shard_by,
            built=True,
            session=self.session,
            counted=self._counted,
        )

    def _events(self, table: SourceTable, lineage: Lineage) -> Source:
        """A stream of events. Its ledger is that of the one module that takes it in."""
        module = next((m for m in lineage.modules if m.base == table.name), None)
        if module is None or table.events is None:
            raise SourceError(f"source {table.name} is taken in by no module; add one with processor ingest.")
        ledger = IngestLedger(self.ingest, module.name, module.table)
        if table.files is not None:
            return FolderSource(table.name, table.events, table.files, self.settings.project, ledger, table.position)
        known = self._kafka.get(table.name)
        if known is None or known[0] != table or known[1].ledger != ledger:
            # One instance per source: it holds the connection to its broker.
            self._kafka[table.name] = (table, open_kafka(table, ledger, self.settings))
        return self._kafka[table.name][1]

    def _outside(self, table: SourceTable, reader: Module | SourceTable) -> Source:
        columns, shard_by = reader.position, reader.shard_by
        if table.kind == "iceberg":
            return IcebergSource(
                self.catalog,
                table.name,
                columns,
                watermark_delay=table.delay,
                shard_by=shard_by,
                session=self.session,
                counted=self._counted,
            )
        url = os.environ.get(table.url_env, "") if table.url_env else self.postgres_url
        if not url:
            raise SourceError(f"source {table.name}: the environment variable {table.url_env} with its URL is not set.")
        # One instance per source: it remembers how far it was complete while a prepared transaction hides its start.
        key = (table.name, columns, shard_by)
        if key not in self._postgres or self._postgres[key][0] != table:
            relation = table.relation or table.name
            opened = PostgresSource(
                table.name, url, relation, columns, horizon=table.horizon, delay=table.delay, shard_by=shard_by
            )
            self._postgres[key] = (table, opened)
        return self._postgres[key][1]

    def close(self) -> None:
        """Give everything back: sessions to a server that still runs, connections to the control store."""
        self.openlineage.close()
        if self._opened and self.spark.running():
            for session in self._opened:
                session.stop()
        if "catalog" in self.__dict__:  # it connects when it is first asked
            self.catalog.close()
        self.database.close()


@contextmanager
def open_engine(settings: Settings) -> Iterator[Engine]:
    """Open the warehouse of these settings; an embedded Postgres is started, and its control store made, if there is none."""
    url = store_url(settings)
    engine = Engine(settings, url)
    try:
        prepare(engine.database)
        yield engine
    finally:
        engine.close()
