"""Which keys are new: held against plain sets of Python, with halves from so few numbers that they collide."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from dwh_assets.warehouse.membership import Keys, held

HALF = st.sampled_from([-(2**63), -7, -1, 0, 1, 2, 2**40, 2**63 - 1])
PAIRS = st.lists(st.tuples(HALF, HALF), max_size=40)


def keys_of(pairs: list[tuple[int, int]]) -> Keys:
    hi, lo = (np.array([pair[half] for pair in pairs], np.int64) for half in (0, 1))
    return Keys(hi, lo)


@given(PAIRS)
def test_the_first_of_each_key_is_the_one_that_comes_first(pairs: list[tuple[int, int]]) -> None:
    assert keys_of(pairs).first_of_each().tolist() == [pair not in pairs[:place] for place, pair in enumerate(pairs)]


@given(PAIRS, PAIRS, st.integers(1, 7))
def test_a_key_is_held_if_any_batch_has_both_of_its_halves(
    pairs: list[tuple[int, int]], table: list[tuple[int | None, int | None]], size: int
) -> None:
    rows = pa.table({"hi": pa.array([hi for hi, _ in table], pa.int64()), "lo": pa.array([lo for _, lo in table], pa.int64())})
    rows = pa.concat_tables([rows, pa.table({"hi": [None], "lo": [None]}, rows.schema)])
    assert held(keys_of(pairs), rows.to_batches(size)).tolist() == [pair in table for pair in pairs]
