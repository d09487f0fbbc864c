"""Dagster's processes for a warehouse: what to start, in which environment, and how to know that it is up."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import ProxyHandler, Request, build_opener

import yaml

from dwh_assets.config.machine import free_port, port_is_free
from dwh_assets.config.settings import Settings
from dwh_assets.orchestration.instance import environment, prepare_home

HOST = "127.0.0.1"
LOCATION = "dwh"
MODULE = "dwh_assets.orchestration.definitions"
LOADED = """{ workspaceOrError { ... on Workspace { locationEntries { loadStatus
  locationOrLoadError { ... on PythonError { className } } } } } }"""


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
    daemon = [python, "-m", "dagster._daemon", "run", "-w", str(workspace)]
    url = f"http://{HOST}:{ui_port}"
    return DagsterProcesses(
        [
            Process("code-server", code, variables, lambda: _listens(code_port)),
            Process("webserver", [*web, "--read-only"] if read_only else web, variables, lambda: _answers(url)),
            Process("daemon", daemon, variables, lambda: True),
            *worker_processes(settings, variables),
        ],
        url,
    )


def worker_processes(settings: Settings, variables: dict[str, str], *options: str) -> list[Process]:
    command = [sys.executable, "-m", "dwh_assets.cli", "worker", *options]
    return [Process(f"worker-{number}", command, variables, lambda: True) for number in range(1, settings.slots + 1)]


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
    """Pages can be opened: before the webserver has reached the code server they would show an error instead of assets."""
    request = Request(f"{url}/graphql", json.dumps({"query": LOADED}).encode(), {"Content-Type": "application/json"})  # noqa: S310
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=5) as reply:  # loopback: a proxy could not reach it
            entries = json.load(reply)["data"]["workspaceOrError"]["locationEntries"]
    except (URLError, OSError):
        return False
    return all(entry["loadStatus"] == "LOADED" and _reached(entry["locationOrLoadError"]) for entry in entries)


def _reached(location: dict[str, str] | None) -> bool:
    """Definitions that cannot be loaded count as reached: the page tells why."""
    return location is not None and location.get("className") != "DagsterUserCodeUnreachableError"
