"""The SQL files of the control store: queries by name, migrations and views in their order."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import LiteralString, cast

_PACKAGE = Path(__file__).parents[1]


def folder() -> Path:
    """Where the SQL lives: inside the installed package, else in the repository."""
    installed = _PACKAGE / "_sql"
    return (installed if installed.is_dir() else _PACKAGE.parent / "sql") / "control"


@cache
def sql(name: str) -> LiteralString:
    """The statement of `queries/<name>.sql`. Its type says that it is ours: values reach it as parameters only."""
    return text(folder() / "queries" / f"{name}.sql")


def text(file: Path) -> LiteralString:
    return cast("LiteralString", file.read_text(encoding="utf-8"))


def ledger() -> LiteralString:
    return text(folder() / "ledger.sql")


def migrations() -> list[Path]:
    return sorted((folder() / "migrations").glob("[0-9][0-9][0-9][0-9]_*.sql"))


def views() -> list[Path]:
    return sorted((folder() / "views").glob("*.sql"))
