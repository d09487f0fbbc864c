"""The files of a table that is dropped."""

from __future__ import annotations

from dataclasses import dataclass

from pyarrow.fs import FileSelector, FileSystem, FileType
from pyiceberg.io import load_file_io
from pyiceberg.io.pyarrow import PyArrowFileIO

from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.orphans import FOLDERS


@dataclass(frozen=True)
class TableFolder:
    """Where the files of a table lie; `rows` is None where the catalog does not know the table (any more)."""

    table: str
    location: str
    rows: int | None
    files: int
    bytes: int


def folder_of(catalog: Catalog, table: str, root: str) -> TableFolder:
    """As the catalog says, else where it would be: a drop that was interrupted leaves its files there."""
    location, rows = f"{root.rstrip('/')}/{table.replace('.', '/')}", None
    if catalog.exists(table):
        loaded = catalog.load(table)
        location, snapshot = loaded.location(), loaded.current_snapshot()
        summary = snapshot.summary if snapshot is not None else None
        rows = int(summary["total-records"] or 0) if summary is not None else 0
    system, path = _place(catalog, location)
    sizes = [
        info.size or 0
        for folder in FOLDERS
        for info in system.get_file_info(FileSelector(f"{path}/{folder}", recursive=True, allow_not_found=True))
        if info.type == FileType.File
    ]
    return TableFolder(table, location, rows, len(sizes), sum(sizes))


def delete_files(catalog: Catalog, folder: TableFolder) -> None:
    """All that Iceberg wrote there; what else lies in the folder was put there by someone else and stays."""
    system, path = _place(catalog, folder.location)
    for name in FOLDERS:
        if system.get_file_info(f"{path}/{name}").type == FileType.Directory:
            system.delete_dir(f"{path}/{name}")
    is_empty = not system.get_file_info(FileSelector(path, allow_not_found=True))
    if is_empty and system.get_file_info(path).type == FileType.Directory:
        system.delete_dir(path)


def _place(catalog: Catalog, location: str) -> tuple[FileSystem, str]:
    io = load_file_io(catalog.sql.properties, location)
    assert isinstance(io, PyArrowFileIO)
    scheme, netloc, path = PyArrowFileIO.parse_location(location)
    return io.fs_by_scheme(scheme, netloc), path.rstrip("/")
