"""The roles of the control store: who may do what, applied as a whole; passwords come from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping

import psycopg
from psycopg import sql as compose
from psycopg.rows import DictRow

from dwh_assets.control import statements
from dwh_assets.control.database import Database, one
from dwh_assets.control.statements import sql
from dwh_assets.model.errors import ConfigError, NotPermitted

OWNER = "dwh_owner"
ROLES = {"worker": "dwh_worker", "steward": "dwh_steward", "viewer": "dwh_viewer"}
VARIABLES = {name: f"DWH_{name.upper()}_PASSWORD" for name in ROLES}


def apply_roles(database: Database, environment: Mapping[str, str] | None = None) -> list[str]:
    """Give each role its rights, all or none; returns the roles whose password was set from the environment."""
    environment = os.environ if environment is None else environment
    given = {role: environment[VARIABLES[name]] for name, role in ROLES.items() if environment.get(VARIABLES[name])}
    try:
        with database.transaction() as connection:
            grant_roles(connection)
            for role, password in given.items():
                _set_password(connection, role, password)
    except NotPermitted as error:
        raise ConfigError(
            f"this login may not make roles in the control store at {database.place}: {error.__cause__}\n"
            "Nothing was changed. Set DWH_POSTGRES_URL to a login that owns the database and may create roles."
        ) from error
    return list(given)


def grant_roles(connection: psycopg.Connection[DictRow]) -> None:
    connection.execute(statements.text(statements.folder() / "roles.sql"))


def roles_applied(connection: psycopg.Connection[DictRow]) -> bool:
    return one(connection.execute(sql("roles_applied")))["applied"]


def _set_password(connection: psycopg.Connection[DictRow], role: str, password: str) -> None:
    # Only its hash is sent: a statement can end in the server's log, or in an error.
    hashed = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
    connection.execute(compose.SQL("alter role {} password {}").format(compose.Identifier(role), compose.Literal(hashed)))
