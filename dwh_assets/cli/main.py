"""The `dwh` command: its commands, and what becomes of errors."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from dwh_assets.cli import (
    acting,
    advising,
    asking,
    auditing,
    backfilling,
    backing,
    batches,
    chaos,
    cleaning,
    configuring,
    doctoring,
    dropping,
    events,
    lineage,
    looking,
    maintaining,
    making,
    metering,
    noting,
    previewing,
    profiling,
    projects,
    proving,
    repairing,
    replaying,
    reporting,
    restating,
    roles,
    rolling,
    running,
    table,
    testing,
    tracing,
    working,
)
from dwh_assets.cli.logs import keep_traceback
from dwh_assets.cli.output import Printer, warn
from dwh_assets.config.settings import load_settings
from dwh_assets.model.errors import ConfigError, DwhError

_UNUSABLE = (PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError)  # files and folders of the person
HELP = """A data warehouse that loads itself, block by block, and can prove it.

Start here: [bold]dwh init shop[/], then [bold]dwh up[/] in that folder, then [bold]dwh status[/] in another terminal.
"""
EXIT_CODES = """[bold]Exit codes[/]: 0 ok · 1 not ok, or verify found something · 2 a person must act · 3 try again later ·
4 refused, another worker goes on · 130 interrupted.

[bold]Settings[/] come from DWH_* variables and dwh.toml; state lives in .dwh/ (DWH_HOME), the log in .dwh/logs/dwh.log."""

app = typer.Typer(
    help=HELP,
    epilog=EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=True,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        Printer().say(f"dwh {version('dwh-assets')}")
        raise typer.Exit


@app.callback()
def settings(
    context: typer.Context,
    home: Annotated[
        Path | None, typer.Option("--home", help="Folder of all state; DWH_HOME, default .dwh", show_default=False)
    ] = None,
    project: Annotated[
        Path | None,
        typer.Option("--project", help="Folder with lineage/ and sql/; DWH_PROJECT, default here", show_default=False),
    ] = None,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    given = {"home": home, "project": project}
    context.obj = load_settings(**{name: value for name, value in given.items() if value is not None})
    if (folder := str(context.obj.project)) not in sys.path:
        sys.path.append(folder)  # transforms and processors in Python lie in the project, as Dagster finds them there, too


_GROUPS = {
    "Begin": (projects.init, doctoring.doctor),
    "Load": (running.up, running.run, running.down, working.worker, batches.start, backfilling.backfill),
    "Look": (
        looking.status,
        looking.why,
        looking.blocks,
        looking.block,
        looking.log,
        looking.errors,
        looking.alerts,
        metering.metrics,
        advising.advise,
        reporting.report,
        tracing.trace,
        asking.sql,
        table.table,
        profiling.profile,
        asking.export,
    ),
    "Act by hand (each with --reason)": (
        acting.retry,
        acting.release,
        acting.skip,
        acting.reset,
        acting.unlock,
        backfilling.pause,
        backfilling.resume,
        restating.restate,
        repairing.repair,
        rolling.rollback,
        dropping.drop,
        batches.next_run,
    ),
    "Maintain": (maintaining.maintain, auditing.audit, backing.backup, backing.restore, backing.upgrade, cleaning.clean),
    "Describe": (previewing.preview, testing.test, replaying.replay),
    "Note": (noting.event,),
    "Prove": (proving.verify, chaos.chaos, proving.bench),
}
for _group, _commands in _GROUPS.items():
    for _command in _commands:
        app.command(rich_help_panel=_group)(_command)
app.add_typer(batches.app, name="batch", rich_help_panel="Load")
app.add_typer(configuring.app, name="config", rich_help_panel="Begin")
app.add_typer(events.letters, name="deadletter", rich_help_panel="Look")
app.add_typer(events.kafka, name="kafka", rich_help_panel="Load")
app.add_typer(making.app, name="new", rich_help_panel="Describe")
app.add_typer(lineage.app, name="lineage", rich_help_panel="Describe")
app.add_typer(roles.app, name="roles", rich_help_panel="Maintain")


def main() -> None:
    logging.captureWarnings(True)
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # else it writes to the terminal when a process is started
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command; errors become a message on stderr and an exit code."""
    logging.getLogger().addHandler(logging.NullHandler())  # until there is a log file, nothing is printed in its stead
    try:
        app(with_sample_size(arguments), prog_name="dwh")
    except SystemExit as end:
        if _was_interrupted(end):
            warn("dwh: interrupted. What was committed stays; nothing is half done.")
        return end.code if isinstance(end.code, int) else 0
    except DwhError as error:
        logging.getLogger(__name__).error("%s", error)
        warn(f"dwh: {error}")
        return error.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except _UNUSABLE as error:
        if error.filename is None:
            return _unexpected(error)
        warn(f"dwh: {error.filename}: {(error.strerror or 'cannot be used').lower()}. Nothing was changed after this was found.")
        return ConfigError.exit_code
    except Exception as error:  # noqa: BLE001 - the last resort: a short text for people, the traceback for those who repair
        return _unexpected(error)
    return 0


def _was_interrupted(end: SystemExit) -> bool:
    return isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt)


def with_sample_size(arguments: Sequence[str]) -> list[str]:
    """`--sample` alone means `--sample 10`."""
    words = [*arguments, ""]
    bare = [word == "--sample" and not after.isdecimal() for word, after in pairwise(words)]
    return [f"{word}=10" if is_bare else word for word, is_bare in zip(arguments, bare, strict=True)]


def _unexpected(error: Exception) -> int:
    file = keep_traceback(error, _home())
    logging.getLogger(__name__).exception("unexpected error")
    text = str(error).split("\n", 1)[0][:300]
    warn(f"dwh: an unexpected error, {type(error).__name__}: {text}\nThis should not happen. The whole story is in {file}")
    return 1


def _home() -> Path | None:
    try:
        return load_settings().home
    except DwhError:
        return None
