"""Acts by hand: each needs a reason, is logged, raises the token, and is one transaction."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dwh_assets.control.database import Database
from dwh_assets.model.errors import ActRefused, LeaseLost
from dwh_assets.model.position import Position
from tests.control.small import TOPIC, Store, at, ready

Act = Callable[[Store, str], object]
ACTS: dict[str, Act] = {
    "UNLOCK": lambda store, reason: store.acts.unlock(TOPIC, reason),
    "RETRY": lambda store, reason: store.acts.retry(TOPIC, reason),
    "RELEASE": lambda store, reason: store.acts.release(TOPIC, "not_null(a)", reason),
    "SKIP": lambda store, reason: store.acts.skip(TOPIC, reason),
    "RESET": lambda store, reason: store.acts.reset_forward(TOPIC, Position(at(50), 0), reason),
    "RESTATE": lambda store, reason: store.acts.ask_restatement(TOPIC, 1, 1, "restate", reason),
    "ROLLBACK": lambda store, reason: store.acts.ask_restatement(TOPIC, 1, 1, "rollback", reason),
}


@pytest.mark.parametrize("code", ACTS)
def test_an_act_needs_a_reason_is_logged_raises_the_token_and_ends_who_held_the_topic(database: Database, code: str) -> None:
    store = ready(database, 1, 2)
    store.load()
    held = store.claims().claim(TOPIC)
    with pytest.raises(ActRefused, match="say why with --reason"):
        ACTS[code](store, "  ")
    assert store.topic()["token"] == held.token
    ACTS[code](store, "the shop closed")
    assert store.topic()["token"] == held.token + 1
    (event,) = store.events(code)
    assert (event["kind"], event["who"], event["topic"]) == ("act", "ann", TOPIC)
    assert event["text"].endswith("the shop closed")
    assert store.executions()[-1]["execution_code"] == "Aborted"
    assert store.topic()["lease_worker"] is None
    with pytest.raises(LeaseLost):
        store.commit(held)


def test_an_act_that_is_refused_is_not_logged(database: Database) -> None:
    store = ready(database, 1)
    for act in (store.acts.retry, store.acts.skip):
        with pytest.raises(ActRefused, match="has no block that was begun"):
            act(TOPIC, "why not")
    assert store.events("RETRY") + store.events("SKIP") == []
    assert store.topic()["token"] == 0


def parked(database: Database) -> Store:
    store = ready(database, 1, 2)
    store.claims().fail(store.claims().claim(TOPIC), "not_null(a) failed", counts=True, park=True)
    assert store.blocks()[1] == (1, "parked")
    return store


def test_unlock_tells_who_held_the_topic(database: Database) -> None:
    store = ready(database, 1)
    assert store.acts.unlock(TOPIC, "a test") is None
    store.claims("w7").claim(TOPIC)
    assert store.acts.unlock(TOPIC, "a test") == "w7"
    assert store.claims("w8").claim(TOPIC).attempt == 2


def test_retry_opens_the_same_range_again(database: Database) -> None:
    store = parked(database)
    block = store.acts.retry(TOPIC, "the file was repaired")
    claim = store.claims().claim(TOPIC)
    assert (claim.block.id, claim.block.failures, claim.block.waived) == (block.id, 0, ())


def test_release_waives_the_named_check_for_this_block_only(database: Database) -> None:
    store = parked(database)
    store.acts.release(TOPIC, "not_null(a)", "known")
    store.acts.release(TOPIC, "not_null(a)", "known")
    assert store.load().block.waived == ("not_null(a)",)
    assert store.claims().claim(TOPIC).block.waived == ()


def test_skip_leaves_the_range_out_and_goes_on_behind_it(database: Database) -> None:
    store = parked(database)
    store.acts.skip(TOPIC, "lost for ever")
    assert store.blocks() == [(0, "committed"), (1, "skipped"), (2, "planned")]
    assert store.topic()["last_pos"] == at(1)
    assert store.load().block.seq == 2


def test_reset_forward_records_what_is_left_out_as_a_skipped_block(database: Database) -> None:
    store = ready(database, 1, 2, 3)
    store.load()
    store.claims().claim(TOPIC)
    store.acts.reset_forward(TOPIC, Position(at(10), 5), "a test")
    assert store.blocks() == [(0, "committed"), (1, "committed"), (2, "void"), (2, "skipped")]
    topic = store.topic()
    assert (topic["last_pos"], topic["last_id"], topic["examined"]) == (at(10), 5, None)
    with pytest.raises(ActRefused, match="is not beyond its cursor"):
        store.acts.reset_forward(TOPIC, Position(at(10), 5), "again")
    store.plan(11)
    assert store.load().block.seq == 3


def test_only_one_restatement_is_open_at_a_time_and_it_needs_committed_blocks(database: Database) -> None:
    store = ready(database, 1, 2)
    with pytest.raises(ActRefused, match="has no committed blocks between 1 and 2"):
        store.acts.ask_restatement(TOPIC, 1, 2, "restate", "a test")
    store.load()
    store.acts.ask_restatement(TOPIC, 1, 1, "restate", "a test")
    with pytest.raises(ActRefused, match="is being restated already"):
        store.acts.ask_restatement(TOPIC, 1, 1, "restate", "a test")
    assert len(store.events("RESTATE")) == 1


def test_a_rollback_over_skipped_blocks_ends_where_it_was_asked_to(database: Database) -> None:
    store = ready(database, 1, 2, 3)
    store.load()
    store.claims().fail(store.claims().claim(TOPIC), "no", counts=True, park=True)
    store.acts.skip(TOPIC, "lost")
    store.load()
    store.acts.ask_restatement(TOPIC, 2, 3, "rollback", "it was not lost")
    store.load()
    assert store.topic()["last_pos"] == at(1)
    assert store.blocks()[1:] == [(1, "committed"), (2, "void"), (3, "void")]


def test_a_rollback_also_takes_what_was_finished_since_it_was_asked_for(database: Database) -> None:
    store = ready(database, 1, 2, 3)
    for _ in range(3):
        store.load()
    store.acts.ask_restatement(TOPIC, 2, 2, "rollback", "asked for when there were two")
    assert [block.seq for block in store.load().blocks] == [2, 3]
    assert store.blocks()[1:] == [(1, "committed"), (2, "void"), (3, "void")]


def test_a_rollback_of_skipped_blocks_alone_takes_the_cursor_back(database: Database) -> None:
    store = ready(database, 1)
    store.load()
    store.acts.reset_forward(TOPIC, Position(at(10), 0), "too far")
    store.acts.ask_restatement(TOPIC, 2, 2, "rollback", "back again")
    store.load()
    assert store.topic()["last_pos"] == at(1)
