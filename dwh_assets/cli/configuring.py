"""dwh config: the settings that are in force, and where each came from."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Annotated, Any

import typer
from rich.markup import escape

from dwh_assets.cli.opening import settings_of
from dwh_assets.cli.options import Csv, Json
from dwh_assets.cli.output import Column, column, printer
from dwh_assets.config.origins import setting_named, settings_shown, strange_variables
from dwh_assets.model.duration import format_duration

app = typer.Typer(help="Settings of this project.", no_args_is_help=True)


@app.callback()
def config() -> None:
    """Settings of this project."""


@app.command()
def show(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="one setting; all without it", show_default=False)] = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Every setting, its value, and where it came from: an option, the environment, dwh.toml, or its default."""
    out, given = printer(as_json, as_csv), context.find_root().params
    shown = settings_shown(settings_of(context), [option for option in ("home", "project") if given.get(option) is not None])
    chosen = shown if name is None else [setting_named(name, shown)]
    out.rows([asdict(setting) for setting in chosen], COLUMNS)
    for text in strange_variables():
        out.say(f"[yellow]{escape(text)}[/]")


def _value(value: Any) -> str:
    if value is None:
        return "[dim]none[/]"
    if isinstance(value, timedelta):
        return format_duration(value)
    return escape(str(value).lower() if isinstance(value, bool) else str(value))


def _origin(value: str) -> str:
    return f"[dim]{value}[/]" if value == "default" else value


COLUMNS = [
    column("setting", "variable"),
    Column("value", lambda row: _value(row["value"]), folds=True),
    column("from", "origin", _origin),
    column("means", "description", folds=True, wide=True),
]
