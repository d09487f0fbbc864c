"""The Spark Connect server of one machine: started once, shared by every process, found again when it was killed."""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil
from pyspark.sql.connect.session import SparkSession

from dwh_assets.config.machine import free_port, locked
from dwh_assets.config.settings import Settings
from dwh_assets.model.errors import SparkDown
from dwh_assets.warehouse import class_archive, java
from dwh_assets.warehouse.background import Background
from dwh_assets.warehouse.object_store import PACKAGE, object_store
from dwh_assets.warehouse.session import SESSION_DEFAULTS, open_plain_session

_MAIN = "org.apache.spark.sql.connect.service.SparkConnectServer"


class SparkServer:
    """A Spark Connect server whose pid, port and scratch files live in `home/spark`; or the one that `spark_remote` names."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._folder = settings.home / "spark"
        self._server = Background(self._folder, settings.home / "logs" / "spark.log")

    def start(self, timeout: float = 120) -> str:
        """Start the server unless it runs, and return its sc:// URL."""
        if self._settings.spark_remote:
            return self._settings.spark_remote
        with locked(self._folder / "lock"):
            if not self.running():
                self._server.end()
                port = free_port()
                if not self._server.launch(self._command(port), port, self._environment(), time.monotonic() + timeout):
                    class_archive.archive_of(*self._java()).unlink(missing_ok=True)  # a torn one would end every Java
                    raise SparkDown(
                        f"Spark did not start; the reason is at the end of {self._server.log}\n{self._server.last_words()}"
                    )
        return self.url

    @property
    def url(self) -> str:
        return self._settings.spark_remote or f"sc://127.0.0.1:{self._server.port()}"

    def running(self) -> bool:
        """True if the process we started lives and listens."""
        if self._settings.spark_remote:
            return True
        return self._server.running()

    def stop(self) -> None:
        """End the server if we started it; an outside one is left alone."""
        if self._settings.spark_remote:
            return
        with locked(self._folder / "lock"):
            self._server.end()

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
        process = self.process()
        return None if process is None else process.memory_info().rss

    def process(self) -> psutil.Process | None:
        """The started server; none where it runs elsewhere, or not at all."""
        return None if self._settings.spark_remote else self._server.process()

    def archive_classes(self, stop: threading.Event) -> bool:
        """Make the archive with which the next starts take half the time, unless it is there; it takes a minute of a core
        that nothing else wants. False if that was stopped, or failed."""
        runtime, jars = self._java()
        archive = class_archive.archive_of(runtime, jars)
        if archive.exists():
            return True
        words = [str(runtime), "-Xmx1g", *self._options(), "-cp", java.class_path(jars)]
        submit = _submit(class_archive.MAIN, "local[1]", self._conf(0) | self._settings.spark_options)
        return class_archive.make(archive, words, submit, self._environment(), stop)

    def _command(self, port: int) -> list[str]:
        runtime, jars = self._java()
        archive = class_archive.archive_of(runtime, jars)
        mapped = [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []
        words = [str(runtime), f"-Xmx{self._settings.spark_memory}", *mapped, *self._options(), "-cp", java.class_path(jars)]
        conf = self._conf(port) | self._executors(jars) | self._settings.spark_options
        return [*words, *_submit(_MAIN, self._settings.spark_master, conf), "spark-internal"]

    def _java(self) -> tuple[Path, list[Path]]:
        runtime = java.find_java()
        return runtime, java.own_jars(runtime, *(() if object_store(self._settings) is None else (PACKAGE,)))

    def _options(self) -> list[str]:
        given = self._settings.spark_options.get("spark.driver.extraJavaOptions", "")
        extra = shlex.split(given)  # Spark itself would leave it to its shell scripts
        return [*java.options(), *java.crash_options(self._settings.home / "logs"), *extra]

    def _conf(self, port: int) -> dict[str, str]:
        return {
            "spark.app.name": "dwh",
            "spark.driver.memory": self._settings.spark_memory,
            "spark.driver.bindAddress": self._settings.spark_host,
            "spark.driver.host": self._settings.spark_host,
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(port),
            "spark.connect.progress.reportInterval": "1s",
            "spark.ui.enabled": "false",
            "spark.local.dir": str(self._folder / "local"),
            "spark.sql.warehouse.dir": str(self._folder / "unused"),
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            # Of 60 flipped bits 27 gave wrong results in silence without it, none with it.
            "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
            "spark.redaction.regex": "(?i)secret|password|token|access[.]?key|credential|jaas",
            **SESSION_DEFAULTS,
        }

    def _executors(self, jars: Sequence[Path]) -> dict[str, str]:
        """What the executors of a cluster need: they start with Spark's own jars only, and fetch ours from the server."""
        if self._settings.spark_master.startswith("local"):
            return {}
        return {"spark.jars": ",".join(map(str, jars))}

    def _environment(self) -> dict[str, str]:
        (self._folder / "local").mkdir(parents=True, exist_ok=True)
        # Functions written in Python run in an environment like ours: the first python of the PATH may lack all they need.
        own = {
            "SPARK_LOCAL_IP": self._settings.spark_host,
            "SPARK_HOME": str(java.package_folder("pyspark")),
            "PYSPARK_PYTHON": sys.executable,
        }
        return shared_environment(os.environ) | own


def _submit(main: str, master: str, conf: Mapping[str, str]) -> list[str]:
    words = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    return ["org.apache.spark.deploy.SparkSubmit", "--class", main, "--master", master, *words]


def shared_environment(given: Mapping[str, str]) -> dict[str, str]:
    """What the server may know of our environment: not our settings, and no URL with a password, as sources have."""
    return {
        name: value
        for name, value in given.items()
        if not name.startswith(("SPARK_", "DWH_")) and not re.search(r"://[^/@\s]*:[^/@\s]+@", value)
    }


def _exercise(session: SparkSession, folder: str) -> None:
    for name, value in class_archive.plain_catalog(Path(folder)).items():
        session.conf.set(name, value)
    session.sql(class_archive.TABLE)
    rows = session.range(100).selectExpr("id", "timestamp_seconds(id) as at", "cast(id as string) as name")
    rows.writeTo("warm.a.t").append()
    read = session.table("warm.a.t").where("id > 10 and at > timestamp '1970-01-01'")
    joined = read.join(rows.select("id", "name"), "id").groupBy("id").count().orderBy("id")
    joined.toArrow()
    read.writeTo("warm.a.t").append()
