"""The bus on Kafka: its topics are made here, each with one partition; how far a group has read stands in the control store."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaError, KafkaException, Producer
from confluent_kafka import Message as Record
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from dwh_assets.config.settings import Settings
from dwh_assets.control.database import Database
from dwh_assets.control.messages import MessageStore, Stored
from dwh_assets.model.errors import BusDown, ConfigError
from dwh_assets.sources.kafka.broker import REFUSED
from dwh_assets.sources.kafka.server import KafkaServer
from dwh_assets.workers.bus import Delivery, Reader, deliveries
from dwh_assets.workers.messages import TOPICS, Message, to_json

Client = dict[str, str | int | float | bool]
SECONDS = 5.0  # that the broker is waited for
PAGE = 1000
SETTLING = (
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
)
SEGMENTS = 3  # the broker forgets whole segments: a third of the retention is the most that is kept beyond it


def brokers_of(settings: Settings) -> str:
    brokers = settings.kafka_bootstrap or KafkaServer(settings).address()
    if brokers is None:
        raise ConfigError(
            f"DWH_BUS is kafka, but no broker is named and none was started in {settings.home}. Nothing was done.\n"
            "Set DWH_KAFKA_BOOTSTRAP to host:port, or let `dwh up` start a broker there."
        )
    return brokers


class KafkaBus:
    """Workers are judged by the clock of the control store, not by the broker's."""

    def __init__(
        self, brokers: str, database: Database, retention: float = 180, prefix: str = "", options: Mapping[str, str] | None = None
    ) -> None:
        quiet = {"client.id": "dwh", "log_level": "0", "socket.timeout.ms": "5000", "reconnect.backoff.max.ms": "1000"}
        self._client: Client = {**quiet, **(options or {}), "bootstrap.servers": brokers}
        self._store = MessageStore(database)
        self._retention = retention
        self._prefix = prefix
        self._lock = threading.Lock()
        self._made: Producer | None = None

    def publish(self, *messages: Message) -> None:
        """Returns when the broker has all of them. After an error some may have arrived, or still do: all may be said twice."""
        producer = self._producer()
        try:
            with kafka_errors(self._client):
                self._send(producer, messages)
        except BusDown:
            self._forget(producer)
            raise

    def _send(self, producer: Producer, messages: Sequence[Message]) -> None:
        reports = list[KafkaError | None]()
        for message in messages:
            body = to_json(message).encode()
            producer.produce(self._prefix + message.topic, body, on_delivery=lambda error, _: reports.append(error))
        while len(reports) < len(messages):
            producer.poll(0.01)  # another thread may be told of ours
        for error in filter(None, reports):
            raise KafkaException(error)

    def reader(self, *topics: str, group: str | None = None) -> Reader:
        self._producer()
        return KafkaReader(self._client, self._store, {self._prefix + topic: topic for topic in topics}, group)

    def prune(self) -> None:
        """The broker does it."""

    def _producer(self) -> Producer:
        """Made once the topics are there: a broker would make them by itself, with partitions of its own choice."""
        with self._lock, kafka_errors(self._client):
            if self._made is None:
                make_topics(AdminClient(self._client, logger=None), [self._prefix + topic for topic in TOPICS], self._retention)
                sending = {"enable.idempotence": "true", "linger.ms": "0", "message.timeout.ms": "5000"}
                self._made = Producer({**self._client, **sending, "allow.auto.create.topics": "false"})
            return self._made

    def _forget(self, producer: Producer) -> None:
        """The broker that comes back may be an empty one: the next producer looks whether the topics are there."""
        with self._lock:
            if self._made is producer:
                self._made = None


class KafkaReader:
    """`topics`: their names on the broker, and on the bus."""

    def __init__(self, client: Client, store: MessageStore, topics: Mapping[str, str], group: str | None) -> None:
        self._client = client
        self._store = store
        self._topics = topics
        self._group = group
        reading = {"group.id": "dwh", "enable.auto.commit": "false", "auto.offset.reset": "earliest"}
        self._consumer = Consumer({**client, **reading}, logger=None)
        with kafka_errors(client):
            self._next = {topic: self._start(topic) for topic in topics}
            self._consumer.assign([Place(topic, 0, offset) for topic, offset in self._next.items()])
        self._done = dict(self._next)

    def _start(self, topic: str) -> int:
        if self._group is None:
            return self._end(topic)
        return self._store.position(self._name, topic)

    def _end(self, topic: str) -> int:
        """The offset of the next message. A topic that was just made is known a moment later."""
        until = time.monotonic() + SECONDS
        while True:
            try:
                return self._consumer.get_watermark_offsets(Place(topic, 0), SECONDS)[1]
            except KafkaException as error:
                if error.args[0].code() not in SETTLING or time.monotonic() > until:
                    raise
                time.sleep(0.05)

    @property
    def _name(self) -> str:
        return f"kafka:{self._group}"

    def read(self, seconds: float) -> list[Delivery]:
        with kafka_errors(self._client):
            found = self._new(time.monotonic() + seconds)
            if not found:
                # Workers that are silent and a broker that is away must not look alike.
                self._end(next(iter(self._topics)))
        self._next |= {str(record.topic()): (record.offset() or 0) + 1 for record in found}
        return deliveries(self._stored(found)) if found else []

    def _new(self, until: float) -> list[Record]:
        """What the broker says of itself on the way, such as that it is looking for a leader, is passed over."""
        while (first := self._consumer.poll(max(0.0, until - time.monotonic()))) is not None:
            records = [record for record in (first, *self._consumer.consume(PAGE, 0)) if record.error() is None]
            if records:
                return records
        return []

    def _stored(self, records: Sequence[Record]) -> list[Stored]:
        """The newest of a topic came just now, the others so much earlier as the broker says: whatever its clock shows."""
        now, newest = self._store.database.clock(), dict[str | None, int]()
        for record in records:
            newest[record.topic()] = max(newest.get(record.topic(), 0), _taken(record))
        return [
            Stored(
                record.offset() or 0,
                self._topics[str(record.topic())],
                now - timedelta(milliseconds=newest[record.topic()] - _taken(record)),
                (record.value() or b"").decode(errors="replace"),
            )
            for record in records
        ]

    def done(self) -> None:
        for topic, offset in self._next.items():
            if self._group is not None and offset > self._done[topic]:
                self._store.move(self._name, topic, offset)
        self._done = dict(self._next)

    def close(self) -> None:
        self._consumer.close()


def make_topics(admin: AdminClient, names: Sequence[str], retention: float) -> None:
    """Those that are missing. One that someone has made is taken as it is, if it has one partition."""
    kept = int(retention * 1000)
    config = {
        "retention.ms": str(kept),
        "segment.ms": str(max(kept // SEGMENTS, 1)),
        "cleanup.policy": "delete",
        "message.timestamp.type": "LogAppendTime",  # the sender's clock may be wrong
    }
    there = admin.list_topics(timeout=SECONDS).topics
    missing = [name for name in names if name not in there]
    if split := [name for name in names if name in there and len(there[name].partitions) > 1]:
        raise ConfigError(
            f"topic {split[0]} has {len(there[split[0]].partitions)} partitions: messages of workers would lose their order.\n"
            "Nothing was sent. Delete it, so that it is made with one, or set DWH_BUS_PREFIX to use topics of another name."
        )
    if not missing:
        return
    for made in admin.create_topics(
        [NewTopic(name, 1, -1, config=config) for name in missing], operation_timeout=SECONDS
    ).values():
        try:
            made.result(SECONDS)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:  # another process was faster
                raise


def _taken(record: Record) -> int:
    """When the broker took it, in milliseconds of its clock; 0 on a topic where the sender's clock is written instead."""
    kind, milliseconds = record.timestamp()
    return milliseconds if kind == TIMESTAMP_LOG_APPEND_TIME else 0


@contextmanager
def kafka_errors(client: Client) -> Iterator[None]:
    try:
        yield
    except (KafkaException, TimeoutError, BufferError) as error:
        found = error.args[0] if isinstance(error, KafkaException) else None
        place, why = client["bootstrap.servers"], found.str() if found is not None else "it does not take more"
        if found is not None and found.code() in REFUSED:
            raise ConfigError(f"the broker of the bus at {place} refuses us: {why}. See DWH_BUS_OPTIONS.") from error
        raise BusDown(
            f"the broker of the bus at {place} does not answer ({why}).\n"
            "Nothing is lost: what is asked for and who has it is in the control store; it is tried again by itself."
        ) from error
