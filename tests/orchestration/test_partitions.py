"""The lists of partition keys follow the ledger, in its order, whatever happened in between."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwh_assets.model.errors import UnknownPartition
from dwh_assets.model.partition import parse_key
from dwh_assets.orchestration.partitions import changes

KEYS = st.lists(st.sampled_from([f"k{n}" for n in range(12)]), unique=True)


@given(present=KEYS, wanted=KEYS)
def test_a_list_becomes_what_is_wanted_in_its_order(present: list[str], wanted: list[str]) -> None:
    gone, new = changes(present, wanted)
    assert [key for key in present if key not in gone] + new == wanted
    assert not set(gone) - set(present)


def test_what_is_in_place_is_not_touched() -> None:
    assert changes(["a", "b", "c"], ["b", "c", "d"]) == (["a"], ["d"])
    assert changes(["a", "b"], ["a", "b"]) == ([], [])


def test_a_key_that_would_come_too_late_in_the_list_is_added_again() -> None:
    assert changes(["a", "c", "b"], ["a", "b", "c"]) == (["c"], ["c"])


@pytest.mark.parametrize(
    ("text", "seq", "shard"),
    [
        ("20260301-000042", 42, None),
        ("20260301-1000042:north", 1_000_042, "north"),
        ("20260301-000042r2:north:1", 42, "north:1"),
    ],
)
def test_a_key_says_which_block_it_is(text: str, seq: int, shard: str | None) -> None:
    key = parse_key(text)
    assert (key.seq, key.shard, key.day) == (seq, shard, "20260301")


@pytest.mark.parametrize("text", ["", "20260301", "20260301-42", "2026-03-01", "x20260301-000042", "20260301-000042:"])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(UnknownPartition, match="is not the key of a block"):
        parse_key(text)
