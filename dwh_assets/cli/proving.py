"""Commands that prove: verify holds the warehouse against its invariants, bench measures it."""

from __future__ import annotations

import sys
from dataclasses import asdict
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from dwh_assets.cli import columns
from dwh_assets.cli.opening import settings_of, warehouse
from dwh_assets.cli.options import Csv, Json
from dwh_assets.cli.output import printer, working
from dwh_assets.model.errors import ConfigError


def verify(
    context: typer.Context,
    deep: Annotated[bool, typer.Option("--deep", help="Also every value: compare each block with what was noted of it.")] = False,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Hold sources, tables and ledger against each other (I1 to I6). Exits with 1 if something does not hold."""
    out = printer(as_json, as_csv)
    with warehouse(settings_of(context)) as engine:
        from dwh_assets.engine.verify import verify as look

        with working("verifying") as now:
            findings = look(engine, engine.lineage.active(), lambda name: now(f"verifying {name}"), deep)
    wrong = sum(finding.severity == "error" for finding in findings)
    out.rows([asdict(finding) for finding in findings], columns.FINDINGS, empty="[green]verified[/]: every invariant holds.")
    if findings:
        late = len(findings) - wrong
        out.say(f"{wrong} errors, {late} blocks with late rows." if wrong else f"No errors; {late} blocks have late rows.")
    raise typer.Exit(1 if wrong else 0)


def bench(
    context: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(help="measurements; all without it", show_default=False)] = None,
    rows: Annotated[int, typer.Option(help="rows of the backlog that is drained")] = 50_000_000,
    json_path: Annotated[Path | None, typer.Option("--json", help="write the figures to this file", show_default=False)] = None,
) -> None:
    """Measure this machine: the folder bench/ of the project."""
    project = settings_of(context).project
    sys.path.insert(0, str(project))
    if find_spec("bench") is None or find_spec("bench.main") is None:
        raise ConfigError(
            f"there is no bench/main.py in {project}; it is part of the repository of dwh-assets, not of its package."
        )
    raise typer.Exit(import_module("bench.main").main(names or [], rows=rows, json_path=json_path))
