"""The archive of Spark's classes: made aside, mapped by the next start, and never in the way of one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dwh_assets.config.settings import load_settings
from dwh_assets.warehouse import class_archive
from dwh_assets.warehouse.java import find_java, jars_folder, own_jars
from dwh_assets.warehouse.server import SparkServer
from dwh_assets.warehouse.session import open_plain_session


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it belongs, in a cache of this test's own."""
    cache = tmp_path / "jars"
    cache.mkdir()
    for jar in jars_folder().glob("*.jar"):
        (cache / jar.name).symlink_to(jar)
    monkeypatch.setenv("DWH_JARS", str(cache))
    return class_archive.archive_of(find_java(), own_jars(find_java()))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SparkServer]:
    server = SparkServer(load_settings(home=tmp_path / "home", spark_master="local[1]", spark_memory="1g"))
    yield server
    server.stop()


def maps(server: SparkServer, archive: Path) -> bool:
    process = server.process()
    assert process is not None
    return str(archive) in Path(f"/proc/{process.pid}/maps").read_text()


def remains(archive: Path) -> list[Path]:
    return [file for file in archive.parent.glob("classes-*") if file != archive]


@pytest.mark.exhaustive
def test_a_start_maps_the_archive_and_does_without_what_is_none(server: SparkServer, archive: Path) -> None:
    archive.write_bytes(b"torn" * 1000)
    assert open_plain_session(server.start(timeout=240)).range(3).count() == 3
    assert not maps(server, archive)
    server.stop()
    archive.unlink()
    assert server.archive_classes(threading.Event())
    assert remains(archive) == []
    assert open_plain_session(server.start(timeout=240)).range(3).count() == 3
    assert maps(server, archive)


def test_an_archive_that_is_not_finished_leaves_nothing(server: SparkServer, archive: Path) -> None:
    stop = threading.Event()
    stop.set()
    assert not server.archive_classes(stop)
    assert not archive.exists()
    assert remains(archive) == []


def test_the_archives_of_older_versions_go_but_for_the_newest_two(archive: Path) -> None:
    others = [archive.with_name(f"classes-{number}.jsa") for number in range(4)]
    for other in others:
        other.touch()
    assert not class_archive.make(archive, ["false"], [], {}, threading.Event())
    assert len(remains(archive)) == class_archive.KEPT - 1
