"""Commands of dwh, held against the real tree of commands, options and arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from typer._click.core import Command, Context, Parameter
from typer._click.exceptions import UsageError
from typer.core import TyperGroup
from typer.main import get_command

from dwh_assets.cli.main import app, with_sample_size

ROOT_COMMAND = get_command(app)


@dataclass(frozen=True)
class Found:
    """A command of the tree, and the words behind its name."""

    path: tuple[str, ...]
    command: Command
    rest: list[str]

    def takes(self, option: str) -> bool:
        return any(option in _names(parameter) for parameter in self.command.params)

    @property
    def unknown_options(self) -> list[str]:
        known = {name for parameter in self.command.params for name in _names(parameter)} | {"-h", "--help"}
        given = [word.partition("=")[0] for word in self.rest if word.startswith("-") and len(word) > 1]
        return [word for word in given if word not in known]

    def parse(self) -> dict[str, Any]:
        """Its parameters by name; raises where an option is unknown, an argument is missing or a value does not fit."""
        parent = Context(ROOT_COMMAND, info_name="dwh")
        return self.command.make_context(" ".join(self.path), list(self.rest), parent=parent).params


def command_of(words: Sequence[str]) -> Found:
    """The command that these words call; raises where there is none of that name."""
    command, path, rest = ROOT_COMMAND, list[str](), with_sample_size(words)
    while isinstance(command, TyperGroup):
        name = rest.pop(0) if rest else ""
        if name not in command.commands:
            raise UsageError(f"there is no command dwh {' '.join([*path, name])}")
        command = command.commands[name]
        path.append(name)
    return Found(tuple(path), command, rest)


def _names(parameter: Parameter) -> list[str]:
    return [*parameter.opts, *parameter.secondary_opts]
