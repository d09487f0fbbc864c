"""What a home holds that can go: old logs and scratch files; or all of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

DAY_SECONDS = 86_400
# Everything that this product makes in a home. What else lies there, such as backups, is somebody's and stays.
OWN = ("dagster", "kafka", "logs", "postgres", "processes.json", "spark", "up.lock", "warehouse", "owned")
SCRATCH = ("spark/local/*", "spark/warm-*", "spark/unused", "postgres/data.new", "*.new", "*/*.new")


@dataclass(frozen=True)
class Remain:
    kind: Literal["old log", "scratch", "state"]
    path: Path
    bytes: int


def needless(home: Path, days: float, now: float) -> list[Remain]:
    """Logs that nobody wrote to for so long, and scratch files of servers that do not run. Call it while nothing runs."""
    before = now - days * DAY_SECONDS
    logs = [path for path in sorted((home / "logs").glob("*")) if path.is_file() and path.stat().st_mtime < before]
    scratch = {path for pattern in SCRATCH for path in home.glob(pattern)}
    return [
        *(Remain("old log", path, size_of(path)) for path in logs),
        *(Remain("scratch", p, size_of(p)) for p in sorted(scratch)),
    ]


def everything(home: Path) -> tuple[list[Remain], list[Path]]:
    """All state that is ours, and what is not and therefore stays."""
    own = [home / name for name in OWN if (home / name).exists()]
    others = sorted(path for path in home.iterdir() if path not in own)
    return [Remain("state", path, size_of(path)) for path in own], others


def remove(remain: Remain) -> None:
    if remain.path.is_dir() and not remain.path.is_symlink():
        shutil.rmtree(remain.path)
    else:
        remain.path.unlink(missing_ok=True)


def size_of(path: Path) -> int:
    return sum(file.lstat().st_size for file in _files(path))


def _files(path: Path) -> Iterator[Path]:
    yield from (file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
