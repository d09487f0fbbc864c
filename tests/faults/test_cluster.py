"""The demo on a Spark cluster of several processes, one of which is lost while it works."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from dwh_assets.config.lineage_files import load_lineage
from dwh_assets.config.settings import Settings, load_settings
from dwh_assets.demo.feed import Feed
from dwh_assets.engine.apply import apply
from dwh_assets.engine.attempt import Outcome
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.loop import Loop
from dwh_assets.engine.verify import verify
from dwh_assets.model.module import Lineage
from dwh_assets.model.phase import PhaseNote
from tests.faults.cluster import Cluster, cluster_of
from tests.faults.nursery import eventually

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
            load_with_a_loss(engine, cluster)
        finally:
            engine.close()
            engine.spark.stop()


def load_with_a_loss(engine: Engine, cluster: Cluster) -> None:
    feed = Feed(engine.catalog, engine.postgres_url, seed=3, scale=0.1, past=timedelta(hours=1))
    feed.prepare()
    feed.backlog()
    lineage = some_of_the_demo()
    apply(engine, lineage, "tester")
    ended: list[Outcome] = []
    told, lost = engine.tell_phases, list[str]()

    def tell(notes: Sequence[PhaseNote]) -> None:
        told(notes)
        if not lost and any((note.stream, note.phase, note.event) == (FACT, "data-transform", "started") for note in notes):
            lost.append(FACT)
            cluster.kill_worker()  # its job is about to be given to both

    engine.tell_phases = tell
    Loop(engine, report=ended.append).run(until_dry=True)
    assert lost == [FACT]
    assert len(cluster.executors()) == 1
    assert {outcome.topic for outcome in ended if outcome.result == "committed"} == set(MODULES)
    assert not [outcome for outcome in ended if outcome.result == "parked"]
    assert verify(engine, engine.lineage.active()) == []
    rows = engine.catalog.load("fact.sales").scan().to_arrow().num_rows
    assert rows == engine.catalog.load("stage.web_orders").scan().to_arrow().num_rows > 0
