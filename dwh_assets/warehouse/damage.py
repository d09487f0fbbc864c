"""Which of some data files is damaged: Spark's checksum error does not say."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet


def damaged_files(paths: Iterable[str]) -> list[str]:
    """Those of the Parquet files that are missing or fail the checksum of a page."""
    return [path for path in paths if not _is_sound(path)]


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
