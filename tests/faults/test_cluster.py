"""The demo on a Spark cluster of several processes, one of which is lost while it works, by a worker that is elsewhere."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyiceberg.table import ALWAYS_TRUE

from dwh_assets.config.lineage_files import load_lineage
from dwh_assets.config.settings import Settings, load_settings
from dwh_assets.demo.feed import Feed
from dwh_assets.engine.apply import apply
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.verify import verify
from dwh_assets.model.module import Lineage
from dwh_assets.workers.loop import asking
from tests.faults.cluster import Cluster, cluster_of
from tests.faults.nursery import eventually
from tests.workers.real import worker_on

ROOT = Path(__file__).parents[2]
MODULES = ("dim.customer", "dim.product", "fact.sales#web")
FACT = "fact.sales#web"
SMALL = {"spark.executor.memory": "512m", "spark.executor.cores": "1"}


def some_of_the_demo() -> Lineage:
    whole = load_lineage(ROOT / "lineage", ROOT / "sql" / "transforms")
    modules = tuple(
        replace(module, backoff=timedelta(), repeat=timedelta()) for module in whole.modules if module.name in MODULES
    )
    read = {name for module in modules for name in module.depends_on}
    return Lineage(modules, tuple(source for source in whole.sources if source.name in read), parameters=whole.parameters)


def settings_on(cluster: Cluster, home: Path, url: str) -> Settings:
    return load_settings(
        home=home, project=ROOT, postgres_url=url, spark_master=cluster.master, spark_memory="1g", spark_options=SMALL, slots=1
    )


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
def test_the_demo_is_loaded_by_a_cluster_that_loses_a_worker_in_the_middle(database_url: str, tmp_path: Path) -> None:
    with cluster_of(tmp_path / "cluster", workers=2) as cluster:
        engine = Engine(settings_on(cluster, tmp_path / "home", database_url), database_url)
        try:
            engine.spark.start(timeout=300)
            eventually(lambda: True if len(cluster.executors()) == 2 else None, f"two executors: {cluster.log()}", 120)
            load_with_a_loss(engine, cluster, tmp_path / "elsewhere")
        finally:
            engine.close()
            engine.spark.stop()


def load_with_a_loss(engine: Engine, cluster: Cluster, home: Path) -> None:
    feed = Feed(engine.catalog, engine.postgres_url, seed=3, scale=0.1, past=timedelta(hours=1))
    feed.prepare()
    feed.backlog()
    apply(engine, some_of_the_demo(), "tester")
    begun = f"select from ems.etl_phase_executions where data_stream_name = '{FACT}' and phase = 'data-transform'".encode()
    with worker_on(engine, home) as process, asking(engine, threading.Event()):
        eventually(lambda: engine.database.fetch(begun) or None, f"the fact is being loaded: {log_of(home)}")
        cluster.kill_worker()  # its job was just given to both
        eventually(lambda: True if all_are_loaded(engine) else None, f"all is loaded: {log_of(home)}", 400)
        assert len(cluster.executors()) == 1
    by = {row["worker"].split("-")[-2] for row in engine.database.fetch("select worker from dwh.execution")}
    assert by == {str(process.pid)}
    assert engine.database.fetch("select from dwh.block where status = 'parked'") == []
    # Orders that are newer than what dim.product was built from wait for it.
    [fact] = engine.database.fetch(f"select examined from dwh.topic where name = '{FACT}'".encode())
    assert rows_of(engine, "fact.sales") == rows_of(engine, "stage.web_orders", fact["examined"]) > 0
    assert verify(engine, engine.lineage.active()) == []


def all_are_loaded(engine: Engine) -> bool:
    found = engine.database.fetch("select name from dwh.topic where last_end is not null and lease_worker is null")
    return {row["name"] for row in found} == set(MODULES)


def rows_of(engine: Engine, table: str, upto: datetime | None = None) -> int:
    where = f"pos <= '{upto.isoformat()}'" if upto else ALWAYS_TRUE
    return engine.catalog.load(table).scan(where).to_arrow().num_rows


def log_of(home: Path) -> str:
    return (home / "worker.log").read_text()[-3000:]
