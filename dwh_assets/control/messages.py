"""Messages between workers and their manager, in a table; those who listen are woken up."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import psycopg
from psycopg import sql as identifiers

from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql
from dwh_assets.model.errors import ControlStoreDown

PAGE = 1000
_CONNECT_SECONDS = 5


class Stored(NamedTuple):
    """A message as it was put on its topic; `at` is the control store's clock."""

    id: int
    topic: str
    at: datetime
    body: str


class MessageStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def put(self, messages: Sequence[tuple[str, str]]) -> None:
        """Topic and body of each, all or none of them."""
        topics, bodies = [topic for topic, _ in messages], [body for _, body in messages]
        with self.database.transaction() as connection:
            connection.execute(sql("lock_messages"))
            connection.execute(sql("insert_messages"), {"topics": topics, "bodies": bodies})

    def after(self, topic: str, id_: int) -> list[Stored]:
        return [Stored(**row) for row in self.database.fetch(sql("messages_after"), topic=topic, after=id_, limit=PAGE)]

    def newest(self, topic: str) -> int:
        (row,) = self.database.fetch(sql("newest_message"), topic=topic)
        return row["id"]

    def position(self, name: str, topic: str) -> int:
        row = self.database.fetch_one(sql("reader_position"), name=name, topic=topic)
        return 0 if row is None else row["last_id"]

    def move(self, name: str, topic: str, id_: int) -> None:
        self.database.execute(sql("move_reader"), name=name, topic=topic, last_id=id_)

    def prune(self, seconds: float) -> int:
        return self.database.execute(sql("prune_messages"), seconds=seconds)


class Listener:
    """A connection that is woken up by messages; it is made anew when it was lost."""

    def __init__(self, database: Database, topics: Sequence[str]) -> None:
        self._database = database
        self._topics = topics
        self._connection: psycopg.Connection[Any] | None = None

    def wait(self, seconds: float) -> None:
        """Until there may be something to read, at most so long. Once connected it returns: what came before is there."""
        if self._connection is None:
            self._connect(seconds)
            return
        try:
            for _ in self._connection.notifies(timeout=seconds, stop_after=1):
                pass
        except psycopg.OperationalError as error:
            self.close()
            raise self._down(error) from error

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self, seconds: float) -> None:
        try:
            connection = psycopg.connect(self._database.url, autocommit=True, connect_timeout=_CONNECT_SECONDS)
            for topic in self._topics:
                connection.execute(identifiers.SQL("listen {}").format(identifiers.Identifier(topic)))
        except psycopg.OperationalError as error:
            time.sleep(min(seconds, 0.5))  # whoever asks again at once must not keep the machine busy
            raise self._down(error) from error
        self._connection = connection

    def _down(self, error: psycopg.Error) -> ControlStoreDown:
        return ControlStoreDown(
            f"the control store at {self._database.place} cannot be listened to: {error}\n"
            "Nothing is lost: what was said meanwhile is read when it is back."
        )
