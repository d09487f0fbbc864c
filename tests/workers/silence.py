"""Time that passes for the manager, moved in the database: no test waits it out, and no slow process falls silent meanwhile."""

from __future__ import annotations

import psutil

from dwh_assets.control.database import Database
from tests.faults.nursery import eventually

LONG = 600.0  # the settings of workers in tests: a silence and an expiry that nothing here takes
GIVEN = "select from dwh.assignment a join dwh.worker w on w.id = a.worker where w.pid = %(pid)s and a.finished_at is null"
IDLE = """select pg_terminate_backend(pid) from pg_stat_activity
where client_port = any(%(ports)s) and state like 'idle in transaction%%'"""


def listened(database: Database) -> None:
    """The manager has listened for as long as a worker may be silent."""
    database.execute(
        "update dwh.manager set listens_since = listens_since - make_interval(secs => %(long)s + 1)"
        " where listens_since > clock_timestamp() - make_interval(secs => %(long)s)",
        long=LONG,
    )


def not_accepted(database: Database) -> None:
    """What was given and not accepted until now has expired."""
    database.execute(
        "update dwh.assignment set assigned_at = assigned_at - make_interval(secs => %(long)s + 1) where status = 'ASSIGNED'",
        long=LONG,
    )


def unheard(database: Database, pid: int) -> None:
    """Nothing was heard of the worker of this process for as long as it may be silent, up to now."""
    database.execute(
        "update dwh.worker set seen_at = seen_at - make_interval(secs => %(long)s + 1)"
        " where pid = %(pid)s and seen_at > clock_timestamp() - make_interval(secs => %(long)s)",
        pid=pid,
        long=LONG,
    )


def fall_silent(database: Database, pid: int) -> None:
    """So much time passes while a process is stopped or dead that what it was given is lost.

    Again and again: what it said before may be heard only now, and a manager that takes over begins to listen.
    """

    def look() -> bool | None:
        database.execute(IDLE, ports=_ports(pid))  # as Postgres does by its time limit
        return is_lost(database, pid)

    eventually(look, f"what process {pid} was given is lost")


def is_lost(database: Database, pid: int) -> bool | None:
    """After so much time in which nothing was heard of this process: is nothing given to it any more?"""
    unheard(database, pid)
    listened(database)
    return None if database.fetch(GIVEN, pid=pid) else True


def _ports(pid: int) -> list[int]:
    try:
        return [connection.laddr.port for connection in psutil.Process(pid).net_connections("tcp")]
    except psutil.NoSuchProcess:  # dead: its connections are gone with it
        return []
