"""Damage on the disk: the load stops and names file and block, the deep look finds a changed value, and repair heals it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dwh_assets.engine.attempt import attempt
from dwh_assets.engine.verify import Finding, verify
from dwh_assets.model.errors import DamagedData
from dwh_assets.warehouse.file_stats import FileStat
from dwh_assets.warehouse.manifests import data_files
from dwh_assets.warehouse.publish import snapshot_of
from tests.engine.project import Project, rows

TABLE, SOURCE, NEXT = "v.rows", "src.v", "w.rows"


@pytest.fixture
def loaded(own_project: Project) -> Project:
    own_project.source(SOURCE)
    own_project.append(SOURCE, rows(0, 6))
    own_project.module(TABLE, SOURCE, maxstep="3", stretch="1")
    own_project.apply()
    own_project.load()
    return own_project


def deep(project: Project) -> list[Finding]:
    return verify(project.engine, project.engine.lineage.active(), deep=True)


def files_of(project: Project, table: str = TABLE) -> list[FileStat]:
    """A table's data files, the oldest block's first."""
    found = data_files(project.engine.catalog, table, snapshot_of(project.engine.catalog, table))
    return sorted(found, key=lambda file: int(str(file.lower["_block"])))


def place(path: str) -> Path:
    return Path(path.removeprefix("file://").removeprefix("file:"))


@contextmanager
def damaged(path: str, offset: int | None) -> Iterator[str]:
    """One flipped bit, half a file (-1), or none at all (None); it is as it was afterwards."""
    file = place(path)
    kept = file.read_bytes()
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    if offset is None:
        file.unlink()
    elif offset < 0:
        file.write_bytes(kept[: len(kept) // 2])
    else:
        at = offset % len(kept)
        file.write_bytes(kept[:at] + bytes([kept[at] ^ 0x10]) + kept[at + 1 :])
    try:
        yield file.name
    finally:
        file.write_bytes(kept)


def test_a_changed_value_is_found_by_the_deep_look_alone_and_repaired(loaded: Project) -> None:
    assert deep(loaded) == deep(loaded) == []
    loaded.engine.session().sql("update dwh.v.rows set v = 77 where v = 1")
    assert loaded.verify() == []  # as many rows, at the same positions
    [finding] = deep(loaded)
    first = files_of(loaded)[0].lower["_block"]
    assert (finding.invariant, finding.topic, finding.block_id) == ("I1", TABLE, first)
    assert f"dwh repair {first}" in finding.text
    assert deep(loaded) == [finding]  # it is not taken for the truth by having been looked at
    assert loaded.restate(TABLE, 1, 1).result == "committed"
    assert deep(loaded) == deep(loaded) == []
    assert sorted(loaded.rows(TABLE, "v")) == [(n,) for n in range(6)]


def test_a_damaged_file_stops_the_load_names_file_and_block_and_is_repaired(loaded: Project) -> None:
    loaded.module(NEXT, TABLE, attempts="1")
    loaded.apply()
    lineage = loaded.tick()
    file = files_of(loaded)[0]
    block = file.lower["_block"]
    with damaged(file.path, 200) as name:
        [finding] = [f for f in deep(loaded) if f.topic == TABLE]
        assert name in finding.text
        assert f"rows of block #{block} of {TABLE}" in finding.text
        outcome = attempt(loaded.engine, lineage, NEXT)
        assert outcome.result == "parked"
        assert name in outcome.text
        assert f"dwh repair {block}" in outcome.text
        assert loaded.rows(NEXT) == []
        assert loaded.restate(TABLE, 1, 1).result == "committed"  # while its old file is still damaged
    loaded.acts().retry(NEXT, "repaired")
    loaded.load()
    assert sorted(loaded.rows(NEXT, "v")) == [(n,) for n in range(6)]
    assert deep(loaded) == []


def test_damaged_metadata_is_named_and_nothing_is_published(loaded: Project) -> None:
    catalog = loaded.engine.catalog
    table = catalog.load(TABLE)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    manifest = snapshot.manifests(table.io)[0].manifest_path
    for path in (table.metadata_location, snapshot.manifest_list, manifest):
        for offset in (None, -1):
            catalog.forget_files()
            with damaged(path, offset) as name, pytest.raises(DamagedData) as raised:
                files_of(loaded)
            assert name in str(raised.value) or TABLE in str(raised.value)
            assert "Restore" in str(raised.value)
    catalog.forget_files()
    assert loaded.verify() == []


def test_a_flipped_bit_in_a_manifest_that_a_load_meets_is_named_and_nothing_is_published(loaded: Project) -> None:
    loaded.module(NEXT, TABLE, attempts="1")
    loaded.apply()
    lineage = loaded.tick()
    table = loaded.engine.catalog.load(TABLE)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    manifest = snapshot.manifests(table.io)[0].manifest_path
    with damaged(manifest, place(manifest).stat().st_size - 1) as name:  # in the mark that ends each of its parts
        outcome = attempt(loaded.engine, lineage, NEXT)
    [block] = loaded.blocks(NEXT)
    assert outcome.claim is not None
    assert (outcome.result, outcome.claim.block.id, block["status"]) == ("parked", block["id"], "parked")
    assert name in outcome.text
    assert loaded.rows(NEXT) == []
    loaded.acts().retry(NEXT, "the file is restored")
    loaded.load()
    assert sorted(loaded.rows(NEXT, "v")) == [(n,) for n in range(6)]


@pytest.mark.exhaustive
@pytest.mark.timeout(1200)
def test_no_flipped_bit_of_a_data_file_gives_other_rows(loaded: Project) -> None:
    assert deep(loaded) == []
    file = files_of(loaded)[0]
    size = place(file.path).stat().st_size
    for offset in range(0, size, max(1, size // 60)):
        with damaged(file.path, offset):
            found = deep(loaded)
            seen = None if found else sorted(loaded.rows(TABLE, "v"))
        assert found or seen == [(n,) for n in range(6)], offset
