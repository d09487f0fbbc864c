"""Rows that are left out by the bits of their ids, against sets of Python."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.connect.session import SparkSession

from dwh_assets.processors.known import bits_of, without_known

near = st.integers(0, 5000) | st.integers((7 << 48) - 100, (7 << 48) + 2000) | st.integers(0, 2**63 - 1)
places = st.sets(st.tuples(st.sampled_from((0, 1, 60_000_000)), near), min_size=1, max_size=60)


@settings(deadline=None)
@given(places)
def test_each_position_has_its_bit_and_no_other_has(wanted: set[tuple[int, int]]) -> None:
    pos, id_ = (np.array(column, np.int64) for column in zip(*sorted(wanted), strict=True))
    found = set()
    for row in bits_of(pos, id_).to_pylist():
        for place in range(1024):
            if row["_known"][place // 64] >> (place % 64) & 1:
                found.add((row["_known_pos"], row["_known_range"] * 1024 + place))
    assert found == wanted


def test_rows_that_are_known_are_left_out_where_they_are_and_nowhere_else(session: SparkSession) -> None:
    rng = np.random.default_rng(1)
    ids = np.concatenate([np.arange(3000), (5 << 48) + np.arange(3000), 2**63 - 1 - np.arange(70)])
    rows = sorted((pos, int(id_)) for pos in (0, 1_000_000) for id_ in ids)
    drop = [row for row in rows if rng.random() < 0.3 and row != (0, 64)] + [(0, 2**62)]
    table = pa.table({"micros": [row[0] for row in rows], "id": [row[1] for row in rows]})
    frame = session.createDataFrame(table).selectExpr("timestamp_micros(micros) AS pos", "id", "micros")
    pos, id_ = (np.array(column, np.int64) for column in zip(*sorted(drop), strict=True))
    left = without_known(frame, bits_of(pos, id_), ("pos", "id"), one_pos=False).select("micros", "id").collect()
    assert sorted(map(tuple, left)) == sorted(set(rows) - set(drop))
    of_first = id_[pos == 0]
    first = without_known(frame.where("micros = 0"), bits_of(np.zeros_like(of_first), of_first), ("pos", "id"), one_pos=True)
    assert sorted(row.id for row in first.select("id").collect()) == sorted({id_ for at, id_ in rows if at == 0} - {*of_first})
