"""`python -m bench.soak [--minutes M]`: memory of every process of `dwh up` on the demo, in a home of its own, over an hour."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from dwh_assets.config.settings import load_settings
from dwh_assets.control.server import EmbeddedPostgres
from dwh_assets.model.errors import Terminal
from dwh_assets.sources.kafka.server import KafkaServer
from dwh_assets.warehouse.server import SparkServer

DEMO = Path(__file__).parents[1]
END_SECONDS = 120.0
MEGABYTE = 1024 * 1024
_WORDS = {"code-server": "code server", "dagster_webserver": "webserver", "dagster._daemon": "daemon", "worker": "worker"}
Samples = dict[str, list[int]]


def soak(minutes: float, warm_minutes: float, every_seconds: float) -> Samples:
    """Bytes of each process at each look, the first one when everything is warm."""
    seen: Samples = defaultdict(list)
    with _home() as home, _up(home) as up:
        began = time.monotonic()
        ends = began + 60 * minutes
        _wait(up, began + 60 * warm_minutes)
        while True:
            for name, size in _sizes(home, up.pid).items():
                seen[name].append(size)
            if time.monotonic() >= ends:
                return seen
            _wait(up, min(ends, time.monotonic() + every_seconds))


def _wait(up: subprocess.Popen[bytes], until: float) -> None:
    try:
        up.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        return
    raise Terminal(f"`dwh up` ended by itself, with code {up.returncode}; nothing is left to look at.")


@contextmanager
def _home() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="dwh-soak-"))
    home.chmod(0o755)  # Postgres runs as another user where we are root
    try:
        yield home
    finally:
        shutil.rmtree(home)


@contextmanager
def _up(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("DWH_") or name == "DWH_JARS"}
    own |= {"DWH_HOME": str(home), "DWH_PROJECT": str(DEMO)}
    command = [sys.executable, "-m", "dwh_assets.cli", "up"]
    with (home / "up.out").open("wb") as output:
        up = subprocess.Popen(command, env=own, cwd=DEMO, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield up
    finally:
        if up.poll() is None:
            up.send_signal(signal.SIGINT)
            up.wait(END_SECONDS)


def _sizes(home: Path, up: int) -> dict[str, int]:
    """Pages that several processes share count in parts, so that the processes of Postgres can be added up."""
    settings = load_settings(home=home, project=DEMO, spark_remote=None)
    tree = psutil.Process(up)
    found = {"dwh up": _size([tree]), "postgres": _size(_living(EmbeddedPostgres(home).processes()))}
    for name, server in (("spark", SparkServer(settings).process()), ("kafka", KafkaServer(settings).process())):
        found[name] = _size([] if server is None else [server])
    for child in tree.children(recursive=True):
        found[f"{_name(child)} {child.pid}"] = _size([child])
    return {name: size for name, size in found.items() if size}


def _living(pids: list[int]) -> list[psutil.Process]:
    return [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]


def _size(processes: list[psutil.Process]) -> int:
    total = 0
    for process in processes:
        try:
            total += process.memory_full_info().pss
        except psutil.NoSuchProcess:  # it ended while we looked
            continue
    return total


def _name(process: psutil.Process) -> str:
    try:
        words = process.cmdline()
    except psutil.NoSuchProcess:
        return "child"
    return next((name for word, name in _WORDS.items() if word in words), "child")


def _table(seen: Samples) -> Table:
    table = Table("process", "looks", "first MB", "middle MB", "last MB", "most MB", "last / first", "last / middle")
    for name, sizes in sorted(seen.items()):
        first, middle, last = sizes[0], sizes[len(sizes) // 2], sizes[-1]
        megabytes = [f"{size / MEGABYTE:,.0f}" for size in (first, middle, last, max(sizes))]
        table.add_row(name, str(len(sizes)), *megabytes, f"{last / first:.2f}", f"{last / middle:.2f}")
    return table


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="how long the demo runs (default: %(default)s)")
    parser.add_argument("--warm", type=float, default=5, help="minutes before the first look (default: %(default)s)")
    parser.add_argument("--every", type=float, default=60, help="seconds between two looks (default: %(default)s)")
    given = parser.parse_args()
    Console().print(_table(soak(given.minutes, given.warm, given.every)))
