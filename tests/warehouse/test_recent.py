"""What is kept in memory is bounded by its weight, and of each key only the state that was asked for last is there."""

from __future__ import annotations

from dwh_assets.warehouse.recent import Recent


def test_a_state_is_made_once_and_replaces_the_one_before() -> None:
    recent: Recent[str, list[int]] = Recent(100)
    first = recent.get("sales", 1, lambda: [1], len)
    assert recent.get("sales", 1, lambda: [2], len) is first
    assert recent.get("sales", 2, lambda: [3, 3], len) == [3, 3]
    assert recent.weight == 2


def test_what_was_used_longest_ago_goes_when_the_weight_is_reached() -> None:
    recent: Recent[str, str] = Recent(10)
    for name in ("old", "used", "new"):
        recent.get(name, 0, lambda name=name: name, lambda _: 4)
        if name == "used":
            recent.get("old", 0, lambda: "made anew", lambda _: 4)
    assert recent.weight == 8
    assert recent.get("old", 0, lambda: "made anew", lambda _: 4) == "old"
    assert recent.get("used", 0, lambda: "made anew", lambda _: 4) == "made anew"


def test_the_newest_is_kept_however_heavy_it_is() -> None:
    recent: Recent[str, str] = Recent(10)
    recent.get("light", 0, lambda: "light", lambda _: 1)
    recent.get("heavy", 0, lambda: "heavy", lambda _: 1000)
    assert recent.get("heavy", 0, lambda: "made anew", lambda _: 1000) == "heavy"
    assert recent.weight == 1000


def test_nothing_is_left_of_what_was_cleared() -> None:
    recent: Recent[str, str] = Recent(10)
    recent.get("sales", 0, lambda: "sales", lambda _: 4)
    recent.clear()
    assert recent.weight == 0
    assert recent.get("sales", 0, lambda: "made anew", lambda _: 4) == "made anew"
