"""What the disk does to a load: it fills up, or loses a file. Published rows stay, the reason is said, and the block goes on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dwh_assets.engine.attempt import attempt
from dwh_assets.warehouse.manifests import data_files
from dwh_assets.warehouse.publish import snapshot_of
from tests.engine.project import Project, rows


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """The warehouse's folder as a disk of its own, of four megabytes."""
    folder = tmp_path / "home" / "warehouse"
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "dwh-test", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a disk that is full")
def test_a_full_disk_leaves_published_rows_intact_and_the_block_goes_on_when_there_is_room(
    small_disk: Path, own_project: Project
) -> None:
    project = own_project
    project.source("src.orders")
    project.append("src.orders", rows(0, 10))
    project.module("full.orders", "src.orders")
    project.apply()
    project.load()
    project.append("src.orders", rows(10, 20))
    project.engine.database.execute("update dwh.topic set last_end = null")
    lineage = project.tick()
    filler = small_disk / "filler"
    filler.write_bytes(b"0" * room(small_disk))
    outcome = attempt(project.engine, lineage, "full.orders")
    assert outcome.result == "failed"
    assert "full" in outcome.text
    assert str(small_disk) in outcome.text
    assert len(project.rows("full.orders")) == 10
    filler.unlink()
    assert [o.result for o in project.load()] == ["committed"]
    assert len(project.rows("full.orders")) == 20
    assert project.verify() == []


def room(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


def test_a_missing_file_of_a_source_is_named_and_nothing_is_published(own_project: Project) -> None:
    project = own_project
    project.source("src.orders")
    project.append("src.orders", rows(0, 10))
    project.module("lost.orders", "src.orders", attempts="1")
    project.apply()
    lineage = project.tick()
    (file,) = data_files(project.engine.catalog, "src.orders", snapshot_of(project.engine.catalog, "src.orders"))
    path = Path(file.path.removeprefix("file://"))
    kept = path.read_bytes()
    path.unlink()
    outcome = attempt(project.engine, lineage, "lost.orders")
    assert outcome.result == "parked"
    assert path.name in outcome.text
    assert project.rows("lost.orders") == []
    path.write_bytes(kept)
    project.acts().retry("lost.orders", "the file is back")
    assert [o.result for o in project.load()] == ["committed"]
    assert project.verify() == []
