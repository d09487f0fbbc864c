"""Where chaos happens: a scratch home with a Postgres, a Spark server and a broker of its own, or with given ones."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import psutil
import psycopg
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from dwh_assets.config.settings import Settings, load_settings
from dwh_assets.control.server import EmbeddedPostgres
from dwh_assets.model.errors import SourceDown
from dwh_assets.sources.kafka.server import KafkaServer
from dwh_assets.warehouse.server import SparkServer

PREPARED = "chaos_prepared"
# Most of the time of few rows would go into compiling for many.
SPARK_OPTIONS = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"}
_KAFKA_SECONDS = 30


@dataclass(frozen=True)
class Ground:
    """What is given is shared with others, so it is not harmed."""

    home: Path
    postgres_url: str | None = None
    spark_remote: str | None = None
    kafka_bootstrap: str | None = None
    spark_memory: str = "2g"
    streams: bool = True  # a broker is needed

    @property
    def servers(self) -> tuple[str, ...]:
        """Those that may be killed."""
        given = {"postgres": self.postgres_url, "kafka": self.kafka_bootstrap, "spark": self.spark_remote}
        return tuple(name for name, url in given.items() if url is None and (name != "kafka" or self.streams))

    @property
    def project(self) -> Path:
        return self.home / "project"

    @cached_property
    def tag(self) -> str:
        """A word that no other ground on the same servers has."""
        return uuid.uuid4().hex[:8]

    def environment(self, url: str) -> dict[str, str]:
        """Settings of a process that works here, as variables."""
        given = {
            "DWH_HOME": str(self.home),
            "DWH_PROJECT": str(self.project),
            "DWH_WAREHOUSE": str(self.home / "warehouse"),
            "DWH_POSTGRES_URL": url,
            "DWH_SPARK_REMOTE": self.spark_remote or "",
            "DWH_SPARK_MEMORY": self.spark_memory,
            "DWH_SPARK_OPTIONS": json.dumps(SPARK_OPTIONS),
            "DWH_KAFKA_BOOTSTRAP": self.brokers if self.streams else "",
            "DWH_LEASE_SECONDS": "60",
            "DWH_TICK_SECONDS": "0.2",
            "DWH_SLOTS": "1",
            "DWH_DEADLINE_SECONDS": "30",
            "DWH_COMPACT_FILES": "2",
        }
        given |= {name: os.environ.get(name, "") for name in _NO_SETTING}
        return {name: value for name, value in given.items() if value}

    def settings(self, url: str, slots: int) -> Settings:
        given = self.environment(url) | {"DWH_SLOTS": str(slots)}
        named = {name.removeprefix("DWH_").lower(): given[name] for name in given if name not in _NO_SETTING}
        return _settings(named | {"spark_options": SPARK_OPTIONS})

    # Servers

    @property
    def _postgres(self) -> EmbeddedPostgres:
        return EmbeddedPostgres(self.home)

    @property
    def _kafka(self) -> KafkaServer:
        return KafkaServer(_settings({"home": self.home, "project": self.project}))

    @cached_property
    def brokers(self) -> str:
        return self.kafka_bootstrap or self._kafka.start()

    def start(self) -> None:
        """All servers that are our own."""
        if self.postgres_url is None:
            self._postgres.start()
            # A killed server loses nothing by it, only a machine without power would.
            self._execute("alter system set fsync = off")
            self._execute("select pg_reload_conf()")
        if self.spark_remote is None:
            server = self.spark_server()
            server.start(timeout=240)
            server.warm()

    def crash_postgres(self) -> None:
        self._postgres.stop(immediate=True)
        self._postgres.start()

    def crash_kafka(self) -> None:
        self._kafka.kill()
        self._kafka.start()

    def crash_spark(self) -> None:
        if (process := self.spark_server().process()) is not None:  # it may be dead already
            process.kill()

    def freeze(self, server: str, seconds: float) -> None:
        """SIGSTOP of all its processes, then SIGCONT: it answers nobody meanwhile, and breaks nothing off."""
        frozen = self._processes(server)
        try:
            for process in frozen:
                with suppress(psutil.NoSuchProcess):
                    process.suspend()
            time.sleep(seconds)
        finally:
            for process in frozen:
                with suppress(psutil.NoSuchProcess):
                    process.resume()

    def _processes(self, server: str) -> list[psutil.Process]:
        if server == "postgres":
            return [psutil.Process(pid) for pid in self._postgres.processes() if psutil.pid_exists(pid)]
        process = self.spark_server().process() if server == "spark" else self._kafka.process()
        return [] if process is None else [process]

    def spark_server(self) -> SparkServer:
        return SparkServer(self.settings(self.url("postgres"), 1))

    def stop(self) -> None:
        """End the servers that are our own, and what a worker may have left that was killed while it started one."""
        if self.spark_remote is None:
            self.spark_server().stop()
        if self.kafka_bootstrap is None:
            self._kafka.stop()
        if self.postgres_url is None:
            self._postgres.stop(immediate=True)
        else:
            prepared = sql.Identifier(f"{PREPARED}_{self.tag}")
            self._execute(sql.SQL("drop database if exists {} with (force)").format(prepared))
        for process in psutil.process_iter(["name"]):  # passes over those that end meanwhile
            if process.info["name"] == "java" and any(str(self.home) in word for word in _words(process)):
                with suppress(psutil.NoSuchProcess):
                    process.kill()

    # Databases

    def url(self, database: str) -> str:
        parts = conninfo_to_dict(self.postgres_url or self._postgres.url)
        return f"postgresql://{parts['user']}:{parts['password']}@{parts['host']}:{parts['port']}/{database}"

    def create_prepared(self) -> str:
        name = f"{PREPARED}_{self.tag}"
        self._execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        return self.url(name)

    @contextmanager
    def clone(self, name: str, is_evidence: Callable[[], bool] = lambda: False) -> Iterator[str]:
        """The URL of a copy of the prepared database. Files of its tables are shared, as none is ever overwritten."""
        prepared, copy = f"{PREPARED}_{self.tag}", sql.Identifier(f"chaos_{self.tag}_{name}")
        # Spark keeps connections to the catalogs it has seen, and a database in use is no template.
        self._execute(f"select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '{prepared}'")
        # Through the log it would also copy how many numbers a sequence may give out before it logs again: after a crash of the
        # server they would be given out once more.
        statement = sql.SQL("create database {} template {} strategy file_copy")
        self._execute(statement.format(copy, sql.Identifier(prepared)))
        try:
            yield self.url(f"chaos_{self.tag}_{name}")
        finally:
            if is_evidence():
                self._leave(f"chaos_{self.tag}_{name}")
            else:
                self._execute(sql.SQL("drop database if exists {} with (force)").format(copy))

    def _leave(self, copy: str) -> None:
        """Under the name by which every command finds it in this home; on a given server it keeps its own."""
        if self.postgres_url is None:
            self._execute(f"select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '{copy}'")
            self._execute("drop database if exists dwh")
            self._execute(sql.SQL("alter database {} rename to dwh").format(sql.Identifier(copy)))

    def _execute(self, statement: str | sql.Composed) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode() if isinstance(statement, str) else statement)

    # Events

    @property
    def topic(self) -> str:
        return f"chaos-{self.tag}"

    def create_topic(self, partitions: int) -> None:
        admin = AdminClient({"bootstrap.servers": self.brokers, "log_level": 0})
        admin.create_topics([NewTopic(self.topic, partitions)])[self.topic].result(_KAFKA_SECONDS)

    def send(self, events: list[bytes], partitions: int) -> None:
        producer = Producer({"bootstrap.servers": self.brokers, "linger.ms": 5, "log_level": 0, "message.timeout.ms": 20_000})
        for number, event in enumerate(events):
            producer.produce(self.topic, event, partition=number % partitions)
        if producer.flush(_KAFKA_SECONDS):
            raise SourceDown(f"the broker did not take the events of topic {self.topic} in time.")


_NO_SETTING = ("DWH_JARS", "DWH_UNPROTECTED")


def _settings(given: dict[str, Any]) -> Settings:
    """These, and every other as it is by default: what the person's environment says is meant for their own warehouse."""
    others = {name: field.get_default() for name, field in Settings.model_fields.items() if name not in given}
    return load_settings(**given).model_copy(update=others)


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return []
