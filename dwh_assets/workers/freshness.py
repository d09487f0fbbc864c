"""When a worker must begin anew: the Lineage in force or the code it has loaded is another by now, or its memory has grown."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import psutil

from dwh_assets.config.settings import Settings
from dwh_assets.control.lineage import LineageStore

Stamp = tuple[int, int]  # when a file was changed, and its size
MEGABYTE = 1024 * 1024


class Freshness:
    """Called between two jobs and two blocks; says why the process is outdated, or None."""

    def __init__(self, lineage: LineageStore, settings: Settings, memory: Callable[[], int] | None = None) -> None:
        self._lineage = lineage
        self._version = lineage.version()
        self._folders = (Path(__file__).parents[1], settings.project)
        self._files: dict[str, Stamp | None] = {}
        self._limit = settings.worker_memory * MEGABYTE
        self._memory = memory or (lambda: psutil.Process().memory_info().rss)
        self.outdated()  # what is loaded now is what it is compared with

    def outdated(self) -> str | None:
        if self._lineage.version() != self._version:
            return "the Lineage in force has changed"
        changed = [file for file, stamp in self._loaded().items() if self._files.setdefault(file, stamp) != stamp]
        if changed:
            return f"code has changed: {changed[0]}"
        used = self._memory() if self._limit else 0
        return f"it uses {used // MEGABYTE} MB, more than DWH_WORKER_MEMORY" if used > self._limit else None

    def _loaded(self) -> dict[str, Stamp | None]:
        """The files of this product and of the project that this process has loaded; others do not change while it runs."""
        files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        return {file: _stamp(file) for file in sorted(filter(None, files)) if _is_within(file, self._folders)}


@cache  # thousands of files, after each block
def _is_within(file: str, folders: tuple[Path, ...]) -> bool:
    path = Path(file)
    return any(path.is_relative_to(folder) for folder in folders) and "site-packages" not in path.parts


def _stamp(file: str) -> Stamp | None:
    try:
        found = Path(file).stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size
