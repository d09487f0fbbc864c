"""Asking before something is changed: only on a terminal, and not when the person has said yes already."""

from __future__ import annotations

import sys

import typer

from dwh_assets.cli.output import stderr
from dwh_assets.model.errors import Refused


def confirm(question: str, yes: bool) -> None:
    """Go on only if the person agrees; in scripts the command itself is the agreement."""
    if yes or not sys.stdin.isatty():
        return
    stderr().print(question, soft_wrap=True, markup=False)
    if not typer.confirm("Go on?", err=True):
        raise Refused("Nothing was changed.")
