"""A branch per attempt: forked from main's head, written by Spark, invisible to readers until it is published."""

from __future__ import annotations

from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.update import RemoveSnapshotRefUpdate, SetSnapshotRefUpdate, TableUpdate

from dwh_assets.model.errors import ConfigError
from dwh_assets.model.failpoints import protected
from dwh_assets.warehouse.catalog import CATALOG, MAIN, Catalog

EXECUTION = "dwh.execution"  # the snapshot property that names the execution which wrote a snapshot


@dataclass(frozen=True)
class Fork:
    """Where an attempt stages its rows: a branch of one table, and the snapshot of main it started from."""

    table: str
    branch: str
    snapshot_id: int


def branch_of(execution_id: int) -> str:
    """One of its own for each attempt, or two that stage at once would publish each other's rows (R4)."""
    return f"x{execution_id}" if protected("own_branch") else "x0"


def fork(catalog: Catalog, table: str, execution_id: int) -> Fork:
    """Create the execution's branch at main's head; again, as long as nothing was written to it, it is the same fork."""
    return fork_as(catalog, table, branch_of(execution_id))


def fork_as(catalog: Catalog, table: str, branch: str) -> Fork:
    """Create a branch of this name at main's head."""
    return catalog.change(table, lambda loaded: Fork(table, branch, _create_branch(catalog, loaded, branch)))


def drop(catalog: Catalog, table: str, branch: str) -> None:
    """Forget the branch; its files go when its snapshots expire. No error if it is gone already."""
    catalog.change(table, lambda loaded: _remove_branch(catalog, loaded, branch))


def live(catalog: Catalog, table: str) -> list[str]:
    """The branches of attempts that are neither published nor dropped."""
    return sorted(name for name in catalog.load(table).refs() if name != MAIN)


def tip(catalog: Catalog, fork: Fork) -> int:
    """The branch's newest snapshot."""
    ref = catalog.load(fork.table).refs().get(fork.branch)
    return fork.snapshot_id if ref is None else ref.snapshot_id


def qualified(fork: Fork) -> str:
    """The name by which Spark reads and writes the branch: never main, where readers would see it at once (R5, R14)."""
    return f"{CATALOG}.{fork.table}" + (f".branch_{fork.branch}" if protected("staging") else "")


def writer_options(execution_id: int) -> dict[str, str]:
    """Spark writer options: a snapshot names its execution, so that a writer that outlived its attempt is told apart (R4)."""
    return {f"snapshot-property.{EXECUTION}": str(execution_id)}


def point(branch: str, snapshot_id: int) -> TableUpdate:
    """The update that lets a branch name a snapshot."""
    return SetSnapshotRefUpdate.model_validate({"ref-name": branch, "type": SnapshotRefType.BRANCH, "snapshot-id": snapshot_id})


def remove(branch: str) -> TableUpdate:
    """The update that takes a branch away."""
    return RemoveSnapshotRefUpdate.model_validate({"ref-name": branch})


def head_of(table: Table) -> int:
    """The snapshot that readers of the table see."""
    snapshot = table.current_snapshot()
    if snapshot is None:
        raise ConfigError(
            f"table {'.'.join(table.name())} has no snapshot yet, so there is nothing to read or to branch from.\n"
            "Nothing was changed. `dwh lineage apply` gives a built table its empty first snapshot."
        )
    return snapshot.snapshot_id


def _create_branch(catalog: Catalog, loaded: Table, branch: str) -> int:
    head = head_of(loaded)
    present = loaded.refs().get(branch)
    if present is not None and present.snapshot_id == head:
        return head
    if present is not None:
        raise ConfigError(
            f"table {'.'.join(loaded.name())} already has a branch {branch}, and not at main's head: "
            "it was written to, or main moved.\n"
            "Nothing was changed. An execution forks once; a new attempt is a new execution with its own branch."
        )
    catalog.sql.commit_refs(loaded, (point(branch, head),))
    return head


def _remove_branch(catalog: Catalog, loaded: Table, branch: str) -> None:
    if branch in loaded.refs():
        catalog.sql.commit_refs(loaded, (remove(branch),))
