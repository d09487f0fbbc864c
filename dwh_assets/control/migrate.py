"""Bring a control database to the schema of this code: migrations forward only, then the views."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

from psycopg import Connection
from psycopg.rows import DictRow

from dwh_assets.control import statements
from dwh_assets.control.database import Database, one
from dwh_assets.control.roles import grant_roles, roles_applied
from dwh_assets.control.statements import sql
from dwh_assets.model.errors import ConfigError, NotPermitted

_VIEWS = 0  # the ledger's version of the set of views
_EARLIER = re.compile(r"^-- earlier: ([0-9a-f]{64})$", re.MULTILINE)


@dataclass(frozen=True)
class Schema:
    """The files that make up the control store."""

    migrations: list[Path] = field(default_factory=statements.migrations)
    views: list[Path] = field(default_factory=statements.views)


def migrate(database: Database, schema: Schema | None = None) -> list[str]:
    """Apply what is missing and return its names. Safe to call from many processes: each step looks again under the lock."""
    schema = schema or Schema()
    if _is_current(database, schema):
        return []  # so that a login without the right to change the schema can work
    try:
        return _migrate(database, schema)
    except NotPermitted as error:
        raise ConfigError(
            f"the control database {database.place} must be brought to the schema of this code, and this login may not do it.\n"
            "Nothing was changed. Run one command, for example dwh status, with DWH_POSTGRES_URL set to the login that made it."
        ) from error


def prepare(database: Database, schema: Schema | None = None) -> None:
    """For those who come to use a control store: an empty database becomes one, an earlier one is left to `dwh upgrade`, which
    makes a backup first. Views are renewed: they hold nothing."""
    schema = schema or Schema()
    if _is_current(database, schema):
        return  # one look, as every command begins with this
    if not _is_empty(database) and (pending := pending_migrations(database, schema)):
        raise ConfigError(
            f"the control database {database.place} is of an earlier version: {', '.join(pending)} must be applied to it.\n"
            "Nothing was changed. `dwh upgrade` does it, after a backup; end what runs of the earlier version before."
        )
    migrate(database, schema)


def pending_migrations(database: Database, schema: Schema | None = None) -> list[str]:
    """What `migrate` would apply; an error where the control store is newer than this code."""
    schema = schema or Schema()
    with database.transaction() as connection:
        if not one(connection.execute(sql("ledger_exists")))["found"]:
            return [file.stem for file in schema.migrations]
        ledger = {row["version"]: row for row in connection.execute(sql("read_ledger"))}
    _verify(ledger, schema, database.place)
    return [file.stem for file in schema.migrations if _version(file) not in ledger]


def known_migrations(schema: Schema | None = None) -> list[str]:
    return [file.stem for file in (schema or Schema()).migrations]


def _migrate(database: Database, schema: Schema) -> list[str]:
    with database.transaction() as connection:
        connection.execute(sql("lock_migration"))
        connection.execute(statements.ledger())
        if not connection.execute(sql("read_ledger")).fetchall():
            # All or nothing: a half made store would look like an earlier one.
            return [*(_apply(connection, file) for file in schema.migrations), _renew_views(connection, schema.views)]
    applied = []
    while (name := _step(database, schema)) is not None:
        applied.append(name)
    return applied


def _is_empty(database: Database) -> bool:
    with database.transaction() as connection:
        known = one(connection.execute(sql("ledger_exists")))["found"]
        return not known or not connection.execute(sql("read_ledger")).fetchall()


def _is_current(database: Database, schema: Schema) -> bool:
    with database.transaction() as connection:
        if not one(connection.execute(sql("ledger_exists")))["found"]:
            return False
        ledger = {row["version"]: row for row in connection.execute(sql("read_ledger"))}
    _verify(ledger, schema, database.place)
    pending = [file for file in schema.migrations if _version(file) not in ledger]
    return not pending and ledger.get(_VIEWS, {}).get("checksum") == _checksum(schema.views)


def _step(database: Database, schema: Schema) -> str | None:
    with database.transaction() as connection:
        connection.execute(sql("lock_migration"))
        ledger = {row["version"]: row for row in connection.execute(sql("read_ledger"))}
        _verify(ledger, schema, database.place)
        pending = [file for file in schema.migrations if _version(file) not in ledger]
        if pending:
            return _apply(connection, pending[0])
        if ledger.get(_VIEWS, {}).get("checksum") != _checksum(schema.views):
            return _renew_views(connection, schema.views)
    return None


def _apply(connection: Connection[DictRow], file: Path) -> str:
    connection.execute(sql("drop_views"))
    connection.execute(sql("forget_views"))
    connection.execute(statements.text(file))
    _note(connection, _version(file), file.stem, _checksum([file]))
    return file.stem


def _renew_views(connection: Connection[DictRow], files: list[Path]) -> str:
    connection.execute(sql("drop_views"))
    for file in files:
        connection.execute(statements.text(file))
    _note(connection, _VIEWS, "views", _checksum(files))
    if roles_applied(connection):
        grant_roles(connection)  # rights go with a dropped view
    return "views"


def _note(connection: Connection[DictRow], version: int, name: str, checksum: str) -> None:
    connection.execute(sql("write_ledger"), {"version": version, "name": name, "checksum": checksum})


def _verify(ledger: dict[int, DictRow], schema: Schema, place: str) -> None:
    files = {_version(file): file for file in schema.migrations}
    for version, row in ledger.items():
        if version == _VIEWS:
            continue
        if version not in files:
            raise ConfigError(
                f"the control database {place} has migration {row['name']}, which this code does not know: it is newer.\n"
                "Nothing was changed. Install the version of dwh-assets that made it, or a later one."
            )
        if row["checksum"] not in (_checksum([files[version]]), *_earlier(files[version])):
            raise ConfigError(
                f"migration {row['name']} was changed after it was applied to the control database {place}.\n"
                f"Nothing was changed. Restore {files[version].name} as it was and write the change as a new migration."
            )


def _version(file: Path) -> int:
    return int(file.name[:4])


def _earlier(file: Path) -> list[str]:
    """Checksums of texts that it had before: a store made by one of them is brought to the same by a later migration."""
    return _EARLIER.findall(statements.text(file))


def _checksum(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.name}\n{statements.text(file)}\n".encode())
    return digest.hexdigest()
