"""Dagster's runs go to warm workers: a new process for each would load Python and Spark's libraries for ten seconds."""

from __future__ import annotations

from typing import Any

from dagster import DagsterRunStatus, Field, StringSource
from dagster._config.config_schema import UserConfigSchema
from dagster._core.launcher.base import CheckRunHealthResult, LaunchRunContext, RunLauncher, WorkerStatus
from dagster._core.storage.dagster_run import DagsterRun
from dagster._serdes import ConfigurableClass, ConfigurableClassData

from dwh_assets.config.settings import load_settings
from dwh_assets.control.assignments import RequestStore
from dwh_assets.control.database import Database
from dwh_assets.control.server import store_url
from dwh_assets.orchestration.names import PRIORITY_TAG, TOPIC_TAG
from dwh_assets.orchestration.run_handler import KIND
from dwh_assets.workers.bus import open_bus
from dwh_assets.workers.manager import Dispatch


class WarmRunLauncher(RunLauncher, ConfigurableClass):
    """Asks for runs as for everything that workers carry out (`dwh up` starts them)."""

    def __init__(self, home: str, inst_data: ConfigurableClassData | None = None) -> None:
        settings = load_settings(home=home)
        self._database = Database(store_url(settings), deadline=settings.deadline_seconds, size=2)
        self._requests = RequestStore(self._database)
        self._dispatch = Dispatch(self._database, open_bus(self._database, settings), settings)
        self._silence = settings.silence_seconds
        self._inst_data = inst_data
        super().__init__()

    @property
    def inst_data(self) -> ConfigurableClassData | None:
        return self._inst_data

    @classmethod
    def config_type(cls) -> UserConfigSchema:
        return {"home": Field(StringSource, is_required=True)}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> WarmRunLauncher:
        return cls(config_value["home"], inst_data)

    def launch_run(self, context: LaunchRunContext) -> None:
        run = context.dagster_run
        self._dispatch.ask(KIND, run.run_id, run.tags.get(TOPIC_TAG), _priority(run))

    def terminate(self, run_id: str) -> bool:
        """The worker hears of it at once; a run that still waits is over with that."""
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        self._instance.report_run_canceling(run)
        if self._dispatch.cancel(KIND, run_id):
            self._instance.report_run_canceled(run)
        return True

    @property
    def supports_check_run_worker_health(self) -> bool:
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        found = self._requests.state(KIND, run.run_id)
        if found is None:
            return CheckRunHealthResult(WorkerStatus.NOT_FOUND, "no worker was asked for this run")
        if found["ended_at"] is not None and run.status != DagsterRunStatus.CANCELING:
            return CheckRunHealthResult(WorkerStatus.FAILED, f"its worker ended without finishing the run: {found['problem']}")
        if found["worker"] is None:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "waits for a free worker")
        worker = str(found["worker"])
        if found["unseen"] > self._silence:
            text = f"worker {worker} is gone; what it had not committed is loaded again by the next run"
            return CheckRunHealthResult(WorkerStatus.FAILED, text, run_worker_id=worker)
        return CheckRunHealthResult(WorkerStatus.RUNNING, run_worker_id=worker)

    def dispose(self) -> None:
        self._database.close()


def _priority(run: DagsterRun) -> int:
    text = run.tags.get(PRIORITY_TAG, "0")
    return int(text) if text.lstrip("-").isdecimal() else 0
