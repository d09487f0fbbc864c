"""Which of some data files is damaged: Spark's checksum error does not say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet
from pyspark.errors import PySparkException
from pyspark.sql.connect.session import SparkSession


def damaged_files(paths: Sequence[str], session: SparkSession | None = None) -> list[str]:
    """Those of the Parquet files that are missing or fail the checksum of a page; else the first that Spark cannot read."""
    if damaged := [path for path in paths if not _is_sound(path)]:
        return damaged
    # Arrow reads on where Spark stops, for example over a type that is written twice and not the same.
    path = None if session is None else first_unreadable(session, paths)
    return [] if path is None else [path]


def first_unreadable(session: SparkSession, paths: Iterable[str]) -> str | None:
    """The first file that Spark cannot read to its end: it is stricter than others with the headers of pages."""
    for path in paths:
        try:
            session.read.parquet(path).selectExpr("sum(crc32(to_json(struct(*))))").collect()
        except PySparkException:
            session.range(1).collect()  # raises where Spark was lost, not the file
            return path
    return None


def _is_sound(path: str) -> bool:
    try:
        filesystem, place = pyarrow.fs.FileSystem.from_uri(path.removeprefix("file:"))
        with filesystem.open_input_file(place) as source:
            file = pyarrow.parquet.ParquetFile(source, page_checksum_verification=True)
            for group in range(file.num_row_groups):
                file.read_row_group(group)
    except (OSError, pa.ArrowException):
        return False
    return True
