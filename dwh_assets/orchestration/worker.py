"""A warm worker: a process with definitions, control store and Spark session at hand, that carries out one run at a time."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from dagster import DagsterInstance, DagsterRun
from dagster._core.errors import DagsterExecutionInterruptedError
from dagster._core.events import EngineEventData
from dagster._grpc.impl import core_execute_run
from dagster._utils.hosted_user_process import recon_job_from_origin

from dwh_assets.control.assignments import AssignmentStore, heard, listening
from dwh_assets.engine.engine import Engine
from dwh_assets.model.errors import ControlStoreDown
from dwh_assets.orchestration import project

logger = logging.getLogger(__name__)
BEAT_SECONDS = 1.0
WAIT_SECONDS = 5.0  # a notice that was missed is found by looking


class Worker:
    def __init__(self, engine: Engine, instance: DagsterInstance) -> None:
        self.name = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self._engine = engine
        self._instance = instance
        self._assignments = AssignmentStore(engine.database)
        self._stop = threading.Event()
        self._run_id: str | None = None
        self._version = engine.lineage.version()

    def work(self) -> bool:
        """Carry out runs until told to end; False if the Lineage has changed and the process must begin anew."""
        signal.signal(signal.SIGTERM, self._asked_to_end)
        signal.signal(signal.SIGINT, self._asked_to_end)
        beats = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self._assignments.beat(self.name)
        beats.start()
        try:
            return self._serve()
        finally:
            self._stop.set()
            beats.join()
            self._assignments.leave(self.name)

    def _serve(self) -> bool:
        with listening(self._engine.postgres_url) as connection:
            while not self._stop.is_set():
                if self._engine.lineage.version() != self._version:
                    return False  # its definitions are those of the Lineage before
                run_id = self._assignments.take(self.name)
                if run_id is None:
                    heard(connection, WAIT_SECONDS)
                else:
                    self._carry_out(run_id)
        return True

    def _carry_out(self, run_id: str) -> None:
        run = self._instance.get_run_by_id(run_id)
        try:
            if run is not None and not run.is_finished:
                with self._working_on(run_id):
                    execute(self._instance, run)
        finally:
            self._assignments.end(run_id)

    @contextmanager
    def _working_on(self, run_id: str) -> Iterator[None]:
        self._run_id = run_id
        try:
            yield
        finally:
            self._run_id = None
            # Dagster puts handlers of its own in their place while a run goes on.
            signal.signal(signal.SIGTERM, self._asked_to_end)
            signal.signal(signal.SIGINT, self._asked_to_end)

    def _asked_to_end(self, number: int, frame: FrameType | None) -> None:
        """Between runs at once; a run that goes on has Dagster's handlers, and is interrupted by them."""
        self._stop.set()

    def _beat(self) -> None:
        while not self._stop.wait(BEAT_SECONDS):
            try:
                self._assignments.beat(self.name)
                self._heed_cancel()
            except ControlStoreDown as error:
                logger.warning("%s", error)

    def _heed_cancel(self) -> None:
        run_id = self._run_id
        state = self._assignments.state(run_id) if run_id else None
        if state and state["cancelled_at"] and self._run_id == run_id:
            self._run_id = None  # once
            os.kill(os.getpid(), signal.SIGINT)


def execute(instance: DagsterInstance, run: DagsterRun) -> None:
    """One run in this process. Whatever becomes of it is in Dagster's event log when this returns."""
    if run.job_code_origin is None:
        instance.report_run_failed(run, "the run names no code that could be loaded")
        return
    instance.report_engine_event(f"a warm worker takes the run (pid {os.getpid()})", run, EngineEventData.in_process(os.getpid()))
    try:
        for _ in core_execute_run(recon_job_from_origin(run.job_code_origin), run, instance, inject_env_vars=False):
            pass
    except (KeyboardInterrupt, DagsterExecutionInterruptedError):
        logger.info("run %s was interrupted", run.run_id)
    except Exception:
        logger.exception("run %s", run.run_id)  # Dagster has written it down before it raised


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("pyiceberg").setLevel(logging.WARNING)
    from dwh_assets.orchestration import definitions  # noqa: F401 - loaded now, so that the first run need not wait for it

    engine = project.engine()
    engine.session()
    with DagsterInstance.get() as instance:
        instance.optimize_for_webserver(statement_timeout=60_000, pool_recycle=3600, max_overflow=10)
        unchanged = Worker(engine, instance).work()
    if not unchanged:
        os.execv(sys.executable, [sys.executable, "-m", "dwh_assets.orchestration.worker"])  # noqa: S606 - itself, with new definitions


if __name__ == "__main__":
    main()
