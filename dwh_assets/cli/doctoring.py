"""dwh doctor: what this machine and this project have and lack, and what to do."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from dwh_assets.cli.opening import settings_of
from dwh_assets.cli.options import Json
from dwh_assets.cli.output import Printer, console, printer, working

if TYPE_CHECKING:
    from dwh_assets.engine.health import Finding

_MARKS = {"ok": "[green]ok  [/]", "warn": "[yellow]warn[/]", "bad": "[red]bad [/]"}


def doctor(context: typer.Context, as_json: Json = False) -> None:
    """Check Java, memory, disk, ports, Postgres, Spark, versions and this project's files. Starts and changes nothing."""
    from dwh_assets.engine.health import examine  # late: Spark's libraries take a second
    from dwh_assets.engine.health_project import CHECKS

    out = printer(as_json)
    found: list[Finding] = []
    with working("looking") as now:
        for finding in examine(settings_of(context), CHECKS):
            now(f"{finding.name}: {finding.text}")
            found.append(finding)
    if as_json:
        out.json([asdict(finding) for finding in found])
    else:
        _tell(out, found)
    raise typer.Exit(1 if any(finding.state == "bad" for finding in found) else 0)


def _tell(out: Printer, found: list[Finding]) -> None:
    width = max(len(finding.name) for finding in found)
    for finding in found:
        out.say(f"{_MARKS[finding.state]}  [bold]{escape(finding.name):<{width}}[/]  {escape(finding.text)}")
        if finding.todo:
            console().print(f"      {'':<{width}}  -> {escape(finding.todo)}", soft_wrap=True)
    states = [finding.state for finding in found]
    if "bad" in states:
        out.say(f"\n[red]{states.count('bad')} bad[/], {states.count('warn')} warnings: do what the arrows say, then ask again.")
    else:
        out.say(f"\n[green]fit[/]: {states.count('warn') or 'no'} warnings.")
