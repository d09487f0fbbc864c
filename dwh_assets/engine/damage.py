"""Damaged files in words that help: which file, the rows of which blocks it holds, and what to type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from dwh_assets.engine.engine import Engine
from dwh_assets.model.errors import DamagedData, DwhError
from dwh_assets.warehouse.damage import first_unreadable
from dwh_assets.warehouse.file_stats import FileStat
from dwh_assets.warehouse.manifests import data_files
from dwh_assets.warehouse.session import spark_errors


@contextmanager
def naming_blocks(engine: Engine, snapshots: Mapping[str, int | None]) -> Iterator[None]:
    """While these tables are read at these snapshots, an error of a damaged file names the blocks that it holds."""
    try:
        with spark_errors(lambda: [file.path for _, file in _files(engine, snapshots)], engine.session()):
            yield
    except DamagedData as error:
        raise DamagedData("\n".join([str(error), *_held(engine, snapshots, str(error))])) from error.__cause__


def _files(engine: Engine, snapshots: Mapping[str, int | None]) -> Iterator[tuple[str, FileStat]]:
    engine.catalog.forget_files()
    for table, snapshot in snapshots.items():
        if snapshot is not None:
            yield from ((table, file) for file in data_files(engine.catalog, table, snapshot))


def _held(engine: Engine, snapshots: Mapping[str, int | None], text: str) -> list[str]:
    try:
        files = list(_files(engine, snapshots))
    except DwhError:
        return []  # the metadata is what is damaged: its own error names the file
    if damaged := [(table, file) for table, file in files if file.path.rpartition("/")[2] in text]:
        return [_sentence(table, file) for table, file in damaged]
    with spark_errors():
        path = first_unreadable(engine.session(), [file.path for _, file in files])
    return [f"The file is {path}.\n{_sentence(table, file)}" for table, file in files if file.path == path]


def _sentence(table: str, file: FileStat) -> str:
    first, last = file.lower.get("_block"), file.upper.get("_block")
    if first is None:
        return f"It is a file of {table}, which is not built here: restore it where it comes from, then `dwh retry` the block."
    blocks = f"block #{first}" if first == last else f"blocks #{first} to #{last}"
    return f"It holds rows of {blocks} of {table}; `dwh repair {first} --reason ...` loads them again from their base."
