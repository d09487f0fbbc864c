"""A small warehouse per test, cloned from a prepared one: real Postgres, real Spark, real worker processes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql as pg
from psycopg.conninfo import conninfo_to_dict

from dwh_assets.config.lineage_files import load_lineage
from dwh_assets.config.settings import Settings, load_settings
from dwh_assets.control.acts import ActStore
from dwh_assets.control.migrate import migrate
from dwh_assets.engine.apply import apply
from dwh_assets.engine.attempt import Outcome
from dwh_assets.engine.batch import BatchRan, BatchRunner
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.loop import Loop
from dwh_assets.engine.verify import verify
from dwh_assets.model.module import Lineage
from tests.faults.nursery import Nursery, Worker, eventually
from tests.faults.orders_project import START, append, create_sources, customers, write_project

Row = dict[str, Any]
Rows = list[Any]
FACT, DIMENSION, MART, EVENTS_A, EVENTS_B = "fact.orders", "dim.customer", "mart.orders", "fact.events#a", "fact.events#b"
TABLES = (DIMENSION, FACT, MART, "fact.events")
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Farm:
    """Where worlds come from: one prepared database that is cloned; its tables' files are shared and never overwritten."""

    server_url: str
    folder: Path
    nursery: Nursery
    spark_remote: str | None
    overrides: tuple[tuple[str, str], ...] = ()

    def prepare(self) -> None:
        """Sources written, Lineage applied, the dimension loaded; nothing of the facts is planned yet."""
        write_project(self.folder / "project")
        self._create("prepared", "template0")
        world = World(self, self.url_of("prepared"))
        migrate(world.engine.database)
        create_sources(world.engine.catalog)
        apply(world.engine, load_lineage(world.settings.lineage_folder, world.settings.transforms_folder), "test")
        world.run_to_the_end(DIMENSION)
        world.close()

    @contextmanager
    def world(self) -> Iterator[World]:
        name = f"world_{next(_numbers)}"
        self._create(name, "prepared")
        world = World(self, self.url_of(name))
        try:
            yield world
        finally:
            world.close()
            self._execute(pg.SQL("drop database {} with (force)").format(pg.Identifier(name)))

    def url_of(self, database: str) -> str:
        parts = conninfo_to_dict(self.server_url)
        return f"postgresql://{parts['user']}:{parts['password']}@{parts['host']}:{parts['port']}/{database}"

    def environment(self, url: str) -> dict[str, str]:
        remote = {"DWH_SPARK_REMOTE": self.spark_remote} if self.spark_remote else {}
        return {
            "DWH_HOME": str(self.folder / "home"),
            "DWH_PROJECT": str(self.folder / "project"),
            "DWH_POSTGRES_URL": url,
            "DWH_WAREHOUSE": str(self.folder / "warehouse"),
            "DWH_LEASE_SECONDS": "600",
            "DWH_TICK_SECONDS": "0.02",
            "DWH_SLOTS": "1",
            "DWH_DEADLINE_SECONDS": "30",
            **remote,
            **dict(self.overrides),
        }

    def _create(self, name: str, template: str) -> None:
        # Spark keeps connections to the catalogs it has seen, and a database in use is no template.
        self._execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = 'prepared'")
        # As files: else a crash of the server would let the copy give out numbers once more.
        self._execute(
            pg.SQL("create database {} template {} strategy file_copy").format(pg.Identifier(name), pg.Identifier(template))
        )

    def _execute(self, statement: str | pg.Composed) -> None:
        with psycopg.connect(self.server_url, autocommit=True) as connection:
            connection.execute(statement.encode() if isinstance(statement, str) else statement)


class World:
    def __init__(self, farm: Farm, url: str) -> None:
        self.farm = farm
        self.url = url
        self._workers: list[Worker] = []

    @cached_property
    def settings(self) -> Settings:
        given = self.farm.environment(self.url)
        return load_settings(**{name.removeprefix("DWH_").lower(): value for name, value in given.items()})

    @cached_property
    def engine(self) -> Engine:
        return Engine(self.settings, self.url)

    @cached_property
    def lineage(self) -> Lineage:
        return self.engine.lineage.active()

    @property
    def acts(self) -> ActStore:
        return ActStore(self.engine.database, "test")

    def start_worker(
        self,
        *topics: str,
        failpoints: str = "",
        unprotected: str = "",
        act: str = "loop",
        barrier: Path | None = None,
        clock: float = 0,
        url: str | None = None,
        **settings: object,
    ) -> Worker:
        """A worker process that drives the topics until nothing is due."""
        environment = self.farm.environment(url or self.url) | {f"DWH_{k.upper()}": str(v) for k, v in settings.items()}
        if failpoints:
            environment["DWH_FAILPOINTS"] = failpoints
        if unprotected:
            environment["DWH_UNPROTECTED"] = unprotected
        output = self.farm.folder / f"worker-{next(_numbers)}.jsonl"
        job = {
            "environment": environment,
            "act": act,
            "topics": topics or (FACT,),
            "output": str(output),
            "clock": clock,
            "barrier": str(barrier) if barrier else None,
        }
        worker = Worker(self.farm.nursery, self.farm.nursery.ask(start=job), output)
        self._workers.append(worker)
        return worker

    def run_to_the_end(self, *topics: str) -> list[Outcome]:
        """Drive the topics in this process until nothing is due."""
        outcomes: list[Outcome] = []
        Loop(self.engine, topics=frozenset(topics or (FACT,)), report=outcomes.append).run(until_dry=True)
        return outcomes

    def run_batch(self, name: str = "nightly") -> BatchRan:
        return BatchRunner(self.engine, self.lineage).run(name)

    def run_until_loaded(self, topic: str = FACT) -> None:
        """Drive the topic until all of it is loaded, waiting for leases that must run out first."""

        def loaded() -> bool | None:
            self.run_to_the_end(topic)
            return True if {block["status"] for block in self.blocks(topic)} == {"committed"} else None

        eventually(loaded, f"{topic} loaded")

    def feed_customers(self) -> None:
        """Every customer changes, so that the dimension has a block to load."""
        append(self.engine.catalog, "stage.customers", customers("gold", 201, START + timedelta(days=2)))

    def changed_customers(self) -> Rows:
        """What readers of the dimension see once that block is loaded."""
        return [tuple(row[name] for name in sorted(row)) for row in customers("gold", 201, START + timedelta(days=2))]

    def expire_leases(self, tables: bool = True) -> None:
        """Let every lease be over now, and every transaction that a stopped worker sits in, as its time limit would."""
        self.fetch(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
            " where datname = current_database() and state like 'idle in transaction%' and pid <> pg_backend_pid()"
        )
        past = "lease_until = clock_timestamp() - interval '1 second'"
        self.engine.database.execute(f"update dwh.topic set {past} where lease_until is not null".encode())
        self.engine.database.execute(f"update dwh.batch_instance set {past} where lease_until is not null".encode())
        if tables:
            self.engine.database.execute(f"update dwh.target set {past} where lease_until is not null".encode())

    def fetch(self, statement: str, **params: Any) -> list[Row]:
        return self.engine.database.fetch(statement.encode(), **params)

    def blocks(self, topic: str = FACT) -> list[Row]:
        return self.fetch(
            "select b.id, b.seq, b.last_pos, b.last_id, b.next_pos, b.next_id, b.status, b.failures, b.crashes from dwh.block b"
            " join dwh.topic t on t.id = b.topic_id where t.name = %(topic)s and b.kind = 'load' order by b.id",
            topic=topic,
        )

    def executions(self, topic: str = FACT) -> list[Row]:
        return self.fetch(
            "select e.id, e.block_id, e.token, e.worker, e.execution_code, e.reason from dwh.execution e"
            " join dwh.topic t on t.id = e.topic_id where t.name = %(topic)s order by e.id",
            topic=topic,
        )

    def rows(self, table: str = FACT) -> list[tuple[Any, ...]]:
        """What readers of a table see, without the audit columns."""
        found = self.engine.catalog.load(table).scan().to_arrow()
        kept = found.select(sorted(name for name in found.column_names if not name.startswith("_")))
        return sorted((tuple(row.values()) for row in kept.to_pylist()), key=repr)

    def fingerprint(self) -> dict[str, list[tuple[Any, ...]]]:
        return {table: self.rows(table) for table in TABLES}

    def findings(self) -> list[str]:
        found = verify(self.engine, self.lineage)
        return [f"{f.invariant} {f.topic} #{f.block_id}: {f.text}" for f in found if f.severity == "error"]

    def assert_clean(self) -> None:
        assert self.findings() == []

    def close(self) -> None:
        for worker in self._workers:
            if worker.exit_code() is None:
                worker.kill()
        self.engine.close()
        self.engine.catalog.close()
