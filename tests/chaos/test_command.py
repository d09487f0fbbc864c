"""`dwh chaos` itself, with servers of its own that crash and freeze; the person's own settings lead nowhere."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from tests.chaos.test_chaos import SLEEPERS
from tests.cli.conftest import project_on
from tests.cli.test_running import wait_until

NOWHERE = "sc://127.0.0.1:1"
SERVERS = (
    "feed@0.2=stage.orders+late postgres@0.5 freeze@1.5=kafka~1 apply@1.5 kafka@2.5 freeze@3=postgres~1 freeze@4=spark~1.5"
    " spark@4.8 spark@4.9"
)


def dwh(folder: Path, *options: str, code: int = 0, **environment: str) -> dict[str, Any]:
    """What a command tells as JSON that ends with this code."""
    command = [sys.executable, "-m", "dwh_assets.cli", *options, "--json"]
    ended = subprocess.run(command, env=os.environ | environment, cwd=folder, capture_output=True, text=True)
    assert ended.returncode == code, ended.stdout + ended.stderr
    return json.loads(ended.stdout)


def chaos(folder: Path, *options: str, code: int = 0, **environment: str) -> dict[str, Any]:
    """On servers of its own, whatever the person's are."""
    own = {"DWH_SPARK_REMOTE": NOWHERE, "DWH_ALERT_SLACK": "http://127.0.0.1:1/yours"} | environment
    return dwh(folder, "chaos", "--seed", "8", "--workers", "2", *options, code=code, **own)


def rows_by_table(url: str) -> dict[str, int]:
    """All that a control store and its catalog hold."""
    query = "select table_schema || '.' || table_name from information_schema.tables where table_type = 'BASE TABLE' order by 1"
    with psycopg.connect(url) as connection:
        tables = [name for (name,) in connection.execute(query) if not name.startswith(("pg_catalog.", "information_schema."))]
        return {name: len(connection.execute(f"table {name}".encode()).fetchall()) for name in tables}


@pytest.mark.exhaustive
@pytest.mark.timeout(1200)
def test_no_row_is_lost_or_doubled_while_servers_of_its_own_crash_and_freeze(tmp_path: Path) -> None:
    told = chaos(tmp_path, "--rounds", "2", "--faults", SERVERS, DWH_HOME=str(tmp_path / "yours"))
    assert [(result["number"], result["findings"]) for result in told["rounds"]] == [(1, []), (2, [])]
    assert not (tmp_path / "yours").exists()


@pytest.mark.exhaustive
@pytest.mark.timeout(1200)
def test_what_a_failed_round_has_left_can_be_looked_at_with_any_command(tmp_path: Path) -> None:
    faults = ("--rounds", "10", "--tries", "1", "--faults", SLEEPERS)
    told = chaos(tmp_path, *faults, code=1, DWH_UNPROTECTED="token,position,pointer")
    home = Path(told["kept"])
    try:
        (number,) = (result["number"] for result in told["rounds"] if result["findings"])
        assert f"round {number}: {SLEEPERS}" in (home / "logs" / "dwh.log").read_text()
        assert list((home / "logs" / f"round-{number}").iterdir())
        looked = dwh(tmp_path, "--home", str(home), "--project", str(home / "project"), "status")
        assert "fact.orders#web" in str(looked)
    finally:
        shutil.rmtree(home)


@pytest.mark.exhaustive
@pytest.mark.timeout(1200)
def test_a_copy_of_ones_own_lineage_holds_while_ones_own_warehouse_is_only_read(
    postgres_url: str, template: str, tmp_path: Path
) -> None:
    with project_on(postgres_url, template, NOWHERE, tmp_path) as project:
        project.deliver(range(1, 61))
        before = rows_by_table(project.environment["DWH_POSTGRES_URL"])
        told = chaos(tmp_path, "--lineage", "--rows", "50", "--rounds", "2", code=0, **project.environment)
        assert [result["findings"] for result in told["rounds"]] == [[], []]
        assert all(result["blocks"] > 3 for result in told["rounds"])
        assert rows_by_table(project.environment["DWH_POSTGRES_URL"]) == before


def test_a_fault_that_hits_nobody_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dwh_assets.cli", "chaos", "--faults", "kill@1=7"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2, ended.stdout + ended.stderr
    assert "one of 0, 1, 2" in ended.stderr


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
def test_ctrl_c_ends_it_and_its_servers(run_folder: Path) -> None:
    scratch = run_folder / "chaos"
    scratch.mkdir()
    scratch.chmod(0o755)
    told = scratch / "told"
    command = [sys.executable, "-m", "dwh_assets.cli", "chaos", "--rounds", "50"]
    with told.open("w") as out:
        process = subprocess.Popen(
            command, env=os.environ | {"TMPDIR": str(scratch)}, cwd=scratch, stdout=out, stderr=subprocess.STDOUT
        )
    wait_until(lambda: "round 1/50" in told.read_text() or process.poll() is not None, "a round ends", 300)
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 130, told.read_text()
    assert "Traceback" not in told.read_text()
    assert [line for line in map(_words, psutil.process_iter()) if str(scratch) in line] == []


def _words(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
