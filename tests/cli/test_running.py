from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from dwh_assets.cli.opening import warehouse
from dwh_assets.cli.starting import start
from dwh_assets.config.settings import load_settings
from dwh_assets.control.database import Database
from dwh_assets.control.roles import apply_roles
from dwh_assets.control.server import EmbeddedPostgres
from dwh_assets.warehouse.server import SparkServer
from tests.cli.conftest import Project, environment, write_files
from tests.control.test_roles import PASSWORDS, login

DWH = str(Path(sys.executable).parent / "dwh")


def wait_until(done: Callable[[], bool], what: str, seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.fixture
def embedded(run_folder: Path, spark_server: SparkServer) -> Iterator[Project]:
    """A project whose control store is its own embedded Postgres, in a folder that Postgres' user may enter."""
    folder = run_folder / "embedded"
    folder.mkdir()
    write_files(folder)
    yield Project(folder, environment(folder, DWH_SPARK_REMOTE=spark_server.start(), DWH_DEADLINE_SECONDS="10"))
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    "how",
    [
        "--no-dagster",
        pytest.param("--dagster", marks=pytest.mark.exhaustive),
        pytest.param("--no-dagster --workers 2", marks=pytest.mark.exhaustive),
    ],
)
def test_up_loads_refuses_a_second_one_and_leaves_no_server_behind(embedded: Project, how: str):
    home = embedded.folder / ".dwh"
    server = EmbeddedPostgres(home)
    embedded.environment["DWH_POSTGRES_URL"] = server.start()  # the source's rows must be there before
    with_url = dict(embedded.environment)
    embedded.dwh("status")
    embedded.deliver(range(1, 21))
    server.stop()
    without_url = {name: value for name, value in with_url.items() if name != "DWH_POSTGRES_URL"}
    output = embedded.folder / "up.out"
    with output.open("w") as out:
        up = subprocess.Popen([DWH, "up", *how.split()], env=os.environ | without_url, stdout=out, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: output.read_text().count("mart.totals") > 0 or up.poll() is not None, "nothing was loaded")
        assert "2 modules, 1 sources; 3 added" in output.read_text()
        second = subprocess.run([DWH, "up"], env=os.environ | without_url, capture_output=True, text=True)
        assert second.returncode == 2
        assert f"as process {up.pid}" in second.stderr
        up.send_signal(signal.SIGINT)
        assert up.wait(120) == 130
    finally:
        if up.poll() is None:  # it failed above; what a killed one leaves behind must not outlive the test
            up.kill()
            up.wait()
            server.stop(immediate=True)
    assert "stopping: " in output.read_text()
    assert "Traceback" not in output.read_text()
    assert not server.running()

    looked = Project(embedded.folder, without_url).ok("log", "--json").json
    assert {row["topic"] for row in looked} == {"fact.orders", "mart.totals"}
    assert not server.running(), "what a command started for itself it stops again"


def test_run_without_a_lineage_says_what_to_do(project: Project):
    answer = project.dwh("run", "--until-dry")
    assert answer.code == 2
    assert "dwh lineage apply" in answer.err


def test_the_worker_starts_and_loads_what_a_steward_has_applied_and_a_viewer_changes_nothing(project: Project):
    owner = project.environment["DWH_POSTGRES_URL"]
    database = Database(owner)
    apply_roles(database, PASSWORDS)
    database.close()
    project.environment["DWH_POSTGRES_URL"] = login(owner, "steward")
    project.ok("lineage", "apply", "--yes")
    project.environment["DWH_POSTGRES_URL"] = login(owner, "worker")
    given = {name[4:].lower(): value for name, value in project.environment.items() if name.startswith("DWH_")}
    with warehouse(load_settings(**given)) as engine, start(engine, False, threading.Event()):
        pass  # what `dwh up` does before its loop
    assert "parked: fact.orders" in project.dwh("run", "--until-dry").err
    assert project.block_of("fact.orders", 2)["status"] == "committed"
    project.environment["DWH_POSTGRES_URL"] = login(owner, "viewer")
    refused = project.dwh("skip", "fact.orders", "--reason", "a test")
    assert refused.code == 2
    assert "this login, dwh_viewer, may not do that" in refused.err
    assert project.block_of("fact.orders", 3)["status"] == "parked"


def test_down_ends_what_a_killed_up_left_behind(files: Project):
    home = files.folder / ".dwh"
    (home / "owned").mkdir(parents=True)
    orphan = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    birth = psutil.Process(orphan.pid).create_time()
    (home / "processes.json").write_text(json.dumps([[orphan.pid, birth], [2**22 - 1, None]]))
    assert "ended 1 processes" in files.ok("down").out
    orphan.wait(10)
    assert not psutil.pid_exists(orphan.pid)
    assert "nothing is left behind" in files.ok("down").out


def test_down_where_nothing_runs_is_no_error(files: Project):
    assert "nothing is left behind" in files.ok("down").out
