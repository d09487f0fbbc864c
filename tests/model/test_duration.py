"""Durations as people write them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwh_assets.model.duration import format_duration, parse_duration, rough_duration


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30s", timedelta(seconds=30)),
        ("5min", timedelta(minutes=5)),
        ("5m", timedelta(minutes=5)),
        ("1h30m", timedelta(hours=1, minutes=30)),
        ("1h 30min", timedelta(hours=1, minutes=30)),
        ("2d", timedelta(days=2)),
        ("1w", timedelta(weeks=1)),
        ("1.5h", timedelta(minutes=90)),
        ("250ms", timedelta(milliseconds=250)),
        ("0", timedelta()),
        ("1H", timedelta(hours=1)),
    ],
)
def test_durations_are_read(text: str, expected: timedelta) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", ["", "30", "s", "-5s", "5 parsecs", "1h30", "1:30", "five minutes"])
def test_other_texts_are_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="30s, 5min"):
        parse_duration(text)


@given(st.timedeltas(min_value=timedelta(), max_value=timedelta(days=10_000)))
def test_a_duration_reads_back_as_it_was_written(duration: timedelta) -> None:
    assert parse_duration(format_duration(duration)) == duration


def test_people_see_the_two_largest_units() -> None:
    assert rough_duration(timedelta(days=1, hours=2, minutes=3)) == "1d 2h"
    assert rough_duration(timedelta()) == "0s"
