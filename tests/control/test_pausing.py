"""Topics that a person holds, and topics that are backfilled behind the live ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dwh_assets.control.database import Database
from dwh_assets.control.reports import Reports
from dwh_assets.control.sources import SourceStore
from dwh_assets.model.block import Start
from dwh_assets.model.errors import ActRefused, NotDue, StartRefused
from dwh_assets.model.position import EARLIEST, Position
from tests.control.small import MODULE, TOPIC, Store, at, changed, ready


def verdict(store: Store, topic: str = TOPIC) -> tuple[str, str]:
    row = Reports(store.database).status([topic])[0]
    return row["verdict"], row["why"]


def test_a_paused_topic_says_who_holds_it_and_why_and_is_not_claimed_until_it_is_resumed(database: Database):
    store = ready(database, 1, 2)
    store.acts.pause(TOPIC, "the disk is nearly full")

    word, why = verdict(store)
    assert word == "INACTIVE"
    assert why.startswith("paused by ann since ")
    assert "the disk is nearly full; dwh resume" in why
    with pytest.raises(NotDue, match="the disk is nearly full"):
        store.claims().claim(TOPIC)
    with pytest.raises(StartRefused, match="switched off"):
        store.claims().claim(TOPIC, start=Start())
    with pytest.raises(ActRefused, match="paused already, by ann"):
        store.acts.pause(TOPIC, "again")

    store.acts.resume(TOPIC, "there is room again")
    assert verdict(store)[0] == "DUE"
    store.load()
    with pytest.raises(ActRefused, match="is not paused"):
        store.acts.resume(TOPIC, "again")
    assert [event["text"] for event in store.events("PAUSE") + store.events("RESUME")] == [
        "the disk is nearly full",
        "there is room again",
    ]


def test_a_pause_lets_the_block_finish_that_is_being_loaded(database: Database):
    store = ready(database, 1, 2)
    claim = store.claims("busy").claim(TOPIC)
    assert store.acts.pause(TOPIC, "later") == "busy"
    store.commit(claim)
    assert store.blocks() == [(0, "committed"), (1, "committed"), (2, "planned")]
    assert verdict(store)[0] == "INACTIVE"


def test_what_depends_on_a_paused_topic_waits_for_it(database: Database):
    store = ready(database, 1, 2)
    mart = replace(MODULE, name="mart.sales", table="mart.sales", depends_on=(TOPIC,))
    store.apply(MODULE, mart)
    store.load()
    store.acts.pause(TOPIC, "later")
    assert store.topics.verdicts(["mart.sales"])[0]["upto"] < at(1)


def test_a_backfilled_topic_comes_after_the_others_until_a_block_takes_all(database: Database):
    store = ready(database, 1, 2)
    store.acts.begin_backfill(TOPIC, 20, "a new table")

    def priority() -> int:
        return store.topics.verdicts()[0]["priority"]

    assert priority() == -60
    store.load()
    assert priority() == -60
    assert "backfilled behind the live topics" in verdict(store)[1]
    store.acts.begin_backfill(TOPIC, 999, "asked for again")
    assert store.topic()["backfill_rows"] == 20
    store.load()
    assert priority() == 0
    assert store.topic()["backfill_at"] is None


def test_a_topic_without_blocks_may_begin_earlier_and_one_with_blocks_may_not(database: Database):
    store = Store(database)
    store.apply(changed(start="2026-03-01T10:00:00Z"))
    store.observe()
    store.acts.begin_at(TOPIC, EARLIEST, "all of it")
    assert store.topic()["last_pos"] == EARLIEST.pos
    store.plan(1, 2)
    store.load()
    with pytest.raises(ActRefused, match=r"dwh rollback fact\.sales --all"):
        store.acts.begin_at(TOPIC, Position(at(0), 0), "again")
    assert store.blocks()[:2] == [(0, "committed"), (1, "committed")]


def test_a_topic_does_not_begin_earlier_where_readers_of_its_table_are_beyond(database: Database):
    store = Store(database)
    mart = replace(MODULE, name="mart.sales", table="mart.sales", depends_on=(TOPIC,))
    store.apply(changed(start="2026-03-01T10:00:00Z"), replace(mart, start="2026-03-01T05:00:00Z"))
    SourceStore(database).observed("src.sales", at(100), at(100), at(100))
    with pytest.raises(ActRefused, match=r"mart\.sales took its table for complete"):
        store.acts.begin_at(TOPIC, Position(at(1), 0), "all of it")
    assert store.topic()["last_pos"] == at(10)
