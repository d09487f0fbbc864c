"""What the demo's web shop sends, from the broker to its stage table."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from dwh_assets.demo.events import Message, WebEvents
from dwh_assets.demo.feed import Feed
from dwh_assets.sources.kafka.server import KafkaServer
from tests.engine.project import Project

ROOT = Path(__file__).parents[2]
TABLE = "stage.web_events"
TOPIC = "web-events-of-this-test"  # other tests feed the demo's own


def declare(project: Project, brokers: str) -> None:
    """The files of the demo, with the broker of this run."""
    shutil.copytree(ROOT / "lineage/schemas", project.folder / "lineage/schemas")
    source = (ROOT / "lineage/sources/events.yaml").read_text()
    named = source.replace("topic: web-events", f"topic: {TOPIC}\n    brokers: ['{brokers}']")
    project.write("lineage/sources/events.yaml", named)
    project.write("lineage/stage/web_events.yaml", (ROOT / "lineage/stage/web_events.yaml").read_text())
    project.apply()


def declared(message: Message) -> str | None:
    """The id of an event of a version that the demo declares; none of others, and of what is broken."""
    try:
        event = json.loads(message.value)
    except json.JSONDecodeError:
        return None
    return event["event_id"] if event["version"] < 3 else None


def test_what_the_demo_sends_is_in_its_stage_table_once_or_a_dead_letter(
    project: Project, kafka: KafkaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dwh_assets.demo.topic.TOPIC", TOPIC)
    engine, brokers = project.engine, kafka.start()
    feed = Feed(engine.catalog, engine.postgres_url, seed=3, scale=0.1, past=timedelta(minutes=1), brokers=brokers)
    feed.prepare(engine.database.clock() - timedelta(minutes=7))
    feed.backlog()
    opening = feed.generator.opening
    for minutes in (2, 4, 6):
        feed.feed_once(opening + timedelta(minutes=minutes))
    declare(project, brokers)
    project.load()
    sent = WebEvents(feed.generator.shop).messages(opening, opening + timedelta(minutes=6))
    good = [event_id for message in sent if (event_id := declared(message))]
    assert len(good) > len(set(good)) > 0
    assert [event_id for (event_id,) in project.rows(TABLE, "event_id")] == sorted(set(good))
    counted = {row["reason"]: row["rows"] for row in engine.ingest.dead_letters()}
    assert counted["unknown_version"] > 0
    assert sum(counted.values()) == len(sent) - len(good)
    assert project.verify() == []
