"""A bus of each kind, and what tests do to it behind its back."""

from __future__ import annotations

import itertools
import os
from typing import Protocol

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from dwh_assets.control.database import Database
from dwh_assets.workers.bus import Bus, PostgresBus
from dwh_assets.workers.kafka_bus import KafkaBus
from dwh_assets.workers.messages import TOPICS

_numbers = itertools.count(1)


class Line(Protocol):
    """`variables` are the settings of a process that is to use it."""

    bus: Bus
    variables: dict[str, str]

    def put(self, topic: str, *bodies: str) -> None:
        """Whatever it is, as a stranger would."""
        ...

    def forget(self) -> None:
        """All that was said is older than the retention by now."""
        ...


class PostgresLine:
    def __init__(self, database: Database) -> None:
        self.database = database
        self.bus: Bus = PostgresBus(database)
        self.variables = {"DWH_BUS": "postgres"}

    def put(self, topic: str, *bodies: str) -> None:
        for body in bodies:
            self.database.execute("insert into dwh.message (topic, body) values (%(topic)s, %(body)s)", topic=topic, body=body)

    def forget(self) -> None:
        self.database.execute("update dwh.message set at = at - interval '181 seconds'")
        self.bus.prune()


class KafkaLine:
    """On topics of its own: the broker is everybody's."""

    def __init__(self, database: Database, brokers: str) -> None:
        self.database = database
        self.brokers = brokers
        self.prefix = f"test-{os.getpid()}-{next(_numbers)}."
        self.bus: Bus = KafkaBus(brokers, database, prefix=self.prefix)
        self.variables = {"DWH_BUS": "kafka", "DWH_KAFKA_BOOTSTRAP": brokers, "DWH_BUS_PREFIX": self.prefix}
        self.admin = AdminClient({"bootstrap.servers": brokers})

    def put(self, topic: str, *bodies: str) -> None:
        producer = Producer({"bootstrap.servers": self.brokers})
        for body in bodies:
            producer.produce(self.prefix + topic, body.encode())
        assert producer.flush(10) == 0

    def forget(self) -> None:
        consumer = Consumer({"bootstrap.servers": self.brokers, "group.id": "test"})
        for topic in TOPICS:
            place = TopicPartition(self.prefix + topic, 0)
            place.offset = consumer.get_watermark_offsets(place, timeout=10)[1]
            self.admin.delete_records([place])[place].result(10)
        consumer.close()
