"""The prompt of dwh sql: a query ends with a semicolon, words that begin with a backslash are for the prompt itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from rich.markup import escape

from dwh_assets.cli.output import Printer, warn
from dwh_assets.cli.table_detail import print_columns
from dwh_assets.model.errors import DwhError

if TYPE_CHECKING:
    from dwh_assets.engine.engine import Engine
    from dwh_assets.model.module import Lineage

HELP = r"""A query ends with ;   \d lists the tables   \d TABLE its columns   \q or Ctrl-D ends   Ctrl-C drops what was typed"""


def prompt(engine: Engine, lineage: Lineage, limit: int, out: Printer) -> None:
    """Ask until the person has enough. What is refused is said, and the next question can follow."""
    from dwh_assets.cli.asking import answer

    _remember()
    terminal = sys.stdin.isatty()
    if terminal:
        out.say(escape(HELP))
    typed: list[str] = []
    while (line := _line(typed, terminal)) is not None:
        word = line.strip()
        if not typed and word.startswith("\\"):
            if word == r"\q":
                return
            _command(engine, lineage, word, out)
            continue
        typed.append(line)
        text = "\n".join(typed)
        if word.endswith(";"):
            typed.clear()
        if word.endswith(";") and text.strip(" ;\n"):
            _tell(partial(answer, engine, lineage, text, limit, out))


def _line(typed: list[str], terminal: bool) -> str | None:
    """The next line; None at the end, once what was typed without a semicolon has been answered."""
    while True:
        try:
            return input(("   ... " if typed else "dwh> ") if terminal else "")
        except EOFError:
            return ";" if any(part.strip() for part in typed) else None
        except KeyboardInterrupt:
            typed.clear()
            warn("")


def _command(engine: Engine, lineage: Lineage, word: str, out: Printer) -> None:
    from dwh_assets.engine.asking import tables_of
    from dwh_assets.engine.describe import columns_of

    name, _, rest = word.partition(" ")
    if name != r"\d":
        out.say(escape(HELP))
    elif rest.strip():
        table = rest.strip(" ;")
        _tell(lambda: print_columns(out, columns_of(engine, lineage, table), table))
    else:
        out.say("\n".join(tables_of(engine, lineage)))


def _tell(act: Callable[[], None]) -> None:
    try:
        act()
    except DwhError as error:
        warn(str(error))
    except KeyboardInterrupt:
        warn("stopped; nothing was changed.")


def _remember() -> None:
    """What was typed can be called back with the arrow keys, where Python was built with it."""
    try:
        import readline  # noqa: F401
    except ImportError:
        return
