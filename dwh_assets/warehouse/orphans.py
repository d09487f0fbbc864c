"""Orphans: files in a table's folders that no snapshot and no metadata of it refers to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table

from dwh_assets.model.errors import ConfigError
from dwh_assets.warehouse.catalog import Catalog

FOLDERS = ("data", "metadata")  # where Iceberg writes; what else lies in a table's folder was put there by someone else


@dataclass(frozen=True)
class Orphan:
    path: str  # as the file system names it
    bytes: int


def orphans(catalog: Catalog, table: str, before: datetime) -> list[Orphan]:
    """Files last written before a moment that the table does not know."""
    # The files first, then what the table knows: one that is published in between is known.
    found = [Orphan(file.path, file.size or 0) for file in _files(catalog.load(table)) if _written(file) < before]
    with catalog.asking(table):
        known = _known(catalog, catalog.load(table)) if found else set()
    return [file for file in found if _owner(file.path) not in known]


def remove(catalog: Catalog, table: str, some: Sequence[Orphan], told: Callable[[int], None] = lambda n: None) -> None:
    """Delete them; one that is gone already is no error."""
    system, _ = _place(catalog.load(table), "")
    for number, orphan in enumerate(some, start=1):
        with suppress(FileNotFoundError):
            system.delete_file(orphan.path)
        told(number)


def _files(table: Table) -> Iterator[FileInfo]:
    for folder in FOLDERS:
        system, path = _place(table, folder)
        listed = system.get_file_info(FileSelector(path, recursive=True, allow_not_found=True))
        yield from (info for info in listed if info.type == FileType.File)


def _place(table: Table, folder: str) -> tuple[FileSystem, str]:
    assert isinstance(table.io, PyArrowFileIO)
    scheme, netloc, path = PyArrowFileIO.parse_location(f"{table.location().rstrip('/')}/{folder}")
    return table.io.fs_by_scheme(scheme, netloc), path


def _path(location: str) -> str:
    return PyArrowFileIO.parse_location(location)[2]


def _written(file: FileInfo) -> datetime:
    return datetime.fromtimestamp((file.mtime_ns or 0) / 1e9, UTC)


def _owner(path: str) -> str:
    """Hadoop puts a checksum beside each local file: `.name.crc` belongs to `name`."""
    folder, _, name = path.rpartition("/")
    is_checksum = name.startswith(".") and name.endswith(".crc")
    return f"{folder}/{name[1:-4]}" if is_checksum else path


def _known(catalog: Catalog, table: Table) -> set[str]:
    metadata = table.metadata
    known = {table.metadata_location, *(entry.metadata_file for entry in metadata.metadata_log)}
    known |= {part.statistics_path for part in (*metadata.statistics, *metadata.partition_statistics)}
    manifests: dict[str, ManifestFile] = {}
    for snapshot in metadata.snapshots:
        known.add(snapshot.manifest_list)
        manifests |= {manifest.manifest_path: manifest for manifest in snapshot.manifests(table.io)}
    for path, manifest in manifests.items():
        known.add(path)
        known |= {file.path for file in catalog.files(table, manifest)}
    paths = {_path(location) for location in known}
    _require_same_names(table, paths)
    return paths


def _require_same_names(table: Table, known: set[str]) -> None:
    """Files are told by their names: where the table's own are not below its folder, every file would be taken for an orphan."""
    folder = _path(table.location()).rstrip("/")
    if strange := next((path for path in known if not path.startswith(f"{folder}/")), None):
        raise ConfigError(
            f"table {'.'.join(table.name())} lies in {folder}, but names the file {strange}: orphans cannot be told.\n"
            "Nothing was deleted. Maintain this table by hand, or copy it to a table of its own."
        )
