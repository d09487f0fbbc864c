"""The bus: topics with one partition each, read in order, at least once. Postgres carries it, or Kafka by setting.

It carries messages only: what is asked for, who was given it and how far it is stands in the control store.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple, Protocol

from dwh_assets.config.settings import Settings
from dwh_assets.control.database import Database
from dwh_assets.control.messages import Listener, MessageStore, Stored
from dwh_assets.workers.messages import BadMessage, Message, parse, to_json

logger = logging.getLogger(__name__)


class Delivery(NamedTuple):
    """A message, and when the bus took it: by the control store's clock, whatever the sender's says."""

    message: Message
    at: datetime


class Reader(Protocol):
    def read(self, seconds: float) -> list[Delivery]:
        """What is new, oldest first; waits for it at most so long. What is not `done` may come again, in another process too."""
        ...

    def done(self) -> None:
        """What was read so far has taken effect."""
        ...

    def close(self) -> None: ...


class Bus(Protocol):
    def publish(self, *messages: Message) -> None: ...

    def reader(self, *topics: str, group: str | None = None) -> Reader:
        """Readers of a group go on where the last one of them was done; one without a group reads what comes from now on."""
        ...

    def prune(self) -> None:
        """Forget what is older than the retention."""
        ...


def open_bus(database: Database, settings: Settings) -> Bus:
    """The bus that the settings name."""
    if settings.bus == "postgres":
        return PostgresBus(database, settings.message_seconds)
    from dwh_assets.workers.kafka_bus import KafkaBus, brokers_of  # late: most do without its library

    options = {name: value.get_secret_value() for name, value in settings.bus_options.items()}
    return KafkaBus(brokers_of(settings), database, settings.message_seconds, settings.bus_prefix, options)


class PostgresBus:
    def __init__(self, database: Database, retention: float = 180) -> None:
        self._database = database
        self._store = MessageStore(database)
        self._retention = retention

    def publish(self, *messages: Message) -> None:
        self._store.put([(message.topic, to_json(message)) for message in messages])

    def reader(self, *topics: str, group: str | None = None) -> Reader:
        return PostgresReader(self._store, Listener(self._database, topics), topics, group)

    def prune(self) -> None:
        self._store.prune(self._retention)


class PostgresReader:
    def __init__(self, store: MessageStore, listener: Listener, topics: tuple[str, ...], group: str | None) -> None:
        self._store = store
        self._listener = listener
        self._group = group
        self._read = {topic: self._start(topic) for topic in topics}
        self._done = dict(self._read)

    def _start(self, topic: str) -> int:
        return self._store.newest(topic) if self._group is None else self._store.position(self._group, topic)

    def read(self, seconds: float) -> list[Delivery]:
        found = self._new()
        if not found:
            self._listener.wait(seconds)
            found = self._new()
        return deliveries(found)

    def _new(self) -> list[Stored]:
        found = [stored for topic, last in self._read.items() for stored in self._store.after(topic, last)]
        self._read |= {stored.topic: stored.id for stored in found}
        return found

    def done(self) -> None:
        for topic, last in self._read.items():
            if self._group is not None and last > self._done[topic]:
                self._store.move(self._group, topic, last)
        self._done = dict(self._read)

    def close(self) -> None:
        self._listener.close()


def deliveries(found: Iterable[Stored]) -> list[Delivery]:
    """Malformed and unknown messages are logged and left out: they must not stop those behind them (E1)."""
    read = []
    for stored in found:
        try:
            read.append(Delivery(parse(stored.body), stored.at))
        except BadMessage as error:
            logger.warning("message %d of %s is skipped: %s", stored.id, stored.topic, error)
    return read
