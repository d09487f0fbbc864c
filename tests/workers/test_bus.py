"""The bus: in order, at least once, for a while; what is no message stops nobody."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest

from dwh_assets.control.database import Database
from dwh_assets.workers.bus import Bus, PostgresBus, Reader
from dwh_assets.workers.messages import CONTROL, HEARTBEAT, PROGRESS, Accepted, Assign, Heartbeat, Message

ME = uuid4()


@pytest.fixture
def bus(database: Database) -> Bus:
    return PostgresBus(database)


@pytest.fixture
def readers(bus: Bus) -> Iterator[list[Reader]]:
    opened: list[Reader] = []
    yield opened
    for reader in opened:
        reader.close()


def beat(number: int) -> Heartbeat:
    return Heartbeat(id=UUID(int=number), state="idle")


def messages(reader: Reader, seconds: float = 0.05) -> list[Message]:
    return [delivery.message for delivery in reader.read(seconds)]


def test_a_reader_without_a_group_reads_what_comes_from_now_on_in_order(bus: Bus, readers: list[Reader]) -> None:
    bus.publish(beat(1))
    reader = bus.reader(HEARTBEAT, CONTROL)
    readers.append(reader)
    sent = [beat(2), beat(3)]
    bus.publish(*sent, Accepted(etl_execution_id=ME, assignee=ME))
    assert messages(reader) == sent
    assert messages(reader) == []
    command = Assign(assignee=ME, etl_execution_id=ME, configuration={})
    bus.publish(command)
    assert messages(reader) == [command]


def test_a_reader_is_woken_up_by_a_message(bus: Bus, readers: list[Reader]) -> None:
    reader = bus.reader(PROGRESS)
    readers.append(reader)
    assert messages(reader) == []  # it listens now
    timer = threading.Timer(0.2, bus.publish, [Accepted(etl_execution_id=ME, assignee=ME)])
    timer.start()
    began = time.monotonic()
    assert len(messages(reader, 20)) == 1
    assert time.monotonic() - began < 5
    timer.join()


def test_a_group_goes_on_where_it_was_done_and_reads_the_rest_again(bus: Bus, readers: list[Reader]) -> None:
    bus.publish(beat(1))
    first = bus.reader(HEARTBEAT, group="manager")
    assert len(messages(first)) == 1
    first.done()
    bus.publish(beat(2))
    assert len(messages(first)) == 1  # and then it dies before it is done
    second = bus.reader(HEARTBEAT, group="manager")
    readers += [first, second]
    assert [message.id for message in messages(second) if isinstance(message, Heartbeat)] == [UUID(int=2)]


def test_no_reader_passes_over_a_message_while_many_write(bus: Bus, readers: list[Reader]) -> None:
    reader = bus.reader(HEARTBEAT)
    readers.append(reader)
    with ThreadPoolExecutor(6) as pool:
        writing = [pool.submit(bus.publish, beat(number)) for number in range(300)]
        read: list[Message] = []
        until = time.monotonic() + 60
        while len(read) < 300 and time.monotonic() < until:
            read += messages(reader)
        assert all(future.result() is None for future in writing)
    assert {message.id.int for message in read if isinstance(message, Heartbeat)} == set(range(300))
    assert len(read) == 300


def test_what_is_no_message_is_logged_and_skipped(
    database: Database, bus: Bus, readers: list[Reader], caplog: pytest.LogCaptureFixture
) -> None:
    reader = bus.reader(PROGRESS)
    readers.append(reader)
    database.execute("insert into dwh.message (topic, body) values ('ems.progress', 'nonsense'), ('ems.progress', '{}')")
    message = Accepted(etl_execution_id=ME, assignee=ME)
    bus.publish(message)
    with caplog.at_level(logging.WARNING):
        assert messages(reader) == [message]
    assert caplog.text.count("is skipped: not a message with") == 2


def test_messages_are_forgotten_after_their_retention(database: Database, readers: list[Reader]) -> None:
    bus = PostgresBus(database, retention=100)
    bus.publish(beat(1))
    database.execute("update dwh.message set at = at - interval '101 seconds'")
    bus.publish(beat(2))
    bus.prune()
    reader = bus.reader(HEARTBEAT, group="manager")
    readers.append(reader)
    assert [message.id.int for message in messages(reader) if isinstance(message, Heartbeat)] == [2]
