"""Rows that are left out by their positions: ids lie side by side, so that millions of them are a few thousand rows of bits."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_IN_WORD, _IN_RANGE = 6, 4  # bits of an id: its place in a word of 64, and the place of that word among 16
_WORD, _RANGE = (1 << _IN_WORD) - 1, (1 << _IN_RANGE) - 1


def bits_of(pos: NDArray[np.int64], id_: NDArray[np.int64]) -> pa.Table:
    """These positions, which rise: a row for each range of 1,024 ids of a pos, with a bit for each that is among them."""
    word = id_ >> _IN_WORD
    begins = np.flatnonzero(_changes(pos, word))
    pos, word, bits = pos[begins], word[begins], np.bitwise_or.reduceat(np.int64(1) << (id_ & _WORD), begins)
    first = _changes(pos, word >> _IN_RANGE)
    words = np.zeros((np.count_nonzero(first), _RANGE + 1), np.int64)
    words[np.cumsum(first) - 1, word & _RANGE] = bits
    each = np.arange(0, words.size + 1, _RANGE + 1, dtype=np.int32)
    known = pa.ListArray.from_arrays(each, words.ravel())
    return pa.table({"_known_pos": pos[first], "_known_range": word[first] >> _IN_RANGE, "_known": known})


def without_known(rows: DataFrame, known: pa.Table, position: tuple[str, str], one_pos: bool) -> DataFrame:
    """The rows, but those whose bit is set, with columns of ours beside their own. `one_pos`: all rows have the same."""
    pos, id_ = position
    near = F.shiftright(id_, _IN_WORD + _IN_RANGE) == F.col("_known_range")
    if not one_pos:  # a join by one number costs half of one by two
        near &= F.unix_micros(pos) == F.col("_known_pos")
    word = f"get(_known, CAST(shiftright(`{id_}`, {_IN_WORD}) & {_RANGE} AS int))"
    is_new = f"_known IS NULL OR shiftright({word}, CAST(`{id_}` & {_WORD} AS int)) & 1 = 0"
    return rows.join(F.broadcast(rows.sparkSession.createDataFrame(known)), near, "left").where(is_new)


def _changes(*columns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """True at the first row and wherever a column has another value than in the row before."""
    found = np.ones(len(columns[0]), np.bool_)
    found[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return found
