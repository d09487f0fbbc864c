from __future__ import annotations

import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from dwh_assets.config.settings import load_settings
from dwh_assets.engine.presence import keeping_broker, needs_broker, present, start_broker, stop_server
from dwh_assets.model.events import KafkaTopic
from dwh_assets.model.module import Lineage, SourceTable
from dwh_assets.sources.kafka.server import KafkaServer

SOURCE = SourceTable("broker.events", "kafka", kafka=KafkaTopic("events"))


@pytest.mark.parametrize(
    ("source", "needed"),
    [
        (SOURCE, True),
        (replace(SOURCE, active=False), False),
        (replace(SOURCE, kafka=KafkaTopic("events", ("kafka:9092",))), False),
        (SourceTable("stage.orders", "iceberg"), False),
    ],
)
def test_a_broker_is_needed_by_a_source_that_names_none(source: SourceTable, needed: bool):
    assert needs_broker(Lineage((), (source,))) is needed


def test_a_broker_that_the_settings_name_is_used_and_none_is_started(tmp_path: Path):
    settings = load_settings(home=tmp_path, kafka_bootstrap="kafka:9092")
    assert start_broker(settings) == "kafka:9092"
    assert not (tmp_path / "kafka").exists()


@pytest.mark.exhaustive
def test_a_broker_that_dies_is_started_again_on_its_port_and_ended_with_the_others(tmp_path: Path):
    settings = load_settings(home=tmp_path)
    server = KafkaServer(settings)
    with present(tmp_path, partial(stop_server, settings)):
        address = start_broker(settings)
        with keeping_broker(settings, threading.Event(), every=0.1):
            server.kill()
            until = time.monotonic() + 60
            while not server.running() and time.monotonic() < until:
                time.sleep(0.1)
            assert server.running()
        assert server.address() == address
    assert not server.running()


def test_the_last_to_leave_ends_what_is_owned_and_the_control_store_last(tmp_path: Path):
    ended: list[str] = []
    with present(tmp_path, ended.append) as owns:
        for name in ("postgres", "kafka", "spark"):
            owns(name)
    assert ended == ["spark", "kafka", "postgres"]
