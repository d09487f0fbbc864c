"""Dagster's runs go to warm workers: a new process for each would load Python and Spark's libraries for ten seconds."""

from __future__ import annotations

from typing import Any

from dagster import DagsterRunStatus, Field, StringSource
from dagster._config.config_schema import UserConfigSchema
from dagster._core.launcher.base import CheckRunHealthResult, LaunchRunContext, RunLauncher, WorkerStatus
from dagster._core.storage.dagster_run import DagsterRun
from dagster._serdes import ConfigurableClass, ConfigurableClassData

from dwh_assets.config.settings import load_settings
from dwh_assets.control.assignments import AssignmentStore
from dwh_assets.control.database import Database
from dwh_assets.control.server import store_url

SILENCE = 30.0  # seconds after which a worker that is not heard of has lost its run


class WarmRunLauncher(RunLauncher, ConfigurableClass):
    """Puts runs into the control store's queue; workers (`dwh up` starts them) take them from there."""

    def __init__(self, home: str, inst_data: ConfigurableClassData | None = None) -> None:
        settings = load_settings(home=home)
        self._database = Database(store_url(settings), deadline=settings.deadline_seconds, size=2)
        self._assignments = AssignmentStore(self._database)
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
        self._assignments.ask(context.dagster_run.run_id)

    def terminate(self, run_id: str) -> bool:
        """The worker hears of it within a second; a run that still waits is over at once."""
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        self._instance.report_run_canceling(run)
        found = self._assignments.cancel(run_id)
        if found is None or found["waiting"]:
            self._instance.report_run_canceled(run)
        return True

    @property
    def supports_check_run_worker_health(self) -> bool:
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        found = self._assignments.state(run.run_id)
        if found is None:
            return CheckRunHealthResult(WorkerStatus.NOT_FOUND, "no worker was asked for this run")
        if found["worker"] is None:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "waits for a free worker")
        if found["ended_at"] is not None and run.status not in (DagsterRunStatus.CANCELING,):
            return CheckRunHealthResult(WorkerStatus.FAILED, f"worker {found['worker']} ended without finishing the run")
        if found["unseen"] > SILENCE:
            text = f"worker {found['worker']} is gone; what it had not committed is loaded again by the next run"
            return CheckRunHealthResult(WorkerStatus.FAILED, text, run_worker_id=found["worker"])
        return CheckRunHealthResult(WorkerStatus.RUNNING, run_worker_id=found["worker"])

    def dispose(self) -> None:
        self._database.close()
