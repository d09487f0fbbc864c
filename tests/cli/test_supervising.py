"""The tree of processes: how it ends."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from dwh_assets.cli import supervising
from dwh_assets.cli.supervising import Supervisor
from dwh_assets.orchestration.processes import Process

# As a worker does it: told once it goes on with its block, told twice it writes down that it gave it up.
WORKER = """
import pathlib, signal, sys, time
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(1))
folder = pathlib.Path(sys.argv[1])
(folder / "ready").touch()
while len(told) < 2:
    time.sleep(0.01)
(folder / "gave_up").touch()
"""


def test_a_process_that_goes_on_when_told_once_is_told_twice_before_it_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervising, "STOP_SECONDS", 0.3)
    command = [sys.executable, "-c", WORKER, str(tmp_path)]
    process = Process("worker-1", command, {}, (tmp_path / "ready").exists)
    supervisor = Supervisor(tmp_path, [process], tmp_path, "workers")
    with supervisor.running(threading.Event()):
        assert not (tmp_path / "gave_up").exists()
    assert (tmp_path / "gave_up").exists()
    assert supervisor.children["worker-1"].popen.returncode == 0
    assert not (tmp_path / "processes.json").exists()
