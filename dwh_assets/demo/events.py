"""Events of the web shop, as it sends them: some twice, a few broken, and in versions that change while it runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from dwh_assets.demo.clock import LIVE_CELL, Clock
from dwh_assets.demo.shop import Shop

NAME, TOPIC = "broker.web_events", "web-events"
EVENTS_A_SECOND = 5
SENT_AGAIN, BROKEN = 0.05, 0.004  # shares of the events
KINDS = ("view", "view", "view", "view", "wish", "basket")
DEVICES = ("phone", "tablet", "desktop")
SECOND_VERSION = timedelta(minutes=3)  # after the opening
# A version that nobody declared, sent for a short while in each period: somebody deployed too early and took it back.
EARLY_PERIOD, EARLY_BEGIN, EARLY_LENGTH = timedelta(minutes=30), timedelta(minutes=5), timedelta(seconds=30)


@dataclass(frozen=True)
class Message:
    """One record of the topic. Those of a session share a key, and so a partition."""

    key: bytes
    value: bytes


@dataclass(frozen=True)
class WebEvents:
    """The same seed and opening give the same messages, cell by cell; there are none of the past."""

    shop: Shop

    @property
    def clock(self) -> Clock:
        return self.shop.clock

    def messages(self, after: datetime, upto: datetime) -> list[Message]:
        """What is sent in the whole seconds that ended in `(after, upto]`."""
        return [message for cell in range(self._cell(after), self._cell(upto)) for message in self._of(cell)]

    def complete(self, upto: datetime) -> datetime:
        """The end of the last whole second: as far as `messages` goes."""
        return self.clock.begin(self._cell(upto))

    def _cell(self, instant: datetime) -> int:
        return self.clock.cell_of(max(self.clock.opening, instant))

    def version(self, cell: int) -> int:
        age = (cell - self.clock.past_cells) * LIVE_CELL
        if EARLY_BEGIN <= age % EARLY_PERIOD < EARLY_BEGIN + EARLY_LENGTH:
            return 3
        return 1 if age < SECOND_VERSION else 2

    def _of(self, cell: int) -> Iterator[Message]:
        """The events of this second, and those of the second before that are sent again."""
        yield from self._events(cell)
        again = self._random("again", cell)
        if cell > self.clock.past_cells:
            yield from (message for message in self._events(cell - 1) if again.random() < SENT_AGAIN)

    def _events(self, cell: int) -> Iterator[Message]:
        random = self._random("events", cell)
        for number in range(max(1, round(EVENTS_A_SECOND * self.shop.scale))):
            event = self._event(random, cell, number)
            value = json.dumps(event).encode()
            broken = random.random() < BROKEN
            yield Message(str(event["session"]).encode(), value[: len(value) // 2] if broken else value)

    def _event(self, random: Random, cell: int, number: int) -> dict[str, object]:
        version = self.version(cell)
        event: dict[str, object] = {
            "version": version,
            "event_id": f"{cell}-{number}",
            "kind": random.choice(KINDS),
            "product_id": random.randint(1, self.shop.products),
            "session": f"s{cell // 60}-{random.randint(0, 9)}",
            "happened": (self.clock.begin(cell) + LIVE_CELL * random.random()).isoformat(timespec="milliseconds"),
        }
        if version > 1:
            event["device"] = random.choice(DEVICES)
        return event | ({"campaign": random.choice(("spring", "autumn"))} if version > 2 else {})

    def _random(self, what: str, cell: int) -> Random:
        return Random(f"{self.shop.seed}/{TOPIC}/{what}/{cell}")  # noqa: S311 - repeatable on purpose
