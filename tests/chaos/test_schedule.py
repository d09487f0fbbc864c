"""Schedules: drawn from a seed, written as words, shrunk to what matters. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwh_assets.chaos.content import differences
from dwh_assets.chaos.scene import changed
from dwh_assets.chaos.schedule import KINDS, LENGTH, SPARK_EVERY, Cast, Schedule, draw, parse, refuse_misses, written
from dwh_assets.chaos.shrink import shrink
from dwh_assets.chaos.supply import BASE, LATE, MORE, split
from dwh_assets.model.errors import ConfigError
from dwh_assets.model.module import Lineage, Module

CAST = Cast(3, ["fact.a#web", "mart.b:north"], ["fact.a", "mart.b"], ["stage.x+more", "stage.x+late"])
LONG = parse("kill@0.5=1 stop@1=0~1.5 expire@1.5 cut@2 restate@2.5=fact.a#web apply@3 feed@4=stage.x+late lose@4.5")


def test_the_same_seed_and_round_give_the_same_faults_and_others_give_others() -> None:
    assert draw(7, 3, CAST) == draw(7, 3, CAST)
    assert len({draw(seed, number, CAST) for seed in range(5) for number in range(20)}) > 95


def test_every_kind_of_fault_is_drawn_within_the_length_of_a_round_and_aims_at_someone_of_the_cast() -> None:
    faults = [fault for number in range(200) for fault in draw(1, number, CAST)]
    assert {fault.kind for fault in faults} == set(KINDS)
    assert all(0 <= fault.at <= LENGTH for fault in faults)
    known = {"", "0", "1", "2", *CAST.topics, *CAST.tables, *CAST.chunks, *CAST.servers}
    assert {fault.target for fault in faults} <= known


def test_spark_dies_in_one_round_of_twenty() -> None:
    struck = [number for number in range(1, 201) if any(fault.kind == "spark" for fault in draw(5, number, CAST))]
    assert len(struck) == 200 // SPARK_EVERY


def test_servers_that_are_shared_are_left_alone() -> None:
    alone = Cast(2, ["t"], ["t"], [], servers=(), streams=False)
    kinds = {fault.kind for number in range(200) for fault in draw(1, number, alone)}
    assert kinds.isdisjoint({"postgres", "kafka", "spark", "freeze", "resend", "feed"})


@given(st.integers(0, 10**6), st.integers(1, 1000))
def test_a_schedule_that_is_written_down_is_read_back(seed: int, number: int) -> None:
    schedule = draw(seed, number, CAST)
    assert parse(written(schedule)) == schedule


@pytest.mark.parametrize(
    ("text", "said"),
    [("kill", "is no fault"), ("burn@1", "unknown fault 'burn'"), ("kill@1=0/nowhere*1", "unknown point 'nowhere'")],
)
def test_what_is_no_fault_is_refused_with_what_would_be_one(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse(text)


@given(st.integers(0, 10**6), st.integers(1, 1000))
def test_whatever_is_drawn_hits_someone(seed: int, number: int) -> None:
    refuse_misses(draw(seed, number, CAST), CAST)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kill@1", "write kill@1=TARGET, one of 0, 1, 2"),
        ("kill@1=7", "one of 0, 1, 2"),
        ("stop@1=x~2", "one of 0, 1, 2"),
        ("feed@1=x", r"one of stage.x\+more, stage.x\+late"),
        ("restate@1=mart.b", "one of fact.a#web, mart.b:north"),
        ("compact@1", "one of fact.a, mart.b"),
        ("freeze@1=disk", "one of postgres, kafka, spark"),
        ("expire@1=0", "takes no target; leave out =0"),
        ("cut@1/commit.before*1", "only kill and stop wait for a point"),
    ],
)
def test_a_fault_that_hits_nobody_is_refused_with_whom_it_can_hit(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        refuse_misses(parse(text), CAST)


@pytest.mark.parametrize("text", ["postgres@1", "spark@1", "freeze@1=spark", "resend@1"])
def test_a_fault_of_what_is_not_there_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="cannot happen to this warehouse"):
        refuse_misses(parse(text), Cast(2, ["t"], ["t"], [], servers=(), streams=False))


@given(st.text(min_size=1, max_size=20))
def test_a_changed_lineage_has_other_versions_and_the_same_meaning(mark: str) -> None:
    module = Module("fact.a", "fact.a", ("stage.x",), transforms=("fact/a.sql",), maxstep=40)
    for cuts in (False, True):
        (other,) = changed(Lineage((module,), ()), mark, cuts).modules
        assert other != module
        assert all(check.severity == "warn" for check in other.checks)
        meant = {"comment": "", "ahead": 20, "attempts": 3, "checks": (), "stretch": 16}
        assert replace(other, **meant, maxstep=40 if cuts else other.maxstep) == module


@given(st.sets(st.sampled_from(LONG), min_size=1))
def test_a_schedule_is_shrunk_to_the_faults_that_matter(culprits: set[object]) -> None:
    def fails(part: Schedule) -> bool:
        return culprits <= set(part)

    assert set(shrink(LONG, fails, 1000)) == culprits


def test_a_warehouse_that_fails_without_any_fault_is_told_so() -> None:
    assert shrink(LONG, lambda part: True, 1000) == ()


@given(st.sets(st.sampled_from(LONG), min_size=1), st.integers(0, 12))
def test_shrinking_asks_no_more_often_than_it_may_and_what_it_gives_was_seen_to_fail(culprits: set[object], tries: int) -> None:
    asked: list[Schedule] = []

    def fails(part: Schedule) -> bool:
        asked.append(part)
        return culprits <= set(part)

    shortest = shrink(LONG, fails, tries)
    assert len(asked) <= tries
    assert culprits <= set(shortest)


@given(st.integers(0, 300), st.text(max_size=5))
def test_every_row_of_a_source_is_in_exactly_one_chunk(count: int, seed: str) -> None:
    chunks = split(count, seed)
    assert sorted(n for rows in chunks.values() for n in rows) == list(range(count))
    assert list(chunks) == [BASE, MORE, LATE]
    assert not chunks[LATE] or not chunks[MORE] or max(chunks[LATE]) < min(chunks[MORE])


def test_a_difference_counts_rows_and_tells_no_values() -> None:
    expected, found = {"t": Counter([("secret", 1), ("b", 2)])}, {"t": Counter([("b", 2), ("b", 2)])}
    (text,) = differences(expected, found)
    assert text == "t: 1 rows are missing and 1 are too many, of 2 that an undisturbed run gives"
    assert differences(expected, expected) == []
