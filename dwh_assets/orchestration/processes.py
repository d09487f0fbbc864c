"""Dagster's processes for a warehouse: what to start, in which environment, and how to know that it is up."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import yaml

from dwh_assets.config.machine import free_port, port_is_free
from dwh_assets.config.settings import Settings
from dwh_assets.orchestration.instance import environment, prepare_home

HOST = "127.0.0.1"
LOCATION = "dwh"
MODULE = "dwh_assets.orchestration.definitions"


@dataclass(frozen=True)
class Process:
    """One process of the tree."""

    name: str
    command: list[str]
    environment: dict[str, str]
    ready: Callable[[], bool]


@dataclass(frozen=True)
class DagsterProcesses:
    """Code server first: the other two look for it."""

    processes: list[Process]
    ui: str


def dagster_processes(settings: Settings, read_only: bool = False) -> DagsterProcesses:
    folder = prepare_home(settings)
    ui_port = settings.ui_port if port_is_free(settings.ui_port) else free_port()
    code_port = free_port()
    workspace = _workspace(folder, code_port)
    variables, python = environment(settings), sys.executable
    code = [python, "-m", "dagster", "code-server", "start", "-m", MODULE, "-h", HOST, "-p", str(code_port),
            "--location-name", LOCATION, "-d", str(settings.project)]  # fmt: skip
    web = [python, "-m", "dagster_webserver", "-h", HOST, "-p", str(ui_port), "-w", str(workspace)]
    worker = [python, "-m", "dwh_assets.orchestration.worker"]
    daemon = [python, "-m", "dagster._daemon", "run", "-w", str(workspace)]
    url = f"http://{HOST}:{ui_port}"
    return DagsterProcesses(
        [
            Process("code-server", code, variables, lambda: _listens(code_port)),
            Process("webserver", [*web, "--read-only"] if read_only else web, variables, lambda: _answers(url)),
            Process("daemon", daemon, variables, lambda: True),
            *(Process(f"worker-{number}", worker, variables, lambda: True) for number in range(1, settings.slots + 1)),
        ],
        url,
    )


def _workspace(folder: Path, port: int) -> Path:
    """Webserver and daemon share one code server, so that a reload is one reload."""
    file = folder / "workspace.yaml"
    server = {"host": HOST, "port": port, "location_name": LOCATION}
    file.write_text(yaml.safe_dump({"load_from": [{"grpc_server": server}]}))
    return file


def _listens(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True


def _answers(url: str) -> bool:
    try:
        with urlopen(f"{url}/server_info", timeout=2) as reply:  # noqa: S310 - our own address on loopback
            return reply.status == 200
    except (URLError, OSError):
        return False
