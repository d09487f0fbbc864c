"""Metrics: what they say, that they are cheap to ask for, and that the dashboard asks for none that is not there."""

from __future__ import annotations

import json
import re
from urllib.request import ProxyHandler, build_opener

import pytest

from dwh_assets.cli import metering
from dwh_assets.cli.metering import DASHBOARD, serving
from dwh_assets.config.machine import free_port
from dwh_assets.config.settings import load_settings
from dwh_assets.control.database import Database
from dwh_assets.control.metrics import METRICS, UP, Scrape, exposition
from tests.cli.conftest import Project
from tests.control.small import ready

SAMPLE = re.compile(r'[a-z_]+(\{([a-z]+="([^"\\\n]|\\.)*",?)*\})? -?[0-9.e+-]+')


def get(url: str) -> str:
    with build_opener(ProxyHandler({})).open(url, timeout=10) as reply:
        assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return reply.read().decode()


def test_metrics_tell_of_topics_blocks_rows_attempts_workers_alerts_and_sources(database: Database) -> None:
    store = ready(database, 1, 2, 3)
    store.load()
    database.execute("insert into dwh.alert (kind, key, topic, severity, text) values ('behind', 'k', 'fact.sales', 'warn', 't')")
    database.execute("insert into dwh.worker (id) values (gen_random_uuid())")
    lines = exposition(database).splitlines()
    assert [line for line in lines if not line.startswith("# ") and not SAMPLE.fullmatch(line)] == []
    assert {
        "dwh_up 1",
        'dwh_blocks{topic="fact.sales",state="committed"} 1',
        'dwh_blocks{topic="fact.sales",state="planned"} 2',
        'dwh_rows_loaded_total{topic="fact.sales"} 10',
        'dwh_topic_pending_rows{topic="fact.sales",area=""} 20',
        'dwh_attempts_total{topic="fact.sales",result="Succeeded"} 1',
        'dwh_alerts_open{kind="behind",severity="warn"} 1',
        'dwh_workers{state="idle"} 1',
        'dwh_workers{state="offline"} 0',
        'dwh_source_problem{source="src.sales"} 0',
    } <= set(lines)
    assert any(line.startswith('dwh_topic_lag_seconds{topic="fact.sales"') for line in lines)
    assert sum(line.startswith("dwh_topic_verdict{") for line in lines) == 1
    for metric in METRICS:
        assert f"# TYPE {metric.name} {metric.kind}" in lines


def test_they_are_served_on_loopback_at_a_free_port_if_theirs_is_taken_and_looked_up_once_a_second(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    monkeypatch.setattr("dwh_assets.control.metrics.CACHE_SECONDS", 3600)
    monkeypatch.setattr("dwh_assets.control.metrics.exposition", lambda database: looks.append(1) or "dwh_up 1\n")
    settings = load_settings(metrics_port=free_port())
    with serving(settings, database) as first, serving(settings, database) as second:
        assert first == f"http://127.0.0.1:{settings.metrics_port}/metrics"
        assert first is not None
        assert second is not None
        assert second != first
        assert get(first) == get(first) == get(second)
    assert len(looks) == 2
    with serving(load_settings(metrics_port=0), database) as none:
        assert none is None


def test_a_store_that_is_away_is_said_and_nothing_old_is_repeated(database_url: str) -> None:
    away = Database(f"postgresql://dwh@127.0.0.1:{free_port()}/dwh", deadline=1)
    assert Scrape(away).text().splitlines()[-1] == "dwh_up 0"
    away.close()


def test_the_dashboard_asks_only_for_metrics_and_labels_that_there_are(files: Project) -> None:
    known = {metric.name: metric for metric in (UP, *METRICS)}
    panels = json.loads(files.ok("metrics", "--dashboard").out)["panels"]
    assert json.loads(DASHBOARD.read_text())["panels"] == panels
    for panel in panels:
        for target in panel["targets"]:
            used = re.findall(r"dwh_[a-z_]+", target["expr"])
            assert used, panel["title"]
            assert set(used) <= known.keys()
            labels = {label for name in used for label in known[name].labels}
            asked = re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]) + re.findall(r"(\w+)=\"", target["expr"])
            assert set(asked) <= labels | {""}, panel["title"]


def test_they_can_be_printed_once(files: Project, database_url: str) -> None:
    files.environment["DWH_POSTGRES_URL"] = database_url
    assert "dwh_up 1" in files.ok("metrics", "--once").out.splitlines()
    assert metering.HOST == "127.0.0.1"
