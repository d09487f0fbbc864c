"""A Kafka broker on this machine, for trying things out: one node, loopback only, its log in the warehouse's home."""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from pathlib import Path

import psutil
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from dwh_assets.config.machine import free_port, locked
from dwh_assets.config.settings import Settings
from dwh_assets.model.errors import SourceDown
from dwh_assets.warehouse import java
from dwh_assets.warehouse.background import Background

PACKAGES = (
    ("org.apache.kafka", "kafka_2.13", "4.1.1"),
    ("org.slf4j", "slf4j-simple", "1.7.36"),  # or it would write no log at all
)


class KafkaServer:
    def __init__(self, settings: Settings) -> None:
        self._folder = settings.home / "kafka"
        self._server = Background(self._folder, settings.home / "logs" / "kafka.log")

    def start(self, timeout: float = 60) -> str:
        """Start the broker unless it runs, on the port it had; returns host:port."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with locked(self._folder / "lock"):
            if not self._server.running():
                self._server.end()
                self._launch(time.monotonic() + timeout)
        return f"127.0.0.1:{self._server.port()}"

    def address(self) -> str | None:
        """host:port of the broker that was started here, also while it is down; None where there never was one."""
        return f"127.0.0.1:{self._server.port()}" if (self._folder / "port").exists() else None

    def running(self) -> bool:
        return self._server.running()

    def stop(self) -> None:
        """End the broker if it runs. Its events stay."""
        if self._folder.exists():
            with locked(self._folder / "lock"):
                self._server.end()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if (process := self.process()) is not None:
            process.kill()
            process.wait()

    def process(self) -> psutil.Process | None:
        return self._server.process()

    def _launch(self, deadline: float) -> None:
        port = self._server.port() if (self._folder / "port").exists() else free_port()
        settings = self._write_settings(port)
        if not (self._folder / "data").exists():
            self._format(settings)
        command = self._java("kafka.Kafka", str(settings))
        if not self._server.launch(command, port, self._environment(), deadline):
            raise SourceDown(f"Kafka did not start; the reason is at the end of {self._server.log}\n{self._server.last_words()}")
        self._wait_for_answer(deadline)

    def _wait_for_answer(self, deadline: float) -> None:
        """After a crash it listens some seconds before it serves: the controller waits until the old one is surely gone."""
        client = AdminClient({"bootstrap.servers": f"127.0.0.1:{self._server.port()}", "log_level": "0"})
        while True:
            try:
                if client.list_topics(timeout=1).brokers:
                    return
            except KafkaException as error:
                if time.monotonic() > deadline:
                    raise SourceDown(f"Kafka listens but does not answer; see {self._server.log}") from error

    def _format(self, settings: Path) -> None:
        identity = uuid.uuid4().hex[:22]
        command = self._java("kafka.tools.StorageTool", "format", "--standalone", "-t", identity, "-c", str(settings))
        ended = subprocess.run(command, capture_output=True, text=True, env=self._environment(), cwd=self._folder)
        if ended.returncode:
            raise SourceDown(f"the folder of the broker could not be prepared: {ended.stderr[-1000:]}")

    def _write_settings(self, port: int) -> Path:
        kept = self._folder / "controller_port"  # it is part of what the broker has written down about itself
        if not kept.exists():
            kept.write_text(str(free_port()))
        controller = kept.read_text()
        lines = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self._folder / "data"),
            "num.partitions": "3",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "log.retention.check.interval.ms": "1000",
            "log.segment.delete.delay.ms": "1000",
        }
        path = self._folder / "server.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        return path

    def _java(self, *words: str) -> list[str]:
        runtime = java.find_java()
        jars = java.packages_folder(runtime, *PACKAGES)
        log = "-Dorg.slf4j.simpleLogger"
        options = [f"-Dkafka.logs.dir={self._folder}", f"{log}.defaultLogLevel=warn", f"{log}.showDateTime=true"]
        options += java.crash_options(self._server.log.parent)
        return [str(runtime), "-Xmx512m", "-Xms128m", *options, "-cp", f"{jars}/*", *words]

    def _environment(self) -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if not name.startswith(("KAFKA_", "DWH_"))}
