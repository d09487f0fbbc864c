"""Dagster's real processes on a small project: code server, webserver, daemon, two warm workers, and what people ask of them."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

import pytest
from dagster import AssetKey, DagsterInstance, DagsterRun, DagsterRunStatus

from dwh_assets.cli.supervising import Child, Supervisor
from dwh_assets.config.machine import free_port
from dwh_assets.engine.engine import Engine
from dwh_assets.orchestration.instance import prepare_home
from dwh_assets.orchestration.partitions import sync_module
from dwh_assets.orchestration.processes import dagster_processes
from tests.engine.listeners import WebListener, serving
from tests.engine.project import Project, settings_of
from tests.faults.nursery import eventually
from tests.orchestration import gates
from tests.orchestration.gates import Gate

Answer = dict[str, Any]
PLACE = {"repositoryLocationName": "dwh", "repositoryName": "__repository__"}
REPOSITORY = Path(__file__).parents[2]
LAUNCH = """mutation($params: ExecutionParams!) { launchPipelineExecution(executionParams: $params) { __typename
  ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
TERMINATE = "mutation($id: String!) { terminateRun(runId: $id) { __typename } }"
SENSOR = """query($selector: SensorSelector!) { sensorOrError(sensorSelector: $selector) { ... on Sensor { id
  sensorState { id status ticks(limit: 20) { id status skipReason } } } } }"""
STOP = "mutation($id: String!) { stopSensor(id: $id) { __typename } }"
RELOAD = """mutation { reloadRepositoryLocation(repositoryLocationName: "dwh") { __typename
  ... on WorkspaceLocationEntry { loadStatus locationOrLoadError { __typename } } } }"""


@dataclass
class Stack:
    project: Project
    instance: DagsterInstance
    supervisor: Supervisor
    url: str
    web: WebListener
    gate: Gate

    def ask(self, query: str, **variables: Any) -> Any:
        """GraphQL, as the pages speak it."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with build_opener(ProxyHandler({})).open(request, timeout=60) as reply:
            found = json.load(reply)
        assert "errors" not in found, found["errors"]
        return found["data"]

    def launch(self, table: str, *keys: str) -> str:
        """Materialize one block, or those from the first key to the last; the run's id."""
        one = {"dagster/partition": keys[0]}
        several = {"dagster/asset_partition_range_start": keys[0], "dagster/asset_partition_range_end": keys[-1]}
        tags = one if len(keys) == 1 else several
        selector = PLACE | {"pipelineName": "__ASSET_JOB", "assetSelection": [{"path": table.split(".")}]}
        params = {
            "mode": "default",
            "runConfigData": "{}",
            "selector": selector | {"assetCheckSelection": []},
            "executionMetadata": {"tags": [{"key": key, "value": value} for key, value in tags.items()]},
        }
        found = self.ask(LAUNCH, params=params)["launchPipelineExecution"]
        assert found["__typename"] == "LaunchRunSuccess", found
        return found["run"]["runId"]

    def cancel(self, run_id: str) -> None:
        assert self.ask(TERMINATE, id=run_id)["terminateRun"]["__typename"] == "TerminateRunSuccess"

    def reload(self) -> None:
        found = self.ask(RELOAD)["reloadRepositoryLocation"]
        assert found["locationOrLoadError"]["__typename"] == "RepositoryLocation", found

    def sensor(self, name: str) -> Answer:
        return self.ask(SENSOR, selector=PLACE | {"sensorName": name})["sensorOrError"]["sensorState"]

    def stop_sensor(self, name: str) -> None:
        self.ask(STOP, id=self.sensor(name)["id"])
        assert self.sensor(name)["status"] == "STOPPED"
        eventually(lambda: self._rests(name), f"the end of the tick that {name} had begun")

    def _rests(self, name: str) -> bool | None:
        """A tick that was begun before it was stopped still asks for runs."""
        return None if any(tick["status"] == "STARTED" for tick in self.sensor(name)["ticks"]) else True

    def run(self, run_id: str) -> DagsterRun:
        run = self.instance.get_run_by_id(run_id)
        assert run is not None
        return run

    def ended(self, run_id: str, seconds: float = 60) -> DagsterRunStatus:
        """How a run ended."""
        return eventually(lambda: _end(self.run(run_id)), f"end of run {run_id}: {self.log(run_id)}", seconds)

    def log(self, run_id: str) -> str:
        """All that the run's page shows of it."""
        return "\n".join(str(entry.user_message or entry.message) + _failure(entry) for entry in self.instance.all_logs(run_id))

    def plan(self, table: str) -> list[str]:
        """Plan as the sensor does that is switched off; the keys that a person finds in the dialog."""
        self.project.tick()
        sync_module(self.instance, self.project.engine, self.project.engine.lineage.active().module(table))
        return list(self.instance.get_dynamic_partitions(table))

    def materialized(self, table: str) -> set[str]:
        return self.instance.get_materialized_partitions(AssetKey(table.split(".")))

    def runs(self, table: str) -> list[DagsterRun]:
        key = AssetKey(table.split("."))
        return [run for run in self.instance.get_runs() if key in (run.asset_selection or ())]

    def child(self, name: str) -> Child:
        return self.supervisor.children[name]


def _end(run: DagsterRun) -> DagsterRunStatus | None:
    return run.status if run.is_finished else None


def _failure(entry: Any) -> str:
    data = entry.dagster_event.event_specific_data if entry.dagster_event else None
    found, error = getattr(data, "user_failure_data", None), getattr(data, "error", None)
    return "".join(f"\n{text}" for text in (found and found.description, error and error.message) if text)


@contextmanager
def running_stack(project: Project, web: WebListener) -> Iterator[Stack]:
    """From when all processes are ready until the block ends; they are given the settings by their environment."""
    settings, gate = project.engine.settings, Gate(project.folder / "gates")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in _environment(project, web, gate).items():
            patch.setenv(name, value)
        tree = dagster_processes(settings)
        supervisor = Supervisor(settings.home, tree.processes, settings.project)
        with (
            DagsterInstance.from_config(str(prepare_home(settings))) as instance,
            supervisor.running(threading.Event()),
        ):
            yield Stack(project, instance, supervisor, tree.ui, web, gate)


@contextmanager
def read_only(stack: Stack, home: Path) -> Iterator[Stack]:
    """The same stack through a second webserver, of the kind that `dwh up --read-only` starts; the code server is shared."""
    own = stack.project.engine.settings
    settings = own.model_copy(update={"home": home, "ui_port": free_port()})
    tree = dagster_processes(settings, read_only=True)
    shutil.copy(own.home / "dagster" / "workspace.yaml", home / "dagster" / "workspace.yaml")
    webserver = [process for process in tree.processes if process.name == "webserver"]
    with Supervisor(home, webserver, settings.project).running(threading.Event()):
        yield replace(stack, url=tree.ui)


def _environment(project: Project, web: WebListener, gate: Gate) -> dict[str, str]:
    return {
        "DWH_POSTGRES_URL": project.engine.postgres_url,
        "DWH_SPARK_REMOTE": str(project.engine.settings.spark_remote),
        "DWH_LEASE_SECONDS": "10",
        "DWH_ALERT_WEBHOOK": web.url,
        "PYTHONPATH": str(REPOSITORY),
        "no_proxy": "127.0.0.1",
        gates.FOLDER: str(gate.folder),
    }


@contextmanager
def opened_project(folder: Path, database_url: str, spark_remote: str) -> Iterator[Project]:
    engine = Engine(settings_of(folder, database_url, spark_remote, slots=2, ui_port=free_port()), database_url)
    (folder / "lineage" / "sources").mkdir(parents=True)
    try:
        yield Project(folder, engine)
    finally:
        engine.close()


@contextmanager
def listening() -> Iterator[WebListener]:
    web = WebListener()
    with serving(web):
        yield web
        web.let_go.set()
