"""Rows into a file, as a whole or not at all: written beside it, then renamed."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from dwh_assets.model.errors import ActRefused, DiskFull

FORMS = (".csv", ".parquet")


class _Writer(Protocol):
    def write_table(self, table: pa.Table) -> None: ...


def require_path(path: Path, force: bool) -> None:
    """Before anything is read: the file can be made, and nothing is overwritten by mistake."""
    if path.suffix.lower() not in FORMS:
        raise ActRefused(
            f"{path}: its ending tells the form; write a file that ends in {' or '.join(FORMS)}. Nothing was written."
        )
    if not path.parent.is_dir():
        raise ActRefused(f"{path}: there is no folder {path.parent}. Nothing was written.")
    if path.is_dir():
        raise ActRefused(f"{path} is a folder. Nothing was written.")
    if path.exists() and not force:
        raise ActRefused(f"{path} exists already; --force replaces it. Nothing was written.")


def export(parts: Iterable[pa.Table], path: Path) -> int:
    """Write all parts; the file appears when its last row is on disk, and nothing is left behind otherwise. Returns the rows."""
    fresh = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        rows = _write(iter(parts), fresh, path.suffix.lower())
        with fresh.open("rb") as file:
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiskFull(f"{path}: the disk is full; nothing was written, {path.name} is as it was.") from error
        raise
    finally:
        fresh.unlink(missing_ok=True)
    return rows


def _write(parts: Iterator[pa.Table], path: Path, form: str) -> int:
    first = next(parts)
    rows = 0
    with _open(first.schema, path, form) as writer:
        for part in chain([first], parts):
            writer.write_table(_flat(part) if form == ".csv" else part)
            rows += len(part)
    return rows


@contextmanager
def _open(schema: pa.Schema, path: Path, form: str) -> Iterator[_Writer]:
    if form == ".csv":
        with pacsv.CSVWriter(path, _flat(schema.empty_table()).schema) as writer:
            yield writer
    else:
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            yield writer


def _flat(table: pa.Table) -> pa.Table:
    """CSV knows no lists, structs and bytes: they are written as text."""
    for index, field in enumerate(table.schema):
        if pa.types.is_nested(field.type) or pa.types.is_binary(field.type):
            texts = [None if value is None else str(value) for value in table.column(index).to_pylist()]
            table = table.set_column(index, field.name, pa.array(texts, pa.string()))
    return table
