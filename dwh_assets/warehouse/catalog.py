"""The Iceberg catalog that lives in the control Postgres, as pyiceberg sees it."""

from __future__ import annotations

import errno
import random
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, ValidationError
from pyiceberg.io import load_file_io
from pyiceberg.manifest import ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from sqlalchemy import create_engine, make_url
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from dwh_assets.model.errors import ConfigError, ControlStoreDown, DamagedData, DiskFull, PointerTaken
from dwh_assets.warehouse.file_stats import FileStat, file_stat
from dwh_assets.warehouse.object_store import ObjectStore
from dwh_assets.warehouse.recent import Recent
from dwh_assets.warehouse.sql_catalog import OrderedSqlCatalog

CATALOG = "dwh"
SCHEMA = "iceberg"
MAIN = "main"
ATTEMPTS = 50
IDLE_MS = 60_000  # a process that is stopped inside a transaction must not hold a table's pointer for ever
FILES = 50_000  # data files whose statistics are kept in memory
_NO_SPACE_STATE = "53100"
T = TypeVar("T")


class Catalog:
    """Tables by their name `db.table`. Several threads may share one; it connects when it is first asked."""

    def __init__(self, postgres_url: str, root: str, store: ObjectStore | None = None) -> None:
        url = make_url(postgres_url).set(drivername="postgresql+psycopg")
        url = url.update_query_dict({"options": f"-csearch_path={SCHEMA} -cidle_in_transaction_session_timeout={IDLE_MS}"})
        text = url.render_as_string(hide_password=False)
        # The migration has made the catalog's tables. Left to itself pyiceberg would take a Postgres that is away for
        # one without tables.
        reached = {} if store is None else store.for_pyiceberg()
        self.sql = OrderedSqlCatalog(CATALOG, uri=text, warehouse=root, init_catalog_tables="false", **reached)
        self.sql.engine.dispose()
        self.sql.engine = create_engine(url, pool_pre_ping=True, pool_size=2, max_overflow=6, pool_timeout=30)
        self._files: Recent[ManifestFile, tuple[FileStat, ...]] = Recent(FILES)

    def files(self, table: Table, manifest: ManifestFile) -> tuple[FileStat, ...]:
        """The live files of a manifest, in the words of the table's schema. Manifests never change, so the newest ones are
        kept in memory."""
        # A schema is told from others by its table and number: it has no hash of its own.
        state = (table.metadata.table_uuid, table.metadata.current_schema_id)
        return self._files.get(manifest, state, lambda: self._read_files(manifest, table.schema()), len)

    def forget_files(self) -> None:
        """Read manifests anew: what is in memory may be damaged on the disk by now."""
        self._files.clear()

    def load(self, name: str) -> Table:
        """The table as it is now; nothing is cached."""
        with self.asking(name), sound(f"the metadata of table {name}"):
            return self.sql.load_table(name)

    def exists(self, name: str) -> bool:
        with self.asking(name):
            try:
                with sound(f"the metadata of table {name}"):
                    self.sql.load_table(name)
            except NoSuchTableError:
                return False
        return True

    def names(self) -> list[str]:
        """Every table, as `db.table`, in order."""
        with self.asking("the list of tables"):
            tables = [table for space in self.sql.list_namespaces() for table in self.sql.list_tables(space)]
        return sorted(".".join(table) for table in tables)

    def drop(self, name: str) -> None:
        """Forget the table; its files stay where they are."""
        with self.asking(name):
            self.sql.drop_table(name)

    def change(self, name: str, act: Callable[[Table], T]) -> T:
        """Do `act` with the fresh table, again whenever another writer committed to the table in between."""
        for attempt in range(ATTEMPTS):
            try:
                with self.asking(name):
                    return act(self.sql.load_table(name))
            except CommitFailedException:
                time.sleep(random.uniform(0, min(0.005 * 2**attempt, 0.2)))  # noqa: S311
        raise PointerTaken(
            f"table {name}: other writers committed to it {ATTEMPTS} times in a row while this one tried.\n"
            "Nothing was changed by this call; it is tried again. If this repeats, fewer writers should share the table."
        )

    def close(self) -> None:
        self.sql.engine.dispose()

    def _read_files(self, manifest: ManifestFile, schema: Schema) -> tuple[FileStat, ...]:
        io = load_file_io(self.sql.properties, manifest.manifest_path)
        with sound(manifest.manifest_path):
            entries = manifest.fetch_manifest_entry(io, discard_deleted=True)
            return tuple(file_stat(entry, schema) for entry in entries)

    @contextmanager
    def asking(self, name: str) -> Iterator[None]:
        """Around every use of the catalog: errors of its store and of missing metadata in the product's words."""
        try:
            yield
        except (OperationalError, InterfaceError, PoolTimeout) as error:
            if _state(error) == _NO_SPACE_STATE:
                raise DiskFull(f"{name}: the disk of the control store is full; nothing was changed") from None
            raise ControlStoreDown(
                f"{name}: the control store, which holds the Iceberg catalog, did not answer ({_reason(error)}).\n"
                "Nothing was published by this call; it is tried again when the store is back."
            ) from None
        except NoSuchTableError:
            raise ConfigError(
                f"table {name} is not in the catalog {CATALOG}.\n"
                "Nothing was read or written. If a module builds it, `dwh lineage apply` creates it; "
                "if it is a source, check its name."
            ) from None
        except FileNotFoundError as error:
            raise DamagedData(
                f"table {name}: a file of its metadata is missing: {error.filename or error}.\n"
                "Nothing was written. Restore the file, or the warehouse folder, from a copy. Where folder and control store\n"
                "come from different moments, `dwh repair --reconcile --reason ...` brings them together; it asks first."
            ) from error
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            raise DiskFull(
                f"{name}: the disk of the warehouse in {self.sql.properties['warehouse']} is full: {error}.\n"
                "What was published is intact and nothing was published by this call. Make room; the block is tried again."
            ) from error


NONSENSE = (  # what readers raise who meet bytes that make no sense
    *(ValueError, EOFError, LookupError, AssertionError, TypeError, ValidationError),
    *(struct.error, zlib.error, UnicodeError, MemoryError, OverflowError),
)


@contextmanager
def sound(place: str) -> Iterator[None]:
    """What a reader of metadata raises when it reads nonsense is damage, whatever it calls it."""
    try:
        yield
    except NONSENSE as error:
        raise DamagedData(
            f"a file of metadata is damaged: {place} ({type(error).__name__}).\n"
            "Nothing was written and no cursor moved. Restore the file, or the warehouse folder, from a copy."
        ) from error


def _state(error: Exception) -> str | None:
    return getattr(getattr(error, "orig", None), "sqlstate", None)


def _reason(error: Exception) -> str:
    return type(getattr(error, "orig", None) or error).__name__
