"""What every bus must do: in order, at least once, for a while; what is no message stops nobody."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest

from dwh_assets.control.database import Database
from dwh_assets.workers.bus import Delivery, Reader
from dwh_assets.workers.messages import CONTROL, HEARTBEAT, PROGRESS, Accepted, Assign, Heartbeat, Message
from tests.workers.lines import Line

ME = uuid4()
SECONDS = 20.0


def beat(number: int, **fields: datetime) -> Heartbeat:
    return Heartbeat(id=UUID(int=number), state="idle", **fields)


def read(reader: Reader, count: int) -> list[Delivery]:
    """So many deliveries, and what comes with the last of them."""
    found, until = reader.read(0.05), time.monotonic() + SECONDS
    while len(found) < count and time.monotonic() < until:
        found += reader.read(0.05)
    return found


def messages(reader: Reader, count: int) -> list[Message]:
    return [delivery.message for delivery in read(reader, count)]


def numbers(reader: Reader, count: int) -> list[int]:
    return [message.id.int for message in messages(reader, count) if isinstance(message, Heartbeat)]


class BusSuite:
    @pytest.fixture
    def readers(self) -> Iterator[list[Reader]]:
        opened: list[Reader] = []
        yield opened
        for reader in opened:
            reader.close()

    def test_a_reader_without_a_group_reads_what_comes_from_now_on_in_order(self, line: Line, readers: list[Reader]) -> None:
        line.bus.publish(beat(1))
        reader = line.bus.reader(HEARTBEAT, CONTROL)
        readers.append(reader)
        sent = [beat(2), beat(3)]
        line.bus.publish(*sent, Accepted(etl_execution_id=ME, assignee=ME))
        assert messages(reader, 2) == sent
        assert messages(reader, 0) == []
        command = Assign(assignee=ME, etl_execution_id=ME, configuration={"name": "größer"})
        line.bus.publish(command)
        assert messages(reader, 1) == [command]

    def test_a_reader_is_woken_up_by_a_message(self, line: Line, readers: list[Reader]) -> None:
        reader = line.bus.reader(PROGRESS)
        readers.append(reader)
        assert messages(reader, 0) == []  # it listens now
        timer = threading.Timer(0.2, line.bus.publish, [Accepted(etl_execution_id=ME, assignee=ME)])
        timer.start()
        began = time.monotonic()
        assert len(reader.read(SECONDS)) == 1
        assert time.monotonic() - began < SECONDS / 2  # it did not wait to the end
        timer.join()

    def test_a_group_goes_on_where_it_was_done_and_reads_the_rest_again(self, line: Line, readers: list[Reader]) -> None:
        line.bus.publish(beat(1))
        first = line.bus.reader(HEARTBEAT, PROGRESS, group="manager")
        assert numbers(first, 1) == [1]
        first.done()
        line.bus.publish(beat(2))
        assert numbers(first, 1) == [2]  # and then it dies before it is done
        second = line.bus.reader(HEARTBEAT, PROGRESS, group="manager")
        readers += [first, second]
        assert numbers(second, 1) == [2]

    def test_no_reader_passes_over_a_message_while_many_write(self, line: Line, readers: list[Reader]) -> None:
        reader = line.bus.reader(HEARTBEAT)
        readers.append(reader)
        with ThreadPoolExecutor(6) as pool:
            writing = [pool.submit(line.bus.publish, beat(number)) for number in range(300)]
            found = numbers(reader, 300)
            assert all(future.result() is None for future in writing)
        assert sorted(found) == list(range(300))

    def test_what_is_no_message_is_logged_and_skipped(
        self, line: Line, readers: list[Reader], caplog: pytest.LogCaptureFixture
    ) -> None:
        reader = line.bus.reader(PROGRESS)
        readers.append(reader)
        line.put(
            PROGRESS, "nonsense", "{}", '{"info": {"type": "of another", "timestamp": "2024-01-01T00:00:00Z"}, "payload": {}}'
        )
        message = Accepted(etl_execution_id=ME, assignee=ME)
        line.bus.publish(message)
        with caplog.at_level(logging.WARNING):
            assert messages(reader, 1) == [message]
        assert caplog.text.count(f"of {PROGRESS} is skipped: not a message with") == 3

    def test_a_group_whose_place_is_forgotten_goes_on_with_what_is_left(self, line: Line, readers: list[Reader]) -> None:
        line.bus.publish(beat(1))
        first = line.bus.reader(HEARTBEAT, group="manager")
        assert numbers(first, 1) == [1]
        first.done()
        line.bus.publish(beat(2))
        line.forget()
        line.bus.publish(beat(3))
        second = line.bus.reader(HEARTBEAT, group="manager")
        readers += [first, second]
        assert numbers(second, 1) == [3]

    def test_a_message_is_as_old_as_the_control_store_says(self, line: Line, database: Database, readers: list[Reader]) -> None:
        """Not as its sender's clock says, nor as another machine's."""
        reader = line.bus.reader(HEARTBEAT)
        readers.append(reader)
        line.bus.publish(beat(1, timestamp=datetime.fromisoformat("2020-01-01T00:00:00Z")))
        line.bus.publish(beat(2, timestamp=datetime.fromisoformat("2099-01-01T00:00:00Z")))
        now = database.clock()
        assert all(abs(at - now) < timedelta(seconds=SECONDS) for _, at in read(reader, 2))
