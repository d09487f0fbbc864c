"""The view `dwh.verdict` and the rule in Python say the same of every topic, and hot queries stay on their indexes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import Connection

from dwh_assets.control.database import Database, one
from dwh_assets.control.statements import sql
from dwh_assets.model.verdict import DUE, Dependency, Facts, Verdict, decide
from dwh_assets.model.window import Window
from tests.control.many_topics import Size, fill
from tests.control.stored_facts import Built, store

SECOND = timedelta(seconds=1)
ANCHOR = datetime(2026, 6, 1, tzinfo=UTC)  # instants are drawn around it and moved to the database's now
ZONES = ("UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia")
TOPICS = 40

instants = st.integers(-5, 5).map(lambda n: ANCHOR + n * SECOND)
spans = st.integers(0, 4).map(lambda n: n * SECOND)
seldom = st.sampled_from([False] * 7 + [True])


def mostly_none(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), st.none(), st.none(), values)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    start, end = draw(st.lists(st.integers(0, 1439), min_size=2, max_size=2, unique=True))
    return Window(time(*divmod(start, 60)), time(*divmod(end, 60)))


@st.composite
def facts(draw: st.DrawFn) -> Facts:
    known = st.one_of(instants, instants, instants, instants, st.none())
    dependencies = draw(st.lists(st.builds(Dependency, st.just(""), known, known), min_size=1, max_size=3))
    begun = draw(st.sampled_from(["", "", "", "", "open", "parked"]))
    return Facts(
        now=ANCHOR,
        dependencies=tuple(replace(d, table=f"dep.{n}") for n, d in enumerate(dependencies)),
        active=not draw(seldom),
        paused=draw(seldom),
        last_pos=draw(st.one_of(instants, instants, instants, instants, st.none())),
        leased_until=draw(mostly_none(instants)),
        window=draw(mostly_none(windows())),
        timezone=draw(st.sampled_from(ZONES)),
        not_before=draw(mostly_none(instants)),
        has_parked=begun == "parked",
        has_open=begun == "open",
        restating=draw(seldom),
        planned_next=draw(mostly_none(instants)),
        examined=draw(st.one_of(st.none(), instants, instants)),
        by_time=draw(seldom),
        last_full=draw(st.booleans()),
        last_end=draw(st.one_of(st.none(), instants)),
        delay=draw(spans),
        repeat=draw(spans),
    )


def moved(drawn: Facts, now: datetime) -> Facts:
    """The same facts as seen from another now."""

    def shift(at: datetime | None) -> datetime | None:
        return None if at is None else at + (now - ANCHOR)

    names = ("last_pos", "leased_until", "not_before", "planned_next", "examined", "last_end")
    dependencies = tuple(Dependency(d.table, shift(d.watermark), shift(d.newest)) for d in drawn.dependencies)
    return replace(drawn, now=now, dependencies=dependencies, **{name: shift(getattr(drawn, name)) for name in names})


@contextmanager
def thrown_away(database: Database) -> Iterator[tuple[Connection[Any], datetime]]:
    """A transaction that leaves nothing behind, and its now."""
    with database.transaction() as connection, connection.transaction(force_rollback=True):
        yield connection, one(connection.execute("select now() as now"))["now"]


def verdicts(connection: Connection[Any]) -> dict[str, dict[str, Any]]:
    return {row["topic"]: row for row in connection.execute("select * from dwh.verdict").fetchall()}


@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
@given(drawn=st.lists(facts(), min_size=TOPICS, max_size=TOPICS))
def test_the_view_and_the_rule_give_the_same_verdict_and_horizon(database: Database, drawn: list[Facts]) -> None:
    same(database, drawn)


def same(database: Database, drawn: list[Facts]) -> list[Verdict]:
    """The verdicts of the rule, which are also those of the view, with the same horizon."""
    with thrown_away(database) as (connection, now):
        known = {f"t.t{n}": moved(given_, now) for n, given_ in enumerate(drawn)}
        with connection.pipeline():
            for name, given_ in known.items():
                store(connection, name, given_)
        found = verdicts(connection)
    expected = {name: decide(given_) for name, given_ in known.items()}
    for name, given_ in known.items():
        assert (found[name]["verdict"], found[name]["upto"]) == (expected[name], given_.upto), (name, given_)
        assert found[name]["due"] == (expected[name] in DUE)
    return list(expected.values())


def test_all_twelve_verdicts_are_reached(database: Database) -> None:
    quiet = replace(READY, examined=at(-10))
    drawn = {
        Verdict.INACTIVE: replace(READY, active=False),
        Verdict.NOT_INITIALISED: replace(READY, last_pos=None),
        Verdict.LOCKED: replace(READY, leased_until=at(1)),
        Verdict.BACKOFF: replace(READY, not_before=at(1)),
        Verdict.DUE_REPLAY: replace(quiet, has_open=True),
        Verdict.DEP_UNKNOWN: replace(READY, dependencies=(*READY.dependencies, NOTHING)),
        Verdict.WAIT_DEP: quiet,
        Verdict.WAIT_DELAY: replace(quiet, delay=20 * SECOND),
        Verdict.DUE_FULL: replace(READY, last_full=True),
        Verdict.REPEAT: replace(READY, last_end=at(-5), repeat=6 * SECOND),
        Verdict.DUE: READY,
    }
    assert same(database, list(drawn.values())) == list(drawn)
    hour = database.fetch("select extract(hour from now())::int as hour")[0]["hour"]
    closed = Window(time((hour + 2) % 24), time((hour + 3) % 24))
    assert same(database, [replace(READY, window=closed)]) == [Verdict.WINDOW]


def one_verdict(
    database: Database, given_: Facts, filled: tuple[Any, ...] = (), shard: str | None = None, source: str = ""
) -> dict[str, Any]:
    """The verdict of one topic t.t whose facts are given around ANCHOR; `source` is what else to run first."""
    with thrown_away(database) as (connection, now):
        name = f"t.t:{shard}" if shard else "t.t"
        shifted = tuple(_shift(f, now) for f in filled)
        store(connection, name, moved(given_, now), shard, shifted)
        if source:
            connection.execute(source.encode())
        return verdicts(connection)[name] | {"now": now}


def _shift(filled: Any, now: datetime) -> Any:
    if isinstance(filled, Dependency):
        return moved(Facts(ANCHOR, (filled,)), now).dependencies[0]
    return tuple(
        replace(
            built,
            watermark=built.watermark and built.watermark + (now - ANCHOR),
            last_pos=built.last_pos and built.last_pos + (now - ANCHOR),
        )
        for built in filled
    )


def at(seconds: int) -> datetime:
    return ANCHOR + seconds * SECOND


READY = Facts(now=ANCHOR, dependencies=(Dependency("", at(-10), at(-10)),), last_pos=at(-100), repeat=timedelta())
NOTHING = Dependency("", None)


def test_a_table_of_several_tags_is_complete_as_far_as_its_slowest_tag(database: Database) -> None:
    tags = (Built(at(-10), tag="a"), Built(at(-50), tag="b"), Built(at(-90), tag="off", active=False))
    found = one_verdict(database, READY, (tags,))
    assert found["verdict"] == "DUE"
    assert found["upto"] == found["now"] - 50 * SECOND


def test_a_table_with_a_tag_of_which_nothing_is_known_is_unknown_and_named_once(database: Database) -> None:
    two = replace(READY, dependencies=(NOTHING, NOTHING))
    found = one_verdict(database, two, ((Built(at(-10), tag="a"), Built(None, tag="b"), Built(None, tag="c")), NOTHING))
    assert found["verdict"] == "DEP_UNKNOWN"
    assert found["reason"] == "nothing is known yet of dep.t_t_0, dep.t_t_1"


SHARDS = (Built(at(-10), shard="north"), Built(at(-50), shard="south"))


@pytest.mark.parametrize(("shard", "seconds"), [("north", 10), ("south", 50), ("west", 50), (None, 50)])
def test_a_sharded_topic_waits_for_the_same_shard_and_else_for_all(database: Database, shard: str | None, seconds: int) -> None:
    found = one_verdict(database, READY, (SHARDS,), shard=shard)
    assert found["upto"] == found["now"] - seconds * SECOND


@pytest.mark.parametrize("shard", ["north", None])
def test_a_table_of_sharded_and_unsharded_tags_is_awaited_with_both(database: Database, shard: str | None) -> None:
    mixed = (Built(at(-10), shard="north", tag="a"), Built(at(-70), tag="b"))
    found = one_verdict(database, READY, (mixed,), shard=shard)
    assert found["upto"] == found["now"] - 70 * SECOND


def test_a_sharded_topic_waits_for_all_of_an_unsharded_table(database: Database) -> None:
    found = one_verdict(database, READY, ((Built(at(-30)),),), shard="north")
    assert found["upto"] == found["now"] - 30 * SECOND


def test_a_table_whose_modules_are_all_switched_off_is_unknown(database: Database) -> None:
    found = one_verdict(database, READY, ((Built(at(-30), active=False),),))
    assert (found["verdict"], found["reason"]) == ("DEP_UNKNOWN", "nothing is known yet of dep.t_t_0")


def test_waiting_names_the_slowest_dependency_and_how_far_it_is(database: Database) -> None:
    slow = replace(READY, dependencies=(Dependency("", at(-5), at(-5)), Dependency("", at(-99)), Dependency("", at(-7))))
    found = one_verdict(database, replace(slow, examined=at(-99)))
    assert (found["verdict"], found["slowest"]) == ("WAIT_DEP", "dep.t_t_1")
    until = found["now"] - 99 * SECOND
    assert found["reason"] == f"waits for dep.t_t_1, complete up to {until:%Y-%m-%d %H:%M:%S}"


def test_a_source_that_is_idle_for_long_is_complete_up_to_when_it_was_seen(database: Database) -> None:
    slow = replace(READY, dependencies=(Dependency("", at(-5), at(-5)), Dependency("", at(-500), at(-500))))
    idle = "update dwh.source set idle_after = '1min', seen_at = now() - interval '3s', changed_at = now() - interval '{}s'"
    quiet = one_verdict(database, slow, source=idle.format(63) + " where name = 'dep.t_t_1'")
    assert (quiet["verdict"], quiet["upto"]) == ("DUE", quiet["now"] - 5 * SECOND)
    still = one_verdict(database, slow, source=idle.format(62) + " where name = 'dep.t_t_1'")
    assert still["upto"] == still["now"] - 500 * SECOND


def test_a_source_that_is_not_idle_beyond_its_watermark_keeps_it(database: Database) -> None:
    """Being idle never takes a watermark back."""
    idle = "update dwh.source set idle_after = '1s', seen_at = now() - interval '60s', changed_at = now() - interval '90s'"
    found = one_verdict(database, READY, source=idle)
    assert found["upto"] == found["now"] - 10 * SECOND


@pytest.fixture(scope="module")
def crowded(module_database: Database) -> Database:
    """10,000 topics with 200,000 blocks."""
    fill(module_database, Size())
    return module_database


def generic_plan_of(database: Database, statement: str) -> list[dict[str, Any]]:
    """Every node of the plan that a prepared statement keeps, whatever its parameters will be."""
    for number, name in enumerate(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement)), start=1):
        statement = statement.replace(f"%({name})s", f"${number}")
    return plan_of(database, statement, options="format json, generic_plan")


def plan_of(database: Database, statement: str, options: str = "format json", **parameters: Any) -> list[dict[str, Any]]:
    """Every node of the plan that is chosen for these parameters."""
    row = database.fetch_one(cast("Any", f"explain ({options}) {statement}"), **parameters)
    assert row is not None
    tree = row["QUERY PLAN"]
    return list(_nodes((json.loads(tree) if isinstance(tree, str) else tree)[0]["Plan"]))


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


HOT: dict[str, dict[str, Any]] = {
    "planning_state": {"topic_id": 77},
    "first_unfinished_block": {"topic_id": 77},
    "lock_topic": {"topic": "big.t7:3"},
    "lock_topics": {"topics": ["big.t7:3", "big.t8:3"]},
    "lock_topic_numbered": {"topic_id": 77},
    "guard_plan": {"topic_id": 77, "token": 0, "next_pos": ANCHOR, "next_id": 0, "above": None},
    "judge_topics": {"ids": [77, 78]},
    "fail_lost_execution": {"topic_id": 77},
    "select_verdicts_of": {"topics": ["big.t7:3", "big.t8:3"]},
    "take_topics": {
        "topic_ids": [77, 78],
        "block_ids": [1, None],
        "restatement_ids": [None, 1],
        "module_versions": [1, 1],
        "code_versions": ["", ""],
        "processing_codes": ["Proceed", "Rollback"],
        "explanations": ["", ""],
        "batch_instance": None,
        "generations": ["{}", "{}"],
        "worker": "w",
        "lease": 60.0,
        "local_clock": None,
    },
}


@pytest.mark.parametrize("generic", [False, True], ids=["these values", "any values"])
@pytest.mark.parametrize("name", HOT)
def test_a_hot_query_reads_no_large_table_whole(crowded: Database, name: str, generic: bool) -> None:
    plan = generic_plan_of(crowded, sql(name)) if generic else plan_of(crowded, sql(name), **HOT[name])
    scans = [node for node in plan if node["Node Type"] == "Seq Scan"]
    read_whole = {node["Relation Name"] for node in scans}
    assert not read_whole & {"topic", "block", "module_dependency", "execution"}, read_whole


def test_all_verdicts_read_unfinished_blocks_only(crowded: Database) -> None:
    found = [node for node in plan_of(crowded, "select * from dwh.verdict") if node.get("Relation Name") == "block"]
    assert found
    assert all(node["Node Type"] != "Seq Scan" for node in found)
