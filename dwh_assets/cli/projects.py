"""dwh init: a small project that loads, made from the files of dwh_assets/template/."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from dwh_assets.cli.opening import settings_of
from dwh_assets.cli.output import Printer
from dwh_assets.cli.roles import make_roles
from dwh_assets.config.settings import load_settings
from dwh_assets.model.errors import ConfigError

TEMPLATE = Path(__file__).parents[1] / "template"
RENAMED = {"gitignore": ".gitignore"}  # under its own name it would rule what is kept of the template itself


def init(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a folder that is new or empty", show_default=False)],
    roles: Annotated[
        bool, typer.Option("--roles", help="Also make the control store and its roles; see `dwh roles apply --help`.")
    ] = False,
) -> None:
    """Make a small project: settings, a source of files with rows in it, two tables, a test, a README."""
    folder = folder.absolute()
    _require_room(folder)
    made = _write(folder)
    out = Printer()
    out.say(f"[green]made[/] {folder} with {made} files. Next:")
    out.say(f"  cd {_seen_from_here(folder)}\n  dwh doctor    [dim]# does this machine have what is needed?[/]")
    out.say("  dwh up        [dim]# loads the tables; README.md says what to try then[/]")
    if roles:
        _make_roles(folder, settings_of(context).postgres_url is None)


def _require_room(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file. Nothing was made; name a folder that is new or empty.")
    found = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    if not found:
        return
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    told = "It is a project already: `dwh up` runs it." if "lineage" in found else "Name a folder that is new or empty."
    raise ConfigError(f"{folder} is not empty: it holds {', '.join(found[:3])}{more}. Nothing was made. {told}")


def _write(folder: Path) -> int:
    """All files or none: the folder gets its name when it is whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        made = [_copy(file, fresh) for file in sorted(TEMPLATE.rglob("*")) if file.is_file() and "__pycache__" not in file.parts]
        fresh.chmod(0o777 & ~_umask())
        _put_in_place(fresh, folder)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    return len(made)


def _put_in_place(fresh: Path, folder: Path) -> None:
    if not folder.exists():
        fresh.rename(folder)
        return
    for path in fresh.iterdir():  # the folder itself stays: a shell may be in it
        path.rename(folder / path.name)
    fresh.rmdir()


def _copy(file: Path, fresh: Path) -> Path:
    name = file.relative_to(TEMPLATE)
    target = fresh / name.with_name(RENAMED.get(name.name, name.name))
    target.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copyfile(file, target))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _seen_from_here(folder: Path) -> str:
    return str(folder.relative_to(Path.cwd())) if folder.is_relative_to(Path.cwd()) else str(folder)


def _make_roles(folder: Path, embedded: bool) -> None:
    own = {"home": folder / ".dwh"} if embedded else {}
    make_roles(load_settings(project=folder, **own), create=True)
