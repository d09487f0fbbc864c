"""Backup and restore of the control store: one dump of one moment and its manifest, put back as a whole or not at all."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from dwh_assets.control import statements
from dwh_assets.control.database import Database, one
from dwh_assets.control.migrate import Schema, known_migrations
from dwh_assets.control.roles import roles_applied
from dwh_assets.control.server import binaries  # the programs of the wheel serve a server elsewhere, too
from dwh_assets.control.statements import sql
from dwh_assets.model.errors import ConfigError, ControlStoreDown, DamagedData, Refused

logger = logging.getLogger(__name__)
SCHEMAS = ("dwh", "iceberg", "dagster", "sch", "kettle", "direct", "broker", "ems")
DUMP, MANIFEST, FORMAT = "control.dump", "manifest.json", 1


@dataclass(frozen=True)
class Manifest:
    """What a backup holds. `tables`: where the metadata of each table lay at that moment."""

    format: int
    made_at: str
    version: str
    place: str
    postgres: int
    schemas: list[str]
    migrations: list[str]
    tables: dict[str, str]
    blocks: int
    bytes: int
    sha256: str


def back_up(database: Database, folder: Path) -> Manifest:
    """Dump the control store as it is at one moment. Loading goes on meanwhile. The folder is there when all of it is."""
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder} is not empty; a backup gets a folder of its own. Nothing was written.")
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True, mode=0o700)
    try:
        manifest = _dump(database, partial)
        (partial / MANIFEST).write_text(json.dumps(asdict(manifest), indent=2) + "\n", encoding="utf-8")
        if folder.exists():
            folder.rmdir()
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return manifest


def _dump(database: Database, folder: Path) -> Manifest:
    with database.transaction() as connection:
        connection.execute("set transaction isolation level repeatable read read only")
        facts = one(connection.execute(sql("backup_facts"), {"schemas": list(SCHEMAS)}))
        tables = {row["name"]: row["location"] for row in connection.execute(sql("table_locations"))}
        # pg_dump sees what this transaction sees, so that the manifest tells of the very same moment.
        chosen = [f"--schema={schema}" for schema in facts["schemas"]]
        run(database, "pg_dump", f"--snapshot={facts['snapshot']}", "--format=custom", "--no-owner", *chosen, "-f", folder / DUMP)
        server = connection.info.server_version
    return Manifest(
        format=FORMAT,
        made_at=facts["now"].isoformat(),
        version=version("dwh-assets"),
        place=database.place,
        postgres=server,
        schemas=facts["schemas"],
        migrations=facts["migrations"],
        tables=tables,
        blocks=facts["blocks"],
        bytes=(folder / DUMP).stat().st_size,
        sha256=_sha256(folder / DUMP),
    )


def read_backup(folder: Path, schema: Schema | None = None) -> Manifest:
    """The manifest of a backup that is whole and that this code understands."""
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        manifest = Manifest(**found)
    except FileNotFoundError:
        raise ConfigError(f"{folder} holds no backup: there is no {MANIFEST} in it. Nothing was changed.") from None
    except (ValueError, TypeError) as error:
        raise DamagedData(f"the backup in {folder} is damaged: its {MANIFEST} cannot be read. Nothing was changed.") from error
    newer = [name for name in manifest.migrations if name not in known_migrations(schema)]
    if manifest.format > FORMAT or newer:
        raise ConfigError(
            f"the backup in {folder} was made by dwh-assets {manifest.version}, whose control store is newer than this code's"
            f" ({', '.join(newer) or 'its form'}).\nNothing was changed. Install that version, or a later one."
        )
    dump = folder / DUMP
    if not dump.is_file() or dump.stat().st_size != manifest.bytes or _sha256(dump) != manifest.sha256:
        raise DamagedData(
            f"the backup in {folder} is damaged: {DUMP} is not the file that its manifest tells of.\n"
            "Nothing was changed. Take another backup."
        )
    return manifest


def restore(database: Database, folder: Path, manifest: Manifest, who: str, reason: str) -> None:
    """Put the control store back to the moment of the backup, in one transaction: all of it, or nothing. Roles that had rights
    in what is replaced have them again."""
    refuse_running(database)
    with database.transaction() as connection:
        ruled = roles_applied(connection)
    with tempfile.TemporaryDirectory() as scratch:
        script = Path(scratch) / "restore.sql"
        # Without rights: roles belong to a server, and this one may not have those of the backup.
        run(database, "pg_restore", "--no-owner", "--no-privileges", "-f", script, folder / DUMP, connects=False)
        _portable(script)
        before, after = Path(scratch) / "before.sql", Path(scratch) / "after.sql"
        dropped = "".join(f"drop schema if exists {schema} cascade;\n" for schema in SCHEMAS)
        before.write_text(f"set client_min_messages to warning;\n{dropped}", encoding="utf-8")
        text = f"restored from a backup of {manifest.made_at}: {reason}"
        after.write_text(
            "insert into dwh.event_log (kind, code, who, text) values ('act', 'RESTORED', :'who', :'text');\n", encoding="utf-8"
        )
        rights = (statements.folder() / "roles.sql",) if ruled else ()
        files = [part for file in (before, script, *rights, after) for part in ("-f", file)]
        given = ("-v", f"who={who}", "-v", f"text={text}")
        run(database, "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", *given, "--single-transaction", *files)


def refuse_running(database: Database) -> None:
    """Whoever loads now would go on with what is no longer true. A store that is damaged cannot say who does: connections can."""
    at_work = [row["name"] for row in database.fetch(sql("who_is_connected"))]
    try:
        if database.fetch(sql("ledger_exists"))[0]["found"]:
            at_work += [row["name"] for row in database.fetch(sql("who_is_at_work"))]
    except DamagedData as error:
        logger.warning("%s", error)
    if at_work:
        raise Refused(
            f"the warehouse at {database.place} is running: {', '.join(at_work[:5])}. Nothing was changed.\n"
            "End it first: `dwh down`, and whatever else loads it or looks at it."
        )


def refuse_loading(database: Database) -> None:
    """A topic that is being loaded now would be published to a table that is being exchanged."""
    if held := database.fetch("select name from dwh.topic where lease_until > clock_timestamp() order by name limit 5"):
        raise Refused(
            f"topics are being loaded now: {', '.join(row['name'] for row in held)}. Nothing was changed.\n"
            "End what loads them (`dwh down`), or wait until the leases of a dead worker have run out."
        )


def _portable(script: Path) -> None:
    """A server older than the programs does not know this setting, which says what holds anyhow."""
    text = script.read_text(encoding="utf-8")
    script.write_text(text.replace("SET transaction_timeout = 0;\n", ""), encoding="utf-8")


def run(database: Database, program: str, *arguments: Any, connects: bool = True) -> None:
    """One of Postgres's own programs. The password goes by its environment, where no list of processes shows it."""
    parts = conninfo_to_dict(database.url)
    secret = str(parts.pop("password", "") or "")
    parts.pop("options", None)
    place = [f"--dbname={' '.join(f'{key}={_quoted(str(value))}' for key, value in parts.items())}"] if connects else []
    environment = {**os.environ, "PGPASSWORD": secret, "LC_ALL": "C"}
    words = [str(binaries() / program), *place, *map(str, arguments)]
    ended = subprocess.run(words, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if ended.returncode:
        why = (ended.stderr.strip().splitlines() or ["it did not say why"])[0]
        raise ControlStoreDown(f"{program} failed at {database.place}; nothing was changed: {why}")


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
