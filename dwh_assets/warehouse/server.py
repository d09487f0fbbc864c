"""The Spark Connect server of one machine: started once, shared by every process, found again when it was killed."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil
from pyspark.sql.connect.session import SparkSession

from dwh_assets.config.machine import free_port, locked, write_private
from dwh_assets.config.settings import Settings
from dwh_assets.model.errors import SparkDown
from dwh_assets.warehouse import java
from dwh_assets.warehouse.session import SESSION_DEFAULTS, open_plain_session

_MAIN = "org.apache.spark.sql.connect.service.SparkConnectServer"


class SparkServer:
    """A Spark Connect server whose pid, port and scratch files live in `home/spark`; or the one that `spark_remote` names."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._folder = settings.home / "spark"
        self._log = settings.home / "logs" / "spark.log"

    def start(self, timeout: float = 120) -> str:
        """Start the server unless it runs, and return its sc:// URL."""
        if self._settings.spark_remote:
            return self._settings.spark_remote
        with locked(self._folder / "lock"):
            if not self.running():
                self._end_remains()
                self._launch(time.monotonic() + timeout)
        return self.url

    @property
    def url(self) -> str:
        return self._settings.spark_remote or f"sc://127.0.0.1:{self._port()}"

    def running(self) -> bool:
        """True if the process we started lives and listens."""
        if self._settings.spark_remote:
            return True
        return self._process() is not None and _listens(self._port())

    def stop(self) -> None:
        """End the server if we started it; an outside one is left alone."""
        if self._settings.spark_remote:
            return
        with locked(self._folder / "lock"):
            self._end_remains()

    def warm(self) -> None:
        """Run a small write, read and join, so that the first block does not pay for loading Spark's classes."""
        with tempfile.TemporaryDirectory(prefix="warm-", dir=self._folder) as folder:
            session = open_plain_session(self.url)
            try:
                _exercise(session, folder)
            finally:
                session.stop()  # before the folder goes: nothing of the session may still write there

    def memory(self) -> int | None:
        """Resident bytes of the started server; none where it runs elsewhere."""
        process = None if self._settings.spark_remote else self._process()
        return None if process is None else process.memory_info().rss

    def _process(self) -> psutil.Process | None:
        # The start time goes with the pid: after a reboot or a long time the same number may be a stranger's.
        try:
            pid, started = (self._folder / "pid").read_text().split()
            process = psutil.Process(int(pid))
            alive = process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - float(started)) < 1
        except (FileNotFoundError, ValueError, psutil.NoSuchProcess):
            return None
        return process if alive else None

    def _port(self) -> int:
        return int((self._folder / "port").read_text())

    def _end_remains(self) -> None:
        for end in (psutil.Process.terminate, psutil.Process.kill):
            process = self._process()
            if process is None:
                break
            end(process)
            _wait(lambda: self._process() is None, time.monotonic() + 20)
        (self._folder / "pid").unlink(missing_ok=True)

    def _launch(self, deadline: float) -> None:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        port = free_port()
        write_private(self._folder / "port", str(port))
        pid = _spawn(self._command(port), self._log, self._folder, self._environment())
        write_private(self._folder / "pid", f"{pid} {_birth(pid)}")
        _wait(lambda: _listens(port) or self._process() is None, deadline)
        if not self.running():
            self._end_remains()
            raise SparkDown(f"Spark did not start; the reason is at the end of {self._log}\n{_tail(self._log)}")

    def _command(self, port: int) -> list[str]:
        runtime = java.find_java()
        conf = [word for name, value in self._conf(port).items() for word in ("--conf", f"{name}={value}")]
        return [str(runtime), f"-Xmx{self._settings.spark_memory}", *java.options(), "-cp", java.class_path(runtime),
                "org.apache.spark.deploy.SparkSubmit", "--class", _MAIN, "--master", self._settings.spark_master,
                *conf, "spark-internal"]  # fmt: skip

    def _conf(self, port: int) -> dict[str, str]:
        return {
            "spark.app.name": "dwh",
            "spark.driver.memory": self._settings.spark_memory,
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(port),
            "spark.ui.enabled": "false",
            "spark.local.dir": str(self._folder / "local"),
            "spark.sql.warehouse.dir": str(self._folder / "unused"),
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            # Of 60 flipped bits 27 gave wrong results in silence without it, none with it.
            "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
            "spark.redaction.regex": "(?i)secret|password|token|access[.]?key|credential",
            **SESSION_DEFAULTS,
        }

    def _environment(self) -> dict[str, str]:
        (self._folder / "local").mkdir(parents=True, exist_ok=True)
        return shared_environment(os.environ) | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(java.package_folder("pyspark"))}


def shared_environment(given: Mapping[str, str]) -> dict[str, str]:
    """What the server may know of our environment: not our settings, and no URL with a password, as sources have."""
    return {
        name: value
        for name, value in given.items()
        if not name.startswith(("SPARK_", "DWH_")) and not re.search(r"://[^/@\s]*:[^/@\s]+@", value)
    }


def _spawn(command: list[str], log: Path, folder: Path, environment: dict[str, str]) -> int:
    # A session of its own, so that Ctrl-C in the terminal reaches us and we stop it in order; and by a shell that
    # ends at once, so that it is nobody's child: a server killed later leaves no zombie with us.
    shell = ["/bin/sh", "-c", 'log=$1; shift; "$@" >>"$log" 2>&1 </dev/null & echo $!', "sh", str(log), *command]
    started = subprocess.run(
        shell, cwd=folder, env=environment, start_new_session=True, check=True, stdout=subprocess.PIPE, text=True
    )
    return int(started.stdout)


def _birth(pid: int) -> float:
    try:
        return psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return 0


def _wait(done: Callable[[], bool], deadline: float) -> None:
    while not done() and time.monotonic() < deadline:
        time.sleep(0.05)


def _exercise(session: SparkSession, folder: str) -> None:
    # A catalog in plain files: the warehouse's own is not touched, and the same classes are loaded.
    session.conf.set("spark.sql.catalog.warm", "org.apache.iceberg.spark.SparkCatalog")
    session.conf.set("spark.sql.catalog.warm.type", "hadoop")
    session.conf.set("spark.sql.catalog.warm.warehouse", folder)
    session.sql("create table warm.a.t (id bigint, at timestamp, name string) using iceberg partitioned by (days(at))")
    rows = session.range(100).selectExpr("id", "timestamp_seconds(id) as at", "cast(id as string) as name")
    rows.writeTo("warm.a.t").append()
    read = session.table("warm.a.t").where("id > 10 and at > timestamp '1970-01-01'")
    joined = read.join(rows.select("id", "name"), "id").groupBy("id").count().orderBy("id")
    joined.toArrow()
    read.writeTo("warm.a.t").append()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _tail(log: Path, size: int = 2000) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - size))
        return file.read().decode(errors="replace")
