"""Durations as people write them: 30s, 5min, 1h30m, 2d."""

from __future__ import annotations

import re
from datetime import timedelta

_SECOND = 10**6
_UNITS = {
    "us": 1,
    "ms": 1_000,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "min": 60 * _SECOND,
    "h": 3_600 * _SECOND,
    "d": 86_400 * _SECOND,
    "w": 604_800 * _SECOND,
}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|min|s|m|h|d|w)")
_WHOLE = re.compile(rf"(?:{_PART.pattern}\s*)+")


def parse_duration(text: str) -> timedelta:
    """`1h30m` as a timedelta. Units: us, ms, s, m or min, h, d, w. A bare 0 is allowed."""
    text = text.strip().lower()
    if text == "0":
        return timedelta()
    if _WHOLE.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a duration; write for example 30s, 5min, 1h30m or 2d")
    microseconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    return timedelta(microseconds=round(microseconds))


def format_duration(duration: timedelta) -> str:
    """The shortest text that `parse_duration` reads back as the same duration."""
    rest = duration // timedelta(microseconds=1)
    sign, rest = ("-", -rest) if rest < 0 else ("", rest)
    parts = []
    for unit in ("d", "h", "min", "s", "ms", "us"):
        count, rest = divmod(rest, _UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return sign + ("".join(parts) or "0")


def rough_duration(duration: timedelta) -> str:
    """A duration for people: its two largest units."""
    sign, duration = ("-", -duration) if duration < timedelta() else ("", duration)
    if duration >= timedelta(seconds=10):
        duration = timedelta(seconds=round(duration.total_seconds()))
    parts = re.findall(r"\d+[a-z]+", format_duration(duration))
    return sign + (" ".join(parts[:2]) or "0s")
