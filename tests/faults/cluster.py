"""A standalone Spark cluster on loopback: a master and workers, each a process of its own, all from Spark's package."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from dwh_assets.config.machine import free_port
from dwh_assets.warehouse import java
from dwh_assets.warehouse.background import listens
from tests.faults.nursery import eventually

EXECUTOR = "CoarseGrainedExecutorBackend"
# Spark gives its executors a module that small runtimes lack, and that nothing here needs.
JAVA = """#!/bin/sh
for word do
  shift
  case "$word" in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$word" ;; esac
done
exec {java} "$@"
"""


@dataclass
class Cluster:
    folder: Path
    port: int = field(default_factory=free_port)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def master(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    def start(self, workers: int) -> None:
        self._launch("master.Master", "--port", str(self.port), "--webui-port", "0")
        eventually(lambda: listens(self.port) or None, f"the master listens: {self.log()}", 120)
        for number in range(workers):
            place = str(self.folder / f"worker-{number}")
            options = ["--webui-port", "0", "--cores", "1", "--memory", "1g", "--work-dir", place]
            self._launch("worker.Worker", *options, self.master)

    def executors(self) -> list[psutil.Process]:
        """Those that run now, worker by worker."""
        found = [child for process in self.processes[1:] if process.poll() is None for child in _children(process.pid)]
        return [child for child in found if EXECUTOR in " ".join(_words(child))]

    def kill_worker(self) -> None:
        """The first one, and its executor with it: as if its machine were gone."""
        worker = next(process for process in self.processes[1:] if process.poll() is None)
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()

    def log(self) -> str:
        return (self.folder / "cluster.log").read_text()[-3000:]

    def end(self) -> None:
        for process in reversed(self.processes):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _launch(self, name: str, *words: str) -> None:
        runtime = java.find_java()
        command = [str(runtime), "-Xmx256m", *java.options(), "-cp", java.class_path([]), f"org.apache.spark.deploy.{name}"]
        own = {
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_SCALA_VERSION": "2.13",  # Spark's own scripts would say it: a worker cannot find its jars without it
            "JAVA_HOME": str(self._java_home(runtime)),
            "SPARK_HOME": str(java.package_folder("pyspark")),
        }
        with (self.folder / "cluster.log").open("ab") as log:
            process = subprocess.Popen(
                [*command, "--host", "127.0.0.1", *words], env=os.environ | own, stdout=log, stderr=log, start_new_session=True
            )
        self.processes.append(process)

    def _java_home(self, runtime: Path) -> Path:
        script = self.folder / "java" / "bin" / "java"
        if not script.exists():
            script.parent.mkdir(parents=True)
            script.write_text(JAVA.format(java=runtime))
            script.chmod(0o755)
        return script.parents[1]


def _children(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


@contextmanager
def cluster_of(folder: Path, workers: int) -> Iterator[Cluster]:
    folder.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(folder)
    try:
        cluster.start(workers)
        yield cluster
    finally:
        cluster.end()
