"""Dagster's runs in a warm worker: definitions, control store and Spark session are at hand, a run begins at once."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from dagster import DagsterInstance, DagsterRun, DagsterRunStatus
from dagster._core.errors import DagsterExecutionInterruptedError
from dagster._core.events import EngineEventData
from dagster._grpc.impl import core_execute_run
from dagster._utils import interrupts
from dagster._utils.hosted_user_process import recon_job_from_origin

from dwh_assets.engine.engine import Engine
from dwh_assets.model.errors import Refused
from dwh_assets.orchestration.project import using
from dwh_assets.workers.job import Handler, Job
from dwh_assets.workers.streams import serving

logger = logging.getLogger(__name__)
KIND = "dagster"
BEGUN = (DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING)


@contextmanager
def dagster_handlers(engine: Engine) -> Iterator[dict[str, Handler]]:
    """What a worker needs to carry out runs of the instance that DAGSTER_HOME names."""
    with using(engine), DagsterInstance.get() as instance:
        from dwh_assets.orchestration import definitions  # noqa: F401 - loaded now, so that the first run need not wait for it

        yield {KIND: run_handler(instance, engine)}


def run_handler(instance: DagsterInstance, engine: Engine) -> Handler:
    """Whatever becomes of a run is in Dagster's event log when the handler returns."""
    # Dagster would let SIGTERM interrupt the run; a worker that is told to end loads its block to the end.
    interrupts.setup_interrupt_handlers = lambda: None

    def handle(job: Job) -> None:
        with serving(engine, job):
            carry_out(instance, job)

    return handle


def carry_out(instance: DagsterInstance, job: Job) -> None:
    run = instance.get_run_by_id(job.name)
    if run is None or run.is_finished:
        return  # its end was not heard of, or someone deleted it
    if run.status in BEGUN:
        raise Refused(_given_up(instance, run))
    execute(instance, run)
    ended = instance.get_run_by_id(job.name)
    if ended is not None and ended.status != DagsterRunStatus.SUCCESS:
        raise Refused(f"the run ended as {ended.status.value}; its page in Dagster says why")


def _given_up(instance: DagsterInstance, run: DagsterRun) -> str:
    """Dagster begins no run twice; its sensor asks for another one, which repeats the block from its stored bounds."""
    text = "the worker of this run is gone; what it had not committed is loaded again by the next run"
    if run.status == DagsterRunStatus.CANCELING:
        instance.report_run_canceled(run, text)
    else:
        instance.report_run_failed(run, text)
    return text


def execute(instance: DagsterInstance, run: DagsterRun) -> None:
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
