"""dwh roles: who may do what in the control store."""

from __future__ import annotations

import typer

from dwh_assets.cli.opening import control_store, settings_of
from dwh_assets.cli.output import Printer
from dwh_assets.config.settings import Settings
from dwh_assets.control.roles import ROLES, VARIABLES, apply_roles

app = typer.Typer(help="Roles of the control store: owner, worker, steward, viewer.", no_args_is_help=True)


@app.callback()
def roles() -> None:
    """Roles of the control store: owner, worker, steward, viewer."""


@app.command()
def apply(context: typer.Context) -> None:
    """Make the roles and give each its rights. Safe to repeat; passwords are read from DWH_WORKER_PASSWORD and the like."""
    make_roles(settings_of(context))


def make_roles(settings: Settings, create: bool = False) -> None:
    with control_store(settings, create) as database:
        named = apply_roles(database)
    out = Printer()
    out.say(f"rights given to dwh_owner (nobody logs in as it), {', '.join(ROLES.values())}.")
    for name, role in ROLES.items():
        done = "password set" if role in named else f"password unchanged; to set it, put it into {VARIABLES[name]} and repeat"
        out.say(f"{role}: {done}")
