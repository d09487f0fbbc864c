"""Daily windows: HH:MM-HH:MM in a time zone; one that ends before it starts crosses midnight."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time
from zoneinfo import ZoneInfo

_WINDOW = re.compile(r"([01]\d|2[0-3]):([0-5]\d)\s*-\s*([01]\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True)
class Window:
    start: time
    end: time

    @classmethod
    def parse(cls, text: str) -> Window:
        match = _WINDOW.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is not a daily window; write HH:MM-HH:MM, for example 22:00-06:00")
        hour1, minute1, hour2, minute2 = map(int, match.groups())
        if (hour1, minute1) == (hour2, minute2):
            raise ValueError(f"the window {text!r} is empty; leave it out to allow the whole day")
        return cls(time(hour1, minute1), time(hour2, minute2))

    def is_open(self, now: datetime, timezone: str) -> bool:
        local = now.astimezone(ZoneInfo(timezone)).time()
        if self.start < self.end:
            return self.start <= local < self.end
        return local >= self.start or local < self.end

    def __str__(self) -> str:
        return f"{self.start:%H:%M}-{self.end:%H:%M}"
