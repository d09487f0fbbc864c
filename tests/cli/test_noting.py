from __future__ import annotations

from tests.cli.conftest import Project


def test_an_event_of_ones_own_is_written_with_who_and_shown(loaded: Project):
    loaded.ok("event", "release 12 went live", "--code", "deploy", "--topic", "fact.orders")
    event = loaded.ok("log", "--events", "--json", "-n", "100").json[-1]
    assert (event["kind"], event["code"], event["topic"], event["text"]) == (
        "custom",
        "DEPLOY",
        "fact.orders",
        "release 12 went live",
    )
    assert "@" in event["who"]
    assert loaded.ok("event", "a note", "--json").json["code"] == "NOTE"


def test_an_event_without_text_or_for_an_unknown_topic_is_refused(loaded: Project):
    assert loaded.dwh("event", " ").code == 2
    assert loaded.dwh("event", "x", "--code", "no spaces!").code == 2
    assert "Did you mean fact.orders" in loaded.dwh("event", "x", "--topic", "fact.order").err
