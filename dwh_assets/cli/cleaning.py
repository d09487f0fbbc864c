"""dwh clean: what of the home can go."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import Annotated

import typer

from dwh_assets.cli import formats
from dwh_assets.cli.confirm import confirm
from dwh_assets.cli.opening import settings_of
from dwh_assets.cli.options import Json, Yes
from dwh_assets.cli.output import Printer, column, printer
from dwh_assets.config.settings import Settings
from dwh_assets.engine.presence import nobody_else
from dwh_assets.engine.remains import Remain, everything, needless, remove
from dwh_assets.model.errors import ActRefused


def clean(
    context: typer.Context,
    whole: Annotated[bool, typer.Option("--all", help="Remove all state: control store, tables, logs. Asks first.")] = False,
    days: Annotated[float, typer.Option("--days", min=0, help="Logs that nobody wrote to for so many days are old.")] = 7,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Remove old logs and scratch files from the home; with --all, the home itself. Refused while something runs in it."""
    settings, out = settings_of(context), printer(as_json)
    if not settings.home.exists():
        out.say(f"there is no {settings.home}; nothing to clean.")
        return
    with nobody_else(settings.home):
        found = _everything(settings, out, yes) if whole else needless(settings.home, days, time.time())
        for remain in found:
            remove(remain)
    if whole and not any(settings.home.iterdir()):
        settings.home.rmdir()
    if as_json:
        out.json([{"kind": remain.kind, "path": remain.path, "bytes": remain.bytes} for remain in found])
    out.say(_summary(found))


def _everything(settings: Settings, out: Printer, yes: bool) -> list[Remain]:
    found, others = everything(settings.home)
    if out.for_people:
        out.rows([{"path": remain.path, "bytes": remain.bytes} for remain in found], COLUMNS)
        for path in others:
            out.say(f"{path} was not made by dwh or is yours to keep; it stays.")
        if settings.postgres_url is not None:
            out.say("The control store is elsewhere (DWH_POSTGRES_URL) and stays as it is.")
    if not yes and not sys.stdin.isatty():
        raise ActRefused("clean --all removes every table and its history for good: say --yes. Nothing was changed.")
    confirm(f"Remove all of this for good? The project's files stay; every row in {settings.home} goes.", yes)
    return found


def _summary(found: list[Remain]) -> str:
    if not found:
        return "nothing to clean: no old logs, no scratch files."
    counts = Counter(remain.kind for remain in found)
    kinds = ", ".join(f"{number} {kind}{'s' if number > 1 and kind == 'old log' else ''}" for kind, number in counts.items())
    return f"removed {formats.size(sum(remain.bytes for remain in found))}: {kinds}."


COLUMNS = [column("goes", "path", folds=True), column("size", "bytes", formats.size, right=True)]
