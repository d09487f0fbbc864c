"""Daily windows, across midnight and through the changes of the clock."""

from __future__ import annotations

from datetime import UTC, datetime, time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwh_assets.model.window import Window

MINUTES = st.builds(time, st.integers(0, 23), st.integers(0, 59))


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@given(MINUTES, MINUTES)
def test_a_window_reads_back_as_it_was_written(start: time, end: time) -> None:
    if start != end:
        assert Window.parse(str(Window(start, end))) == Window(start, end)


@pytest.mark.parametrize(
    ("window", "now", "open_"),
    [
        ("08:00-17:00", "2026-01-10T08:00", True),
        ("08:00-17:00", "2026-01-10T17:00", False),
        ("22:00-06:00", "2026-01-10T23:30", True),
        ("22:00-06:00", "2026-01-10T05:59", True),
        ("22:00-06:00", "2026-01-10T06:00", False),
        ("22:00-06:00", "2026-01-10T12:00", False),
    ],
)
def test_a_window_holds_its_start_and_not_its_end(window: str, now: str, open_: bool) -> None:
    assert Window.parse(window).is_open(at(now), "UTC") is open_


@pytest.mark.parametrize(
    ("now", "open_"),
    [
        ("2026-03-29T00:30", False),  # 01:30 in winter time
        ("2026-03-29T01:30", True),  # 03:30: the clock jumped over 02:00 to 03:00
        ("2026-10-25T00:30", True),  # 02:30 in summer time
        ("2026-10-25T01:30", True),  # 02:30 again, in winter time
        ("2026-10-25T03:00", False),  # 04:00
    ],
)
def test_a_window_follows_the_local_clock_when_it_changes(now: str, open_: bool) -> None:
    assert Window.parse("02:00-04:00").is_open(at(now), "Europe/Berlin") is open_


@pytest.mark.parametrize("text", ["", "8-17", "24:00-01:00", "08:00", "08:00-08:00", "08:60-09:00"])
def test_what_is_not_a_window_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"HH:MM|empty"):
        Window.parse(text)
