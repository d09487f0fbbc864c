"""Which dwh processes work in a home: one `dwh up` at most, and the last one to leave ends the servers they started."""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from dwh_assets.config.settings import Settings
from dwh_assets.control.server import EmbeddedPostgres
from dwh_assets.model.errors import AlreadyRunning, Transient
from dwh_assets.model.module import Lineage
from dwh_assets.warehouse.background import Background

_log = logging.getLogger(__name__)


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """Be the one `dwh up` of this home. The kernel frees the lock when the process dies, however it dies."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "up.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise AlreadyRunning(
                f"dwh up already runs for {home}, as process {file.read().strip() or '?'}. Nothing was started or changed.\n"
                "Look at it with `dwh status`, end it with `dwh down`, or set DWH_HOME to another folder for a second warehouse."
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def pid_of_up(home: Path) -> int | None:
    """The process of the `dwh up` that runs here."""
    path = home / "up.lock"
    if not path.exists():
        return None
    with path.open("r") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            text = file.read().strip()
            return int(text) if text else None
    return None


@contextmanager
def present(home: Path, stop: Callable[[str], None]) -> Iterator[Callable[[str], None]]:
    """Work in this home. What was claimed by `owns(name)`, here or by a process that died, is stopped by the last to leave."""
    owned = home / "owned"
    owned.mkdir(parents=True, exist_ok=True)
    with (owned / "users.lock").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        try:
            yield lambda name: (owned / name).touch()
        finally:
            _leave(users.fileno(), owned, stop)


def _leave(users: int, owned: Path, stop: Callable[[str], None]) -> None:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return  # another dwh command still uses the servers; it will end them
    for name in ("spark", "kafka", "postgres"):  # Spark first: its catalog is in Postgres
        if (owned / name).exists():
            stop(name)
            (owned / name).unlink(missing_ok=True)


@contextmanager
def nobody_else(home: Path) -> Iterator[None]:
    """Be the only dwh process of this home, with no server running; refused where something runs."""
    if (pid := pid_of_up(home)) is not None:
        raise AlreadyRunning(
            f"dwh up runs for {home}, as process {pid}. Nothing was changed; end it with `dwh down`, then ask again."
        )
    owned = home / "owned"
    owned.mkdir(parents=True, exist_ok=True)
    with (owned / "users.lock").open("a") as users:
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning(
                f"another dwh command works in {home}. Nothing was changed; try again when it has ended."
            ) from None
        if EmbeddedPostgres(home).running() or any(Background(home / name, home).running() for name in ("spark", "kafka")):
            raise AlreadyRunning(
                f"servers that a killed dwh left behind run in {home}. Nothing was changed; `dwh down` ends them."
            )
        yield


@contextmanager
def using_servers(settings: Settings, spark: bool = True) -> Iterator[None]:
    """Use the servers of this home; those that do not run yet will be started here, so they are ended with the last user."""
    with present(settings.home, partial(stop_server, settings)) as owns:
        if settings.postgres_url is None and not EmbeddedPostgres(settings.home).running():
            owns("postgres")
        if spark and settings.spark_remote is None and not _spark_runs(settings):
            owns("spark")
        yield


def needs_broker(lineage: Lineage) -> bool:
    """A source in it is on a broker and does not say on which."""
    return any(source.active and source.kafka is not None and not source.kafka.brokers for source in lineage.sources)


def start_broker(settings: Settings) -> str:
    """Where the broker is of sources that name none. The one of this home is started if it does not run."""
    if settings.kafka_bootstrap is not None:
        return settings.kafka_bootstrap
    from dwh_assets.sources.kafka.server import KafkaServer

    server = KafkaServer(settings)
    if not server.running():
        (settings.home / "owned" / "kafka").touch()  # as `present` does for those that are known before: the last user ends it
    return server.start()


@contextmanager
def keeping_broker(settings: Settings, stop: threading.Event, every: float = 5.0) -> Iterator[None]:
    """Start the broker of this home again when it dies, until `stop` is set: nobody else would."""

    def keep() -> None:
        while not stop.wait(every):
            try:
                start_broker(settings)
            except Transient as error:
                _log.warning("%s", error)

    thread = threading.Thread(target=keep, name="broker", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _spark_runs(settings: Settings) -> bool:
    from dwh_assets.warehouse.server import SparkServer  # late: Spark's libraries take a second that looking does not need

    return SparkServer(settings).running()


def stop_server(settings: Settings, name: str) -> None:
    """End one of the servers of this home."""
    with undisturbed():
        if name == "postgres":
            EmbeddedPostgres(settings.home).stop()
        elif name == "kafka":
            from dwh_assets.sources.kafka.server import KafkaServer

            KafkaServer(settings).stop()
        else:
            from dwh_assets.warehouse.server import SparkServer

            SparkServer(settings).stop()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let the ending of servers finish: another Ctrl-C now would leave them behind."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
