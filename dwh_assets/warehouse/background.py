"""A server process that outlives us: started once for all processes of a warehouse, found again, ended in order."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from dwh_assets.config.machine import write_private


@dataclass(frozen=True)
class Background:
    """Its pid and port lie in `folder`, what it prints in `log`."""

    folder: Path
    log: Path

    def process(self) -> psutil.Process | None:
        # The start time goes with the pid: after a reboot or a long time the same number may be a stranger's.
        try:
            pid, started = (self.folder / "pid").read_text().split()
            process = psutil.Process(int(pid))
            alive = process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - float(started)) < 1
        except (FileNotFoundError, ValueError, psutil.NoSuchProcess):
            return None
        return process if alive else None

    def port(self) -> int:
        return int((self.folder / "port").read_text())

    def running(self) -> bool:
        """The process we started lives and listens."""
        return self.process() is not None and listens(self.port())

    def launch(self, command: list[str], port: int, environment: Mapping[str, str], deadline: float) -> bool:
        """Start it and wait until it listens; False if it did not: then nothing of it is left."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        write_private(self.folder / "port", str(port))
        pid = _spawn(command, self.log, self.folder, environment)
        write_private(self.folder / "pid", f"{pid} {_birth(pid)}")
        _wait(lambda: listens(port) or self.process() is None, deadline)
        if not self.running():
            self.end()
            return False
        return True

    def end(self) -> None:
        for end in (psutil.Process.terminate, psutil.Process.kill):
            process = self.process()
            if process is None:
                break
            end(process)
            _wait(lambda: self.process() is None, time.monotonic() + 20)
        (self.folder / "pid").unlink(missing_ok=True)

    def last_words(self, size: int = 2000) -> str:
        """The end of its log."""
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - size))
            return file.read().decode(errors="replace")


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _spawn(command: list[str], log: Path, folder: Path, environment: Mapping[str, str]) -> int:
    # A session of its own, so that Ctrl-C in the terminal reaches us and we stop it in order; and by a shell that
    # ends at once, so that it is nobody's child: a server killed later leaves no zombie with us.
    shell = ["/bin/sh", "-c", 'log=$1; shift; "$@" >>"$log" 2>&1 </dev/null & echo $!', "sh", str(log), *command]
    started = subprocess.run(
        shell, cwd=folder, env=dict(environment), start_new_session=True, check=True, stdout=subprocess.PIPE, text=True
    )
    return int(started.stdout)


def _birth(pid: int) -> float:
    try:
        return psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return 0


def _wait(done: Callable[[], bool], deadline: float) -> None:
    while not done() and time.monotonic() < deadline:
        time.sleep(0.05)
