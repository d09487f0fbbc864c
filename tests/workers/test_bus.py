"""The bus on Postgres and on Kafka: one suite, and what only one of them can show."""

from __future__ import annotations

import shutil
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,  # pyright: ignore[reportPrivateImportUsage]
)
from confluent_kafka.cimpl import NewTopic

from dwh_assets.config.settings import load_settings
from dwh_assets.control.assignments import WorkerStore
from dwh_assets.control.database import Database
from dwh_assets.model.errors import BusDown, ConfigError
from dwh_assets.sources.kafka.server import KafkaServer
from dwh_assets.workers.bus import Bus, PostgresBus, Reader, open_bus
from dwh_assets.workers.kafka_bus import KafkaBus
from dwh_assets.workers.manager import Dispatch
from dwh_assets.workers.messages import CONTROL, HEARTBEAT, TOPICS, Message
from tests.faults.nursery import eventually
from tests.workers.bus_suite import BusSuite, beat, numbers
from tests.workers.lines import KafkaLine, PostgresLine

SECONDS = 60.0


class TestPostgresBus(BusSuite):
    @pytest.fixture
    def line(self, database: Database) -> PostgresLine:
        return PostgresLine(database)

    def test_messages_are_forgotten_after_their_retention(self, database: Database) -> None:
        bus = PostgresBus(database, retention=100)
        bus.publish(beat(1))
        database.execute("update dwh.message set at = at - interval '101 seconds'")
        bus.publish(beat(2))
        bus.prune()
        reader = bus.reader(HEARTBEAT, group="manager")
        assert numbers(reader, 1) == [2]
        reader.close()


class TestKafkaBus(BusSuite):
    @pytest.fixture
    def line(self, database: Database, kafka: KafkaServer) -> KafkaLine:
        return KafkaLine(database, kafka.start())

    def test_its_topics_have_one_partition_and_the_retention_of_the_seed(self, line: KafkaLine) -> None:
        line.bus.publish(beat(1))
        KafkaBus(line.brokers, line.database, prefix=line.prefix).publish(beat(2))  # they are made once
        topics = line.admin.list_topics(timeout=10).topics
        for name in (line.prefix + topic for topic in TOPICS):
            assert list(topics[name].partitions) == [0]
            resource = ConfigResource(ConfigResource.Type.TOPIC, name)
            config = {name: entry.value for name, entry in line.admin.describe_configs([resource])[resource].result(10).items()}
            assert config["retention.ms"] == "180000"
            assert int(config["segment.ms"]) < 180_000  # else it would keep more: a segment goes as a whole
            assert config["message.timestamp.type"] == "LogAppendTime"

    def test_a_topic_with_several_partitions_is_refused(self, line: KafkaLine) -> None:
        name = line.prefix + CONTROL
        line.admin.create_topics([NewTopic(name, 3, 1)])[name].result(10)
        with pytest.raises(ConfigError, match=rf"{name} has 3 partitions.*\n.*DWH_BUS_PREFIX"):
            line.bus.publish(beat(1))

    @pytest.mark.exhaustive
    def test_a_broker_that_is_away_does_not_look_like_silent_workers(self, database: Database, tmp_path: Path) -> None:
        server = KafkaServer(load_settings(home=tmp_path))
        bus = KafkaBus(server.start(), database)
        reader = bus.reader(HEARTBEAT, group="manager")
        try:
            server.kill()
            with pytest.raises(BusDown, match="Nothing is lost"):
                reader.read(0.1)
            with pytest.raises(BusDown):
                bus.publish(beat(1))
            WorkerStore(database).register(uuid4(), "here", 1)
            dispatch = Dispatch(database, bus, load_settings())
            dispatch.ask("gate", "one")  # kept in the control store, and given again when it expires
            assert not dispatch.cancel("gate", "one")
            server.start()
            bus.publish(beat(2))
            assert 2 in numbers(reader, 1)
        finally:
            reader.close()
            server.stop()

    @pytest.mark.exhaustive
    def test_a_broker_that_was_replaced_by_an_empty_one_is_of_use_again(self, database: Database, tmp_path: Path) -> None:
        """Who spoke and listened goes on by itself: a worker does not begin anew for it."""
        server = KafkaServer(load_settings(home=tmp_path))
        bus = KafkaBus(server.start(), database)
        listener, manager = bus.reader(HEARTBEAT), bus.reader(HEARTBEAT, group="manager")
        try:
            bus.publish(*map(beat, range(5)))
            assert numbers(manager, 5) == numbers(listener, 5) == list(range(5))
            manager.done()
            manager.close()
            server.kill()
            shutil.rmtree(tmp_path / "kafka" / "data")
            brokers = server.start()
            eventually(lambda: said(bus, beat(7)), "it can be said again", SECONDS)
            assert 7 in eventually(lambda: heard(listener), "it is heard again", SECONDS)
            manager = bus.reader(HEARTBEAT, group="manager")
            assert 7 in numbers(manager, 1)
            topics = AdminClient({"bootstrap.servers": brokers}).list_topics(timeout=10).topics
            assert [list(topics[topic].partitions) for topic in TOPICS] == [[0], [0], [0]]
        finally:
            listener.close()
            manager.close()
            server.stop()


def said(bus: Bus, message: Message) -> bool | None:
    """As a worker says it: again, where the bus was down."""
    try:
        bus.publish(message)
    except BusDown:
        return None
    return True


def heard(reader: Reader) -> list[int] | None:
    try:
        return numbers(reader, 1) or None
    except BusDown:
        return None


def test_the_setting_names_the_bus_and_its_broker(database: Database, tmp_path: Path) -> None:
    assert isinstance(open_bus(database, load_settings(home=tmp_path)), PostgresBus)
    assert isinstance(open_bus(database, load_settings(home=tmp_path, bus="kafka", kafka_bootstrap="kafka:9092")), KafkaBus)
    with pytest.raises(ConfigError, match="DWH_KAFKA_BOOTSTRAP"):
        open_bus(database, load_settings(home=tmp_path, bus="kafka"))


def test_a_login_of_the_bus_is_never_shown(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DWH_BUS_OPTIONS", '{"sasl.password": "canary-7f3a"}')
    settings = load_settings(bus="kafka", kafka_bootstrap="127.0.0.1:1")
    assert "canary-7f3a" not in repr(settings)
    with pytest.raises(BusDown) as caught:
        open_bus(database, settings).publish(beat(1))
    assert "canary-7f3a" not in str(caught.value)
