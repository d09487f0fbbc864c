"""Printing: the same rows as a table for people, as JSON or as CSV; messages and progress go to stderr."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from dwh_assets.model.errors import ConfigError

Row = Mapping[str, Any]
WIDTH = 100  # where the output is not a terminal
WIDE = 130  # from here on there is room for the columns that are marked wide


@dataclass(frozen=True)
class Column:
    """One column of a table: its title, and what it shows of a row."""

    title: str
    show: Callable[[Row], str]
    right: bool = False
    folds: bool = False  # may be broken into lines; names and numbers never are
    wide: bool = False


def column(title: str, key: str, form: Callable[[Any], str] = lambda value: escape(str(value)), **options: Any) -> Column:
    """A column that shows one value; nothing where it is null."""
    return Column(title, lambda row: "" if row[key] is None else form(row[key]), **options)


@dataclass(frozen=True)
class Printer:
    """Where and in what form a command prints its data."""

    form: Literal["table", "json", "csv"] = "table"

    @property
    def for_people(self) -> bool:
        return self.form == "table"

    def rows(self, rows: Sequence[Row], columns: Sequence[Column], title: str = "", empty: str = "nothing to show") -> None:
        """Print rows; JSON and CSV hold every value of them, a table what its columns show."""
        if self.form == "json":
            self.json(rows)
        elif self.form == "csv":
            self.csv(rows)
        elif rows:
            print_table(table(rows, columns, title))
        else:
            self.say(empty)

    def json(self, value: Any) -> None:
        sys.stdout.write(json.dumps(value, default=plain, indent=2, ensure_ascii=False) + "\n")

    def csv(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        writer = csv.DictWriter(sys.stdout, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)

    def say(self, text: str) -> None:
        """A sentence for people; JSON and CSV stay clean."""
        if self.for_people:
            console().print(text, soft_wrap=True, highlight=False)


def printer(as_json: bool, as_csv: bool = False) -> Printer:
    if as_json and as_csv:
        raise ConfigError("--json and --csv exclude each other.")
    return Printer("json" if as_json else "csv" if as_csv else "table")


def table(rows: Sequence[Row], columns: Sequence[Column], title: str = "") -> Table:
    """Names and numbers are never cut or broken: where they do not fit, the lines are longer than the terminal."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False, title_justify="left")
    made.title = escape(title) or None
    shown = [c for c in columns if not c.wide or console().width >= WIDE]
    cells = [[Text.from_markup(c.show(row)) for c in shown] for row in rows]
    for number, c in enumerate(shown):
        least = None if c.folds else max(len(c.title), *(line[number].cell_len for line in cells))
        made.add_column(c.title, justify="right" if c.right else "left", no_wrap=not c.folds, overflow="fold", min_width=least)
    for line in cells:
        made.add_row(*line)
    return made


def print_table(made: Table) -> None:
    console().print(made, crop=False)


def console() -> Console:
    """Made at each use: stdout and its width may change."""
    return Console(width=_width(), highlight=False)


def stderr() -> Console:
    return Console(stderr=True, width=_width(), highlight=False)


def warn(text: str) -> None:
    stderr().print(text, soft_wrap=True, markup=False)


@contextmanager
def working(text: str, long: bool = False) -> Iterator[Callable[[str], None]]:
    """A spinner while something takes a while, only on a terminal; call what it gives to change its text.

    Elsewhere what takes long is a line: a log that stands still for half a minute looks like a fault.
    """
    if long and not stderr().is_terminal:
        stderr().print(escape(text))
    with stderr().status(escape(text), spinner="dots") as status:
        yield lambda now: status.update(escape(now))


def plain(value: Any) -> Any:
    """A value as JSON has it: instants in ISO form, spans of time in seconds."""
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    return str(value)


def _cell(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        return json.dumps(value, default=plain)
    return value if value is None or isinstance(value, (str, int, float)) else plain(value)


def _width() -> int | None:
    return None if sys.stdout.isatty() or os.environ.get("COLUMNS") else WIDTH
