"""What every kind of source must do, run against each of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import pytest

from dwh_assets.model.errors import BadPosition, SourceError
from dwh_assets.model.position import EARLIEST, Bounds, Position
from dwh_assets.sources.rows import Rows, micros
from dwh_assets.sources.source import NOTHING, Fingerprint, Source

START = datetime(2024, 5, 1, tzinfo=UTC)
BIG = 2**63 + 5
Row = tuple[int | None, int | None, str]  # seconds after START, id, shard


class World(Protocol):
    """A table of the kind under test, with the columns pos, id, shard and note."""

    def add(self, rows: Sequence[Row]) -> None: ...

    def source(self, position: tuple[str, str] = ("pos", "id"), shard_by: str | None = "shard") -> Source: ...


def at(seconds: int, id_: int) -> Position:
    return Position(START + timedelta(seconds=seconds), id_)


def upto(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


def rows(seconds: Sequence[int], shard: str = "a") -> list[Row]:
    return [(second, second, shard) for second in seconds]


def pairs_of(frame: Any) -> list[tuple[datetime, int]]:
    return sorted((row["pos"].astimezone(UTC), int(row["id"])) for row in frame.select("pos", "id").collect())


class SourceSuite:
    def test_cuts_tile_the_rows_up_to_the_horizon(self, world: World):
        world.add(rows(range(0, 20, 2)))
        world.add(rows(range(1, 20, 2)))
        cuts = world.source().cut(EARLIEST, upto(16), size=7, count=9)
        assert [(cut.next, cut.rows, cut.takes_all) for cut in cuts] == [
            (at(6, 6), 7, False),
            (at(13, 13), 7, False),
            (at(16, 16), 3, True),
        ]

    def test_cutting_goes_on_behind_the_last_block(self, world: World):
        world.add(rows(range(10)))
        source = world.source()
        first, second = source.cut(EARLIEST, upto(9), size=3, count=2)
        assert source.cut(first.next, upto(9), size=3, count=1) == [second]
        assert source.cut(at(9, 9), upto(9), size=3, count=1) == []

    def test_rows_of_one_position_are_never_split(self, world: World):
        world.add([(1, 1, "a"), (2, 7, "a"), (2, 7, "a"), (3, 1, "a")])
        world.add([(2, 7, "a"), (2, 8, "a")])
        cuts = world.source().cut(EARLIEST, upto(9), size=2, count=9)
        assert [(cut.next, cut.rows) for cut in cuts] == [(at(2, 7), 4), (at(3, 1), 2)]

    def test_a_block_may_end_between_rows_of_one_instant(self, world: World):
        world.add([(1, id_, "a") for id_ in (5, 3, 1, 2, 4)])
        cuts = world.source().cut(EARLIEST, upto(1), size=2, count=9)
        assert [(cut.next, cut.rows, cut.takes_all) for cut in cuts] == [
            (at(1, 2), 2, False),
            (at(1, 4), 2, False),
            (at(1, 5), 1, True),
        ]

    def test_ids_above_the_signed_range_keep_their_order(self, world: World):
        world.add([(1, 2**64 - 1, "a"), (1, 7, "a"), (1, BIG, "a")])
        cuts = world.source().cut(EARLIEST, upto(1), size=1, count=9)
        assert [cut.next.id for cut in cuts] == [7, BIG, 2**64 - 1]

    def test_only_the_shard_counts(self, world: World):
        world.add([*rows(range(6), "a"), *rows(range(6, 9), "b")])
        world.add(rows(range(9, 20), "b"))
        world.add(rows(range(20, 23), "a"))
        source = world.source()
        assert [(c.next, c.rows, c.takes_all) for c in source.cut(EARLIEST, upto(99), 4, 9, "a")] == [
            (at(3, 3), 4, False),
            (at(21, 21), 4, False),
            (at(22, 22), 1, True),
        ]
        everything = Bounds(EARLIEST, at(99, 0))
        assert source.fingerprint(everything, source.snapshot(), "a").rows == 9
        assert source.fingerprint(everything, source.snapshot(), "c") == NOTHING

    def test_a_shard_without_a_shard_column_is_refused(self, world: World):
        world.add(rows(range(3)))
        with pytest.raises(SourceError, match="shard_by"):
            world.source(shard_by=None).cut(EARLIEST, upto(9), 1, 1, "a")

    def test_a_source_without_rows_has_nothing_newest_and_no_blocks(self, world: World):
        source = world.source()
        assert source.observe(upto(0)).newest is None
        assert source.cut(EARLIEST, upto(9), size=1, count=1) == []
        assert source.fingerprint(Bounds(EARLIEST, at(9, 9)), source.snapshot()) == NOTHING

    def test_rows_from_the_future_do_not_count(self, world: World):
        now = datetime.now(UTC)
        ahead = int((now - START).total_seconds()) + 86_400
        world.add([(5, 1, "a"), (ahead, 2, "a")])
        world.add([(ahead + 1, 3, "a")])
        observed = world.source().observe(now)
        assert observed.newest == upto(5)
        assert observed.watermark is None or observed.watermark <= now

    def test_a_source_with_only_rows_from_the_future_has_nothing_newest(self, world: World):
        world.add([(10, 1, "a")])
        assert world.source().observe(upto(9)).newest is None

    def test_the_same_rows_have_the_same_fingerprint_in_every_kind_of_source(self, world: World):
        given: list[Row] = [(1, 1, "a"), (2, BIG, "a"), (2, 0, "a"), (-(40 * 365 * 86_400), 2**64 - 1, "a")]
        world.add(given)
        positions = [at(second or 0, id_ or 0) for second, id_, _ in given]
        expected = Rows(np.array([micros(p.pos) for p in positions]), np.array([p.id for p in positions], np.uint64))
        found = world.source().fingerprint(Bounds(EARLIEST, at(9, 0)), world.source().snapshot())
        assert (found.rows, found.hash_sum) == (4, expected.fingerprint().hash_sum)

    def test_fingerprints_of_blocks_add_up_to_that_of_their_union(self, world: World):
        world.add([*rows(range(0, 20, 2)), (4, BIG, "a")])
        world.add(rows(range(1, 20, 2)))
        source = world.source()
        head = source.snapshot()
        ends = [EARLIEST, *(cut.next for cut in source.cut(EARLIEST, upto(99), size=6, count=9))]
        parts = [source.fingerprint(Bounds(a, b), head) for a, b in pairwise(ends)]
        assert [part.rows for part in parts] == [6, 6, 6, 3]
        assert sum(parts, NOTHING) == source.fingerprint(Bounds(EARLIEST, ends[-1]), head)
        assert len({part.hash_sum for part in parts}) == 4

    def test_late_rows_are_found_in_the_block_they_belong_to(self, world: World):
        world.add(rows(range(30)))
        source = world.source()
        ends = [EARLIEST, at(9, 9), at(19, 19), at(29, 29)]
        head = source.snapshot()
        blocks = [
            (number, Bounds(a, b), head, source.fingerprint(Bounds(a, b), head))
            for number, (a, b) in enumerate(pairwise(ends), start=1)
        ]
        assert source.late(blocks) == {}
        world.add([(5, 100, "a"), (19, 19, "a"), (25, 7, "b"), (40, 40, "a")])
        world.add([(6, 100, "a")])
        assert source.late(blocks) == {1: 2, 2: 1, 3: 1}

    def test_late_rows_of_a_snapshot_that_is_gone_are_found_by_count(self, world: World):
        world.add(rows(range(10)))
        bounds = Bounds(EARLIEST, at(9, 9))
        before = world.source().fingerprint(bounds, world.source().snapshot())
        world.add([(3, 99, "a")])
        assert world.source().late([(7, bounds, 123, before)]) == {7: 1}
        assert world.source().late([(7, bounds, 123, Fingerprint(11, before.hash_sum))]) == {7: 1}

    def test_rows_without_a_pos_are_refused_by_name_and_number(self, world: World):
        world.add([(1, 1, "a"), (None, 2, "a"), (None, 3, "a")])
        with pytest.raises(BadPosition, match=r"(?s)2 rows.* pos|pos: 2 rows"):
            world.source().observe(upto(9))
        with pytest.raises(BadPosition, match="no cursor moved"):
            world.source().cut(EARLIEST, upto(9), 1, 1)

    def test_rows_without_an_id_are_refused_by_name_and_number(self, world: World):
        world.add([(1, 1, "a"), (2, None, "a")])
        with pytest.raises(BadPosition, match=r"1 rows.* id |id: 1 rows"):
            world.source().cut(EARLIEST, upto(9), 5, 1)

    def test_a_column_that_is_missing_is_named_with_those_that_exist(self, world: World):
        world.add(rows(range(3)))
        with pytest.raises(SourceError, match=r"(?s)no column changed_at.*pos, id, shard, note"):
            world.source(position=("changed_at", "id")).observe(upto(9))
        with pytest.raises(SourceError, match="no column region"):
            world.source(shard_by="region").cut(EARLIEST, upto(9), 1, 1, "a")

    def test_a_pos_that_is_no_instant_is_refused(self, world: World):
        with pytest.raises(BadPosition, match="time zone"):
            world.source(position=("note", "id")).observe(upto(9))

    def test_an_id_that_is_no_number_is_refused(self, world: World):
        with pytest.raises(BadPosition, match="bigint"):
            world.source(position=("pos", "note")).observe(upto(9))

    def test_reading_a_block_gives_exactly_its_rows(self, world: World, session: Any):
        world.add([*rows(range(0, 20, 2)), (4, BIG, "a"), (4, 2**64 - 1, "b")])
        world.add([*rows(range(1, 20, 2)), (4, 4, "a")])
        source = world.source()
        head = source.snapshot()
        block = source.read(session, Bounds(at(2, 2), at(4, BIG)), head)
        assert pairs_of(block) == [(upto(3), 3), (upto(4), 4), (upto(4), 4), (upto(4), BIG)]
        assert pairs_of(source.read(session, Bounds(at(4, BIG), at(5, 2**64 - 1)), head)) == [(upto(4), 2**64 - 1), (upto(5), 5)]
        assert source.read(session, None, head).count() == 23
        assert pairs_of(source.read(session, None, head, "b")) == [(upto(4), 2**64 - 1)]

    def test_reading_all_blocks_gives_every_row_once(self, world: World, session: Any):
        world.add(rows(range(0, 20, 2)))
        world.add([*rows(range(1, 20, 2)), (4, 4, "a"), (0, 0, "b")])
        source = world.source()
        ends = [EARLIEST, *(cut.next for cut in source.cut(EARLIEST, upto(99), size=6, count=9))]
        head = source.snapshot()
        read = [pairs_of(source.read(session, Bounds(a, b), head)) for a, b in pairwise(ends)]
        expected = sorted([(upto(s), s) for s in range(20)] + [(upto(4), 4), (upto(0), 0)])
        assert [pair for block in read for pair in block] == expected
