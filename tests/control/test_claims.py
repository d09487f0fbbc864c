"""Claims: who may attempt a block, what happens to those who may not, and to those who vanish."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from dwh_assets.control.alerts import AlertStore
from dwh_assets.control.claim_set import ClaimSet, Connection, KnownModules, Row
from dwh_assets.control.database import Database
from dwh_assets.model.block import Claim, Start
from dwh_assets.model.errors import DwhError, InputsChanged, LeaseLost, NotDue, Refused, UnknownTopic
from dwh_assets.model.module import SourceTable
from tests.control.small import SOURCE, TOPIC, Store, at, changed, ready, wait_for_a_waiter


def test_a_claim_opens_the_first_block_and_raises_the_token(database: Database) -> None:
    store = ready(database, 1, 2)
    claim = store.claims().claim(TOPIC, "code1")
    assert (claim.token, claim.attempt, claim.block.seq, claim.kind) == (1, 1, 1, "load")
    assert store.blocks()[1:] == [(1, "open"), (2, "planned")]
    (execution,) = store.executions()
    assert (execution["execution_code"], execution["worker"], execution["code_version"]) == ("Executing", "w1", "code1")


def test_nothing_to_do_is_said_and_leaves_nothing_behind(database: Database) -> None:
    store = ready(database)
    with pytest.raises(NotDue, match="has no planned block yet"):
        store.claims().claim(TOPIC)
    store.topics.store_plan(store.topic()["id"], store.state(), [], at(100), at(100))
    with pytest.raises(NotDue, match=r"is not due: WAIT_DEP, waits for src.sales"):
        store.claims().claim(TOPIC)
    assert store.executions() == []
    assert store.topic()["token"] == 0
    with pytest.raises(UnknownTopic, match=r"no topic 'fact.salse'"):
        store.claims().claim("fact.salse")


def test_a_topic_that_another_worker_holds_is_refused_and_the_attempt_is_aborted(database: Database) -> None:
    store = ready(database, 1)
    first = store.claims("w1").claim(TOPIC)
    with pytest.raises(Refused, match="worker w1 holds it"):
        store.claims("w2").claim(TOPIC)
    with pytest.raises(Refused):
        store.claims("w2").claim(TOPIC, force=True)
    found = [(e["worker"], e["execution_code"], e["processing_code"]) for e in store.executions()]
    assert found == [("w1", "Executing", "Proceed"), ("w2", "Aborted", "Abort"), ("w2", "Aborted", "Abort")]
    store.commit(first)
    assert store.blocks()[1] == (1, "committed")


def test_of_many_workers_at_once_one_gets_the_topic(database: Database) -> None:
    store = ready(database, 1)

    def attempt(number: int) -> str:
        try:
            store.claims(f"w{number}").claim(TOPIC)
        except Refused:
            return "refused"
        return "claimed"

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(attempt, range(6))) == ["claimed"] + ["refused"] * 5


def test_a_lost_worker_is_succeeded_by_a_higher_token_and_its_execution_ends_failed(database: Database) -> None:
    store = ready(database, 1)
    lost = store.claims("w1").claim(TOPIC)
    store.expire()
    taken = store.claims("w2").claim(TOPIC)
    assert (taken.token, taken.attempt, taken.block.id) == (lost.token + 1, 2, lost.block.id)
    assert taken.bounds == lost.bounds
    codes = [(e["worker"], e["execution_code"], e["next_run_code"]) for e in store.executions()]
    assert codes == [("w1", "Failed", "Rollback"), ("w2", "Executing", "Proceed")]
    assert [event["execution_id"] for event in store.events("LOST")] == [lost.execution_id]
    assert not store.claims("w1").renew(lost)
    assert store.claims("w1").fail(lost, "late", counts=True) == "lost"
    with pytest.raises(LeaseLost, match="token 1 was superseded"):
        store.claims("w1").note_staging(lost, {}, {})
    with pytest.raises(LeaseLost):
        store.commit(lost)
    store.commit(taken)
    assert store.topic()["last_pos"] == at(1)


def test_renewing_keeps_the_topic_and_the_table_it_replaces(database: Database) -> None:
    store = ready(database, 1)
    claim = store.claims().claim(TOPIC)
    assert store.claims().take_table(claim)
    store.expire()
    assert store.claims(lease=1000).renew(claim)
    held = database.fetch("select t.lease_until = g.lease_until as same from dwh.topic t join dwh.target g on g.name = t.target")
    assert held == [{"same": True}]
    assert store.topics.verdicts([TOPIC])[0]["verdict"] == "LOCKED"


def test_a_failing_block_is_retried_with_back_off_and_parked_after_its_attempts(database: Database) -> None:
    store = ready(database, 1, 2)
    claims = store.claims()
    for status in ("open", "open", "parked"):
        assert claims.fail(claims.claim(TOPIC, force=True), "no such column", counts=True) == status
        database.execute("update dwh.topic set not_before = null")
    with pytest.raises(NotDue, match=r"BACKOFF, block #.* is parked: no such column; dwh retry, release or skip"):
        claims.claim(TOPIC)
    with pytest.raises(NotDue, match="is parked"):
        claims.claim(TOPIC, force=True)
    assert [len(store.events("FAILED")), len(store.events("PARKED"))] == [2, 1]


def test_crashes_do_not_use_up_the_attempts_until_there_are_very_many(database: Database) -> None:
    store = ready(database, 1)
    database.execute("update dwh.module set attempts = 1")
    claims = store.claims()
    assert claims.fail(claims.claim(TOPIC), "Spark is away", counts=False, crash=True) == "open"
    database.execute("update dwh.block set crashes = 9 where seq = 1")
    claims.claim(TOPIC)
    store.expire()
    with pytest.raises(NotDue, match="is parked"):
        claims.claim(TOPIC)
    assert store.events("PARKED")[0]["text"] == "its workers were lost 10 times"


def test_what_is_away_is_asked_for_again_after_a_growing_pause_and_never_parks_a_block(database: Database) -> None:
    store = ready(database, 1)
    database.execute("update dwh.module set attempts = 1, backoff = interval '10 s'")
    claims, pauses = store.claims(), []
    for _ in range(12):
        assert claims.fail(claims.claim(TOPIC, force=True), "the source is away", counts=False, pause=True) == "open"
        with pytest.raises(NotDue, match=r"BACKOFF, tries again at .*: the source is away"):
            claims.claim(TOPIC)
        topic = store.topic()
        pauses.append(round((topic["not_before"] - topic["last_end"]).total_seconds()))
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60]
    assert store.events("PARKED") == []


def test_a_restatement_whose_workers_are_always_lost_is_given_up_and_the_topic_goes_on(database: Database) -> None:
    store = ready(database, 1, 2)
    store.load()
    database.execute("update dwh.module set attempts = 1")
    number = store.acts.ask_restatement(TOPIC, 1, 1, "restate", "a test")
    claims = store.claims()
    for _ in range(5):
        assert claims.claim(TOPIC).restatement == number
        store.expire()
    for _ in range(4):
        claim = claims.claim(TOPIC)
        assert claims.fail(claim, "Spark was lost", counts=False, crash=True, pause=True) == "open"
    claims.claim(TOPIC)
    store.expire()
    with pytest.raises(NotDue, match=f"restatement {number} was given up: its workers were lost 10 times"):
        claims.claim(TOPIC)
    [event] = store.events("PARKED")
    assert "`dwh restate fact.sales ...` asks for it again" in event["text"]
    AlertStore(database).find()
    [alert] = AlertStore(database).listed()
    assert (alert["text"], alert["resolved_at"] is None) == (event["text"], False)
    assert claims.claim(TOPIC).kind == "load"
    assert store.acts.ask_restatement(TOPIC, 1, 1, "restate", "again") > number


def test_a_restatement_that_spark_is_always_lost_with_is_given_up(database: Database) -> None:
    store = ready(database, 1)
    store.load()
    database.execute("update dwh.module set attempts = 1")
    store.acts.ask_restatement(TOPIC, 1, 1, "rollback", "a test")
    claims = store.claims()
    ends = [claims.fail(claims.claim(TOPIC), "Spark was lost", counts=False, crash=True, pause=True) for _ in range(10)]
    assert ends == ["open"] * 9 + ["failed"]


def test_a_planned_block_above_a_horizon_that_went_back_is_planned_anew(database: Database) -> None:
    store = ready(database, 1, 2)
    store.load()
    database.execute("update dwh.source set watermark = %(pos)s", pos=at(1.5))
    with pytest.raises(NotDue):
        store.claims().claim(TOPIC)
    with pytest.raises(NotDue, match="its horizon went back below the planned block"):
        store.claims().claim(TOPIC, force=True)
    assert store.blocks() == [(0, "committed"), (1, "committed")]
    assert store.topic()["examined"] is None


@pytest.mark.parametrize("status", ["open", "parked"])
@pytest.mark.parametrize("start", [None, Start()], ids=["by force", "by a start"])
def test_a_begun_block_above_a_horizon_that_went_back_is_kept_until_its_inputs_are_there_again(
    database: Database, status: str, start: Start | None
) -> None:
    store = ready(database, 1, 2)
    claims = store.claims()
    first = claims.claim(TOPIC)
    assert claims.fail(first, "wrong", counts=True, park=status == "parked") == status
    database.execute("update dwh.source set watermark = %(pos)s", pos=at(0.5))
    with pytest.raises(NotDue, match=r"its horizon went back to 2026-03-01 00:30:00, below the begun block #"):
        claims.claim(TOPIC, force=True, start=start)
    assert store.blocks()[1:] == [(1, status), (2, "planned")]
    database.execute("update dwh.source set watermark = %(pos)s", pos=at(1))
    again = claims.claim(TOPIC, force=True, start=Start())
    assert (again.block.id, again.bounds) == (first.block.id, first.bounds)
    store.commit(again)


@pytest.mark.parametrize("begun", [False, True])
def test_nothing_is_loaded_while_nothing_is_known_of_a_dependency(database: Database, begun: bool) -> None:
    store = ready(database, 1)
    claims = store.claims()
    if begun:
        claims.fail(claims.claim(TOPIC), "wrong", counts=True)
    status = store.blocks()[1]
    store.apply(changed(depends_on=("src.sales", "src.more")), sources=(SOURCE, SourceTable("src.more", "iceberg")))
    assert store.topics.verdicts([TOPIC])[0]["verdict"] == "DEP_UNKNOWN"
    for start in (None, Start()):
        with pytest.raises(NotDue, match="nothing is known yet of a table that it waits for"):
            claims.claim(TOPIC, force=True, start=start)
    assert store.blocks()[1] == status
    store.observe(name="src.more")
    assert claims.claim(TOPIC).block.seq == 1


def test_a_lost_worker_whose_block_waits_for_its_horizon_has_lost_its_token(database: Database) -> None:
    store = ready(database, 1)
    lost = store.claims("w1").claim(TOPIC)
    store.expire()
    database.execute("update dwh.source set watermark = %(pos)s", pos=at(0.5))
    with pytest.raises(NotDue, match="below the begun block"):
        store.claims("w2").claim(TOPIC, force=True)
    assert not store.claims("w1").renew(lost)
    with pytest.raises(LeaseLost):
        store.commit(lost)


def test_a_retry_takes_the_newest_version_of_its_module(database: Database) -> None:
    store = ready(database, 1)
    claims = store.claims()
    first = claims.claim(TOPIC)
    store.apply(changed(comment="another", transforms=("y.sql",)))
    claims.fail(first, "wrong", counts=True)
    second = claims.claim(TOPIC)
    assert (first.module_version, first.module.transforms) == (1, ("x.sql",))
    assert (second.module_version, second.module.transforms) == (2, ("y.sql",))


def test_a_switched_off_module_is_not_claimed_even_by_force(database: Database) -> None:
    store = ready(database, 1)
    store.apply(changed(active=False))
    with pytest.raises(NotDue, match=r"INACTIVE, module fact.sales is switched off"):
        store.claims().claim(TOPIC, force=True)


def test_claims_note_the_generations_of_their_inputs(database: Database) -> None:
    store = Store(database)
    mart = changed(name="mart.sums", table="mart.sums", depends_on=(TOPIC,))
    store.apply(changed(), mart)
    store.observe()
    store.plan(1)
    store.load()
    database.execute("update dwh.target set generation = 7 where name = 'fact.sales'")
    store.plan(1, name="mart.sums")
    assert store.claims().claim("mart.sums", force=True).generations == {TOPIC: 7}


def test_an_input_that_is_restated_inside_a_claim_fails_the_commit(database: Database) -> None:
    """After the horizon was read, and before the attempt began."""
    store = Store(database)
    store.apply(changed(), changed(name="mart.sums", table="mart.sums", depends_on=(TOPIC,)))
    store.observe()
    store.plan(1)
    store.load()
    store.plan(1, name="mart.sums")

    class Interrupted(KnownModules):
        def read(self, connection: Connection, rows: Sequence[Row]) -> None:
            store.acts.ask_restatement(TOPIC, 1, 1, "restate", "a test")
            store.load()
            super().read(connection, rows)

    with database.transaction() as connection:
        (claim,) = ClaimSet(connection, "w2", 60, Interrupted()).claim([store.topic("mart.sums")["id"]], {}, False).values()
    assert isinstance(claim, Claim)
    with pytest.raises(InputsChanged):
        store.commit(claim)


EAST, WEST, NORTH = (f"{TOPIC}:{shard}" for shard in ("east", "west", "north"))


def sharded(database: Database) -> Store:
    """Three topics with a planned block each."""
    store = Store(database)
    store.apply(changed(shards=("east", "north", "west"), shard_by="region"))
    store.observe()
    for topic in (EAST, WEST, NORTH):
        assert store.plan(1, 2, name=topic)
    return store


def test_many_topics_are_claimed_at_once_as_each_would_be_alone(database: Database) -> None:
    store = sharded(database)
    found = store.claims().claim_many([EAST, WEST], {WEST: "code1"})
    assert {topic: (claim.token, claim.attempt, claim.block.seq) for topic, claim in claimed(found).items()} == {
        EAST: (1, 1, 1),
        WEST: (1, 1, 1),
    }
    assert {(e["token"], e["execution_code"], e["code_version"]) for e in store.executions()} == {
        (1, "Executing", ""),
        (1, "Executing", "code1"),
    }
    assert [store.blocks(topic)[1] for topic in (EAST, WEST, NORTH)] == [(1, "open"), (1, "open"), (1, "planned")]
    for claim in claimed(found).values():
        store.commit(claim)
    assert store.topic(EAST)["last_pos"] == store.topic(WEST)["last_pos"] == at(1)


def claimed(found: dict[str, Claim | DwhError]) -> dict[str, Claim]:
    return {topic: outcome for topic, outcome in found.items() if isinstance(outcome, Claim)}


def test_of_many_topics_each_that_cannot_be_claimed_says_why(database: Database) -> None:
    store = sharded(database)
    held = store.claims("w1").claim(EAST)
    database.execute("update dwh.topic set not_before = now() + interval '1h', problem = 'no disk' where name = %(t)s", t=WEST)
    found = store.claims("w2").claim_many([NORTH, EAST, WEST, "fact.salse"])
    assert list(claimed(found)) == [NORTH]
    assert isinstance(found[EAST], Refused)
    assert "worker w1 holds it" in str(found[EAST])
    assert isinstance(found[WEST], NotDue)
    assert "BACKOFF, tries again at" in str(found[WEST])
    assert isinstance(found["fact.salse"], UnknownTopic)
    assert [e["execution_code"] for e in store.executions()].count("Aborted") == 1
    assert store.claims("w1").renew(held)


def test_a_lost_worker_among_many_topics_is_succeeded(database: Database) -> None:
    store = sharded(database)
    lost = store.claims("w1").claim(EAST)
    store.expire(EAST)
    found = claimed(store.claims("w2").claim_many([EAST, WEST]))
    assert (found[EAST].token, found[EAST].attempt, found[EAST].block.crashes) == (lost.token + 1, 2, 1)
    assert (found[WEST].token, found[WEST].attempt, found[WEST].block.crashes) == (1, 1, 0)
    assert [event["execution_id"] for event in store.events("LOST")] == [lost.execution_id]


def test_a_claim_of_many_waits_for_no_one(database: Database) -> None:
    store = sharded(database)
    with database.transaction() as connection:
        connection.execute("select from dwh.topic where name = %(name)s for update", {"name": WEST})
        found = store.claims().claim_many([EAST, WEST])
    assert list(claimed(found)) == [EAST]
    assert isinstance(found[WEST], NotDue)
    assert "someone else is at work on it just now" in str(found[WEST])
    assert store.topic(WEST)["token"] == 0


def test_of_many_workers_that_claim_the_same_topics_each_topic_goes_to_one(database: Database) -> None:
    store = sharded(database)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda n: store.claims(f"w{n}").claim_many([EAST, WEST, NORTH]), range(6)))
    assert sorted(topic for outcomes in found for topic in claimed(outcomes)) == sorted([EAST, WEST, NORTH])
    running = [e for e in store.executions() if e["execution_code"] == "Executing"]
    assert len({e["topic_id"] for e in running}) == len(running) == 3


def test_a_single_claim_sees_what_the_holder_before_it_committed(database: Database) -> None:
    """It waits for the lock, and judges by a snapshot that is taken after it."""
    store = ready(database, 1)
    holder = store.claims("w1").claim(TOPIC)
    with ThreadPoolExecutor(1) as pool:
        with database.transaction() as connection:
            connection.execute("select from dwh.topic where name = %(name)s for update", {"name": TOPIC})
            waiting = pool.submit(store.claims("w2").claim, TOPIC)
            wait_for_a_waiter(database)
            connection.execute("update dwh.topic set lease_worker = null, lease_until = null")
            connection.execute("update dwh.execution set execution_code = 'Cancelled', ended_at = now()")
        taken = waiting.result(timeout=20)
    assert (taken.token, taken.attempt, taken.block.id) == (holder.token + 1, 2, holder.block.id)
    assert store.events("LOST") == []
