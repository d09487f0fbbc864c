"""Looking at a control store without changing it: is it there, which Postgres is it, does its schema fit this code?"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row

from dwh_assets.control import statements
from dwh_assets.control.database import one
from dwh_assets.control.server import binaries
from dwh_assets.control.statements import sql
from dwh_assets.model.errors import ConfigError, ControlStoreDown

LEAST = 15  # the oldest Postgres that has what the control store uses: unique nulls not distinct


@dataclass(frozen=True)
class StoreState:
    version: str
    number: int  # of the major version
    checksums: bool  # pages carry them, so a damaged disk is noticed
    pending: int | None  # migrations that this code would apply; None: there is no schema yet
    unknown: int  # migrations that this code does not know: it is older


def inspect_store(url: str, seconds: int = 5) -> StoreState:
    """Nothing is written; a store that does not answer is ControlStoreDown."""
    try:
        with psycopg.Connection[DictRow].connect(url, connect_timeout=seconds, row_factory=dict_row) as connection:
            connection.read_only = True
            facts = one(connection.execute(sql("store_facts")))
            versions = [row["version"] for row in connection.execute(sql("read_ledger"))] if facts["has_ledger"] else None
    except psycopg.ProgrammingError:
        raise ConfigError("DWH_POSTGRES_URL is not the URL of a Postgres database.") from None
    except psycopg.OperationalError as error:
        raise ControlStoreDown(str(error).strip().splitlines()[-1]) from None
    known = {int(file.name[:4]) for file in statements.migrations()}
    pending = None if versions is None else len(known - set(versions))
    unknown = 0 if versions is None else len(set(versions) - known - {0})
    return StoreState(facts["version"], facts["number"], facts["checksums"], pending, unknown)


def embedded_version() -> str:
    """Of the Postgres in the wheel."""
    ended = subprocess.run([str(binaries() / "postgres"), "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"\d+(\.\d+)?", ended.stdout)
    return found[0] if found else ended.stdout.strip()


def embedded_checksums(home: Path) -> bool | None:
    """Whether the data of a stopped embedded Postgres carries checksums; None where there is none or it cannot be read."""
    ended = subprocess.run(
        [str(binaries() / "pg_controldata"), "-D", str(home / "postgres" / "data")],
        capture_output=True, text=True, env={"LC_ALL": "C"},
    )  # fmt: skip
    found = re.search(r"page checksum version:\s*(\d+)", ended.stdout)
    return None if found is None else found[1] != "0"


def place_of(url: str) -> str:
    """Host, port and database; never the password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return "an address that cannot be read"
    return f"{parts.get('host', 'localhost')}:{parts.get('port', 5432)}/{parts.get('dbname', '')}"
