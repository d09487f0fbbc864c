from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from dwh_assets.demo.events import EVENTS_A_SECOND, Message, WebEvents
from dwh_assets.demo.generator import Generator

OPENING = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
V1 = {"version", "event_id", "kind", "product_id", "session", "happened"}


def web_events(seed: int = 7) -> WebEvents:
    return WebEvents(Generator(seed, OPENING, past=timedelta(0)).shop)


def sent(seconds: float, until: float) -> list[Message]:
    return web_events().messages(OPENING + timedelta(seconds=seconds), OPENING + timedelta(seconds=until))


def read(messages: list[Message]) -> list[dict[str, object]]:
    """Those that are not broken."""
    found = []
    for message in messages:
        try:
            found.append(json.loads(message.value))
        except json.JSONDecodeError:
            continue
    return found


def test_the_same_seed_gives_the_same_messages_and_another_seed_others():
    later = OPENING + timedelta(minutes=1)
    assert web_events().messages(OPENING, later) == web_events().messages(OPENING, later)
    assert web_events().messages(OPENING, later) != web_events(8).messages(OPENING, later)


def test_rounds_of_any_length_send_what_one_long_round_sends():
    events, fed, parts = web_events(), OPENING, []
    for seconds in (0.4, 2.1, 2.2, 5, 59.9, 60):
        now = OPENING + timedelta(seconds=seconds)
        parts += events.messages(fed, now)
        fed = events.complete(now)
    assert parts == sent(0, 60)
    assert fed == OPENING + timedelta(seconds=60)


def test_there_are_none_before_the_opening():
    assert sent(-3600, 0) == []
    assert web_events().complete(OPENING - timedelta(hours=1)) == OPENING


def test_about_one_in_twenty_comes_twice_and_a_few_are_broken():
    messages = sent(0, 3600)
    own = 3600 * EVENTS_A_SECOND
    assert 0.04 < len(messages) / own - 1 < 0.06
    copies = Counter(messages)
    assert max(copies.values()) == 2
    broken = len(messages) - len(read(messages))
    assert 0.001 < broken / len(messages) < 0.01


def test_events_of_one_id_are_the_same_event():
    found = read(sent(0, 600))
    assert len({str(event["event_id"]) for event in found}) == len({json.dumps(event) for event in found}) < len(found)


@pytest.mark.parametrize(
    ("begin", "end", "version", "fields"),
    [
        (0, 180, 1, V1),
        (181, 300, 2, V1 | {"device"}),
        (301, 330, 3, V1 | {"device", "campaign"}),
        (331, 2100, 2, V1 | {"device"}),
        (2101, 2130, 3, V1 | {"device", "campaign"}),
    ],
)
def test_versions_follow_each_other(begin: float, end: float, version: int, fields: set[str]):
    """A second later than they begin: the first one also has what is sent again of the one before."""
    found = read(sent(begin, end))
    assert {event["version"] for event in found} == {version}
    assert {frozenset(event) for event in found} == {frozenset(fields)}


def test_an_event_has_happened_when_it_is_sent():
    for event in read(sent(59, 60)):
        assert datetime.fromisoformat(str(event["happened"])) < OPENING + timedelta(seconds=60)
