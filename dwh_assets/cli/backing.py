"""dwh backup, dwh restore, dwh upgrade: the control store kept, put back, and brought to the schema of this code."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from dwh_assets.cli.acting import require_reason
from dwh_assets.cli.confirm import confirm
from dwh_assets.cli.logs import log_to_file
from dwh_assets.cli.opening import require_warehouse, settings_of, who
from dwh_assets.cli.options import Json, Reason, Yes
from dwh_assets.cli.output import printer, working
from dwh_assets.config.settings import Settings
from dwh_assets.control.backups import Manifest, back_up, read_backup, refuse_running
from dwh_assets.control.backups import restore as put_back
from dwh_assets.control.database import Database
from dwh_assets.control.migrate import migrate, pending_migrations
from dwh_assets.control.server import store_url
from dwh_assets.engine.presence import pid_of_up, using_servers
from dwh_assets.model.errors import Refused

Folder = Annotated[Path, typer.Argument(help="a folder of its own for the backup", show_default=False)]


def backup(context: typer.Context, folder: Folder, as_json: Json = False) -> None:
    """Keep the control store (cursors, blocks, Lineage, catalog, Dagster's history) as it is now. Loading goes on meanwhile."""
    settings = settings_of(context)
    require_warehouse(settings)
    with _store(settings) as database, working("dumping the control store"):
        manifest = back_up(database, folder.absolute())
    out = printer(as_json)
    if as_json:
        out.json(asdict(manifest))
    else:
        out.say(f"{folder}: {_held(manifest)}, {manifest.bytes} bytes.")
        out.say(f"The rows are in {settings.warehouse_root}: keep a copy of that, made after this one.")


def restore(context: typer.Context, folder: Folder, reason: Reason = "", yes: Yes = False) -> None:
    """Put the control store back to the moment of a backup, all of it or nothing. Shows what goes, then asks."""
    require_reason("restore", reason)
    settings, out = settings_of(context), printer(False)
    manifest = read_backup(folder.absolute())
    _refuse_others(settings)
    with _store(settings) as database:
        refuse_running(database)
        out.say(f"{folder} holds {_held(manifest)}, made at {manifest.made_at} by dwh-assets {manifest.version}.")
        confirm(f"Replace the control store at {database.place} by it? What was loaded since then is loaded again.", yes)
        with working("restoring the control store"):
            put_back(database, folder.absolute(), manifest, who(), reason)
    with _store(settings) as database:
        migrate(database)
    out.say("Restored. `dwh verify` says whether the tables agree with it; if not, `dwh repair --reconcile --reason ...`.")


def upgrade(
    context: typer.Context,
    folder: Annotated[
        Path | None, typer.Option("--backup", help="Where the backup goes; default home/backups/TIME", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Bring the control store to the schema of this code, after a backup of it. Refuses one that is newer."""
    settings, out = settings_of(context), printer(as_json)
    require_warehouse(settings)
    with _store(settings) as database:
        pending = pending_migrations(database)
        if not pending:
            migrate(database)  # the views
            return out.json({"applied": [], "backup": None}) if as_json else out.say("The control store is up to date.")
        _refuse_others(settings, own=True)
        refuse_running(database)
        kept = (folder or settings.home / "backups" / f"{datetime.now(UTC):%Y%m%d-%H%M%S}").absolute()
        with working("dumping the control store"):
            back_up(database, kept)
        with working("migrating"):
            applied = migrate(database)
    if as_json:
        return out.json({"applied": applied, "backup": str(kept)})
    return out.say(f"Applied {', '.join(applied)}. The state before is in {kept}.")


def _held(manifest: Manifest) -> str:
    return f"{manifest.blocks} committed blocks and {len(manifest.tables)} tables"


@contextmanager
def _store(settings: Settings) -> Iterator[Database]:
    """The control store as it is: neither migrated nor asked for its schema."""
    log_to_file(settings)
    with using_servers(settings, spark=False):
        database = Database(store_url(settings), deadline=settings.deadline_seconds, size=1)
        try:
            yield database
        finally:
            database.close()


def _refuse_others(settings: Settings, own: bool = False) -> None:
    """Nobody else may work in this home. `own`: this command is one of those that do."""
    if (pid := pid_of_up(settings.home)) is not None:
        raise Refused(f"dwh up runs for {settings.home}, as process {pid}. Nothing was changed. End it with `dwh down`.")
    users = settings.home / "owned" / "users.lock"
    if own or not users.exists():
        return
    with users.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(f"another dwh command works in {settings.home}. Nothing was changed; wait for its end.") from None
