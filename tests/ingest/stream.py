"""A topic on the real broker, and the module that takes it in."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from tests.engine.project import Project

_numbers = itertools.count(1)
TABLE = "stage.events"
DEAD = "stage.events_dead"
SOURCE = "broker.events"
V1: dict[str, Any] = {
    "type": "object",
    "properties": {
        "version": {"type": "integer", "format": "int32"},
        "project": {"type": "string"},
        "product": {"type": "integer"},
        "amount": {"type": "number"},
        "happened": {"type": "string", "format": "date-time"},
    },
    "required": ["project", "product", "happened"],
}
V2 = {**V1, "properties": {**V1["properties"], "colour": {"type": "string"}}}


def event(product: int, version: int = 1, ago: timedelta = timedelta(), **fields: Any) -> dict[str, Any]:
    happened = (datetime.now(UTC) - ago).isoformat()
    return {"version": version, "project": "shop", "product": product, "happened": happened, **fields}


@dataclass
class Stream:
    brokers: str
    project: Project
    partitions: int = 2
    schemas: dict[int, Any] = field(default_factory=lambda: {1: V1})
    name: str = field(default_factory=lambda: f"events-{next(_numbers)}-{int(time.time() * 1000)}")

    @cached_property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.brokers})

    def create(self, **settings: str) -> Stream:
        self.admin.create_topics([NewTopic(self.name, self.partitions, 1, config=settings)])[self.name].result()
        return self

    def delete(self) -> None:
        self.admin.delete_topics([self.name])[self.name].result()

    def create_again(self) -> None:
        """A topic of the same name, once the broker has forgotten the old one."""
        until = time.monotonic() + 30
        while True:
            try:
                self.create()
            except KafkaException as error:
                if time.monotonic() > until or error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
            else:
                return

    def add_partitions(self, count: int) -> None:
        self.admin.create_partitions([NewPartitions(self.name, count)])[self.name].result()

    def delete_before(self, offsets: Mapping[int, int]) -> None:
        """The broker forgets everything before these offsets, as its retention would let it."""
        asked = [TopicPartition(self.name, partition, offset) for partition, offset in offsets.items()]
        for answer in self.admin.delete_records(asked).values():
            answer.result()

    def problem(self) -> str | None:
        """Why the source could not be looked at."""
        found = self.project.engine.database.fetch_one("select problem from dwh.source where name = %(name)s", name=SOURCE)
        assert found is not None
        return found["problem"]

    def send(
        self,
        values: Iterable[Any],
        partition: int | None = None,
        headers: Mapping[str, str] | None = None,
        ago: timedelta = timedelta(),
    ) -> None:
        """Events as JSON, or bytes as they are; in turns to the partitions where none is named."""
        sent = int((datetime.now(UTC) - ago).timestamp() * 1000)
        producer = Producer({"bootstrap.servers": self.brokers, "linger.ms": 5})
        given: dict[str, str | bytes | None] = {**(headers or {})}
        for number, value in enumerate(values):
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            target = number % self.partitions if partition is None else partition
            producer.produce(self.name, body, partition=target, headers=given, timestamp=sent)
        assert producer.flush(30) == 0

    def declare(self, module: str = "", kafka: str = "", **events: Any) -> None:
        """Lineage files of the source and of its stage table; fields of `events` are YAML text, as is what `kafka` adds."""
        for version, schema in self.schemas.items():
            self.project.write(f"lineage/schemas/event_{version}.json", json.dumps(schema))
        schemas = ", ".join(f"{version}: schemas/event_{version}.json" for version in self.schemas)
        given = {
            "format": "json",
            "schemas": f"{{{schemas}}}",
            "version_in": "field:version",
            "key": "[project, product]",
            "event_time": "happened",
            **events,
        }
        lines = "".join(f"  {name}: {value}\n" for name, value in given.items() if value is not None)
        source = f"name: {SOURCE}\nkind: kafka\nkafka:\n  topic: {self.name}\n  brokers: ['{self.brokers}']\n"
        source += (f"  {kafka}\n" if kafka else "") + f"events:\n{lines}"
        self.project.write("lineage/sources/events.yaml", source)
        stage = f"table: {TABLE}\ndepends_on: [{SOURCE}]\nprocessor: ingest\nrepeat: 0\nbackoff: 0\n{module}"
        self.project.write("lineage/stage/events.yaml", stage)

    def products(self) -> list[int]:
        return [product for (product,) in self.project.rows(TABLE, "product")]

    def dead(self) -> list[tuple[Any, ...]]:
        return self.project.rows(DEAD, "partition, offset, reason")
