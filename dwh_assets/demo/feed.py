"""Keeps the demo's outside tables fed: the past once, then what happens, every row exactly once also after a crash."""

from __future__ import annotations

import logging
import threading
import time
from datetime import UTC, datetime, timedelta

from dwh_assets.demo.clock import LIVE_CELL
from dwh_assets.demo.events import NAME, WebEvents
from dwh_assets.demo.generator import Generator
from dwh_assets.demo.lake import Lake
from dwh_assets.demo.oltp import Oltp, Story
from dwh_assets.demo.shop import NEWCOMER_CELLS, Row
from dwh_assets.demo.streams import LATENESS, STREAMS, Stream
from dwh_assets.demo.topic import Topic
from dwh_assets.model.errors import ControlStoreDown, Transient
from dwh_assets.warehouse.catalog import Catalog

_log = logging.getLogger(__name__)
_OLTP = tuple(s for s in STREAMS if s.place == "postgres")
_LAKE = tuple(s for s in STREAMS if s.place == "iceberg")
# The Lineage promises 10 s for the rows of the shop's database: what is older than a hiccup is not sold any more, and a
# transaction that takes longer than the rest of those 10 s is given up. So no row is late.
HICCUP = timedelta(seconds=5)
SLOWEST_COMMIT = timedelta(seconds=3)
# After a longer pause the shop was closed: its sales are not made up for, only the customers who may come back.
CLOSED = timedelta(minutes=3)
NEWCOMERS = NEWCOMER_CELLS * LIVE_CELL + CLOSED


class Feed:
    """Call `prepare`, then `backlog`, before the first block is planned; then `feed_once` or `run`.

    Without brokers the web shop sends no events.
    """

    def __init__(
        self,
        catalog: Catalog,
        database_url: str,
        seed: int = 7,
        scale: float = 1.0,
        past: timedelta = timedelta(days=2),
        brokers: str | None = None,
    ) -> None:
        self._topic = Topic(brokers) if brokers else None
        self._lake = Lake(catalog)
        self._oltp = Oltp(database_url)
        self._wanted = (seed, scale, past)
        self._generator: Generator | None = None

    def prepare(self, now: datetime | None = None) -> None:
        """Create the outside tables; at the first start also fix seed and beginning, which then stay."""
        seed, scale, past = self._wanted
        self._oltp.prepare(_OLTP)
        self._lake.prepare(_LAKE)
        story = self._oltp.story(Story(seed, (now or _now()) - past, scale, past))
        self._generator = Generator(story.seed, story.start, story.scale, story.past)
        if self._topic is not None:
            self._topic.prepare()

    @property
    def generator(self) -> Generator:
        if self._generator is None:
            self.prepare()
        assert self._generator is not None
        return self._generator

    def backlog(self) -> int:
        """Write the past, once; after a crash, what is missing of it. Returns the rows written."""
        opening = self.generator.opening
        with self._oltp.sole_feeder():
            return sum(self._write(stream, opening) for stream in STREAMS)

    def feed_once(self, now: datetime | None = None) -> int:
        """Write what arrived since the last time. Returns the rows written."""
        now = now or _now()
        with self._oltp.sole_feeder():
            written = sum(self._write_soon(stream, now) for stream in _OLTP)
            written += sum(self._write(stream, now) for stream in _LAKE)
            return written + self._send(now)

    def run(self, stop: threading.Event, every: float = 2.0) -> None:
        """Feed until `stop` is set; a database that is away is waited for."""
        while not stop.is_set():
            try:
                self.feed_once()
            except Transient as error:
                _log.warning("%s", error)
            stop.wait(every)

    def _write(self, stream: Stream, upto: datetime) -> int:
        def rows_since(fed: datetime | None) -> list[Row]:
            return self.generator.rows(stream, _since(stream, fed, upto, self.generator.opening), upto)

        return (self._lake if stream in _LAKE else self._oltp).write(stream, upto, rows_since)

    def _send(self, now: datetime) -> int:
        """Events are marked as sent when the broker has them all: a crash in between sends them again, it loses none."""
        if self._topic is None:
            return 0
        events = WebEvents(self.generator.shop)
        fed = self._oltp.fed_upto(NAME) or self.generator.opening
        messages = events.messages(fed if now - fed <= CLOSED else now, now)
        self._topic.send(messages)
        self._oltp.mark_fed(NAME, events.complete(now))
        return len(messages)

    def _write_soon(self, stream: Stream, now: datetime) -> int:
        began = time.monotonic()

        def rows_since(fed: datetime | None) -> list[Row]:
            after = _since(stream, fed, now, self.generator.opening)
            after = max(after or now, now - (NEWCOMERS if stream.dimension else HICCUP))
            rows = [_lifted(row, now - HICCUP - LATENESS) for row in self.generator.rows(stream, after, now)]
            if time.monotonic() - began > SLOWEST_COMMIT.total_seconds():
                raise ControlStoreDown(f"{stream.name}: too slow to be in time; nothing was written, the next round tries again.")
            return rows

        return self._oltp.write(stream, now, rows_since)


def _since(stream: Stream, fed: datetime | None, upto: datetime, opening: datetime) -> datetime | None:
    """After when rows are fed: where the last time ended, or, after a long pause, since the shop is open again."""
    if fed is None or upto == opening or upto - fed <= CLOSED + stream.every:
        return fed
    return max(fed, upto - (NEWCOMERS if stream.dimension else stream.every))


def _lifted(row: Row, least: datetime) -> Row:
    """A customer who changed while the feed was down is recorded when it is back: the past is closed."""
    pos = row[0]
    assert isinstance(pos, datetime)
    return (max(pos, least), *row[1:])


def _now() -> datetime:
    return datetime.now(UTC)
