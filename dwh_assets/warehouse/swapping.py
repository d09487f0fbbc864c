"""Files of a table exchanged for others on a branch: what goes, and what comes in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql.connect.session import SparkSession

from dwh_assets.model.errors import StagedAgain
from dwh_assets.warehouse.branches import Fork, qualified
from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.file_stats import FileStat
from dwh_assets.warehouse.manifests import data_files
from dwh_assets.warehouse.session import spark_errors


@dataclass(frozen=True)
class Swap:
    """What a branch has that its fork had not, and the other way round."""

    fork: Fork
    tip: int
    removed: tuple[FileStat, ...] = field(repr=False)
    added: tuple[FileStat, ...] = field(repr=False)

    @property
    def rows_removed(self) -> int:
        return sum(file.rows for file in self.removed)

    @property
    def rows_added(self) -> int:
        return sum(file.rows for file in self.added)


def swap_of(catalog: Catalog, fork: Fork) -> Swap:
    """Read from the manifests what was done to the branch."""
    ref = catalog.load(fork.table).refs().get(fork.branch)
    if ref is None:
        raise StagedAgain(f"table {fork.table}: the branch {fork.branch} is gone. Nothing was published.")
    before = {file.path: file for file in data_files(catalog, fork.table, fork.snapshot_id)}
    after = {file.path: file for file in data_files(catalog, fork.table, ref.snapshot_id)}
    return Swap(
        fork=fork,
        tip=ref.snapshot_id,
        removed=tuple(file for path, file in before.items() if path not in after),
        added=tuple(file for path, file in after.items() if path not in before),
    )


def delete_blocks(session: SparkSession, fork: Fork, blocks: Sequence[int]) -> None:
    """Take the rows of these blocks out of the branch; files that hold nothing else are not read."""
    listed = ", ".join(str(block) for block in blocks)
    with spark_errors():
        session.sql(f"DELETE FROM {qualified(fork)} WHERE _block IN ({listed})")
