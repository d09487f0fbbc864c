"""One job per batch: it runs the batch as `dwh batch run` does. Its frequency is a schedule."""

from dagster import (
    DefaultScheduleStatus,
    Failure,
    JobDefinition,
    OpExecutionContext,
    ScheduleDefinition,
    in_process_executor,
    job,
    op,
)

from dwh_assets.control.batches import Begin
from dwh_assets.engine.batch import BatchRan, BatchRunner
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.start import Ran
from dwh_assets.model.batch import Batch
from dwh_assets.orchestration.reports import Reporter
from dwh_assets.orchestration.resources import Offsets

SCHEDULE_TAG = "dagster/schedule_name"


def batch_job(batch: Batch) -> JobDefinition:
    parts = ", ".join(link.name for link in (*batch.batches, *batch.modules))
    text = batch.description or f"Runs {parts}."

    @op(name=f"run_{batch.name}", description=text)
    def run_it(context: OpExecutionContext, offsets: Offsets) -> None:
        run_batch(context, offsets.engine, batch)

    @job(name=f"batch_{batch.name}", description=text, executor_def=in_process_executor)
    def run() -> None:
        run_it()

    return run


def batch_schedule(batch: Batch, run: JobDefinition) -> ScheduleDefinition:
    status = DefaultScheduleStatus.RUNNING if batch.active else DefaultScheduleStatus.STOPPED
    return ScheduleDefinition(
        name=f"at_{batch.name}",
        job=run,
        cron_schedule=batch.frequency or "",
        execution_timezone=batch.timezone,
        default_status=status,
    )


def run_batch(context: OpExecutionContext, engine: Engine, batch: Batch) -> None:
    """A batch that failed, or was not let to begin by another run of it, is a failed run that names what and why."""
    lineage = engine.lineage.active()
    reporter = Reporter(context.instance, engine, lineage, context.run)
    schedule = context.run.tags.get(SCHEDULE_TAG)
    how = Begin(started_by=f"schedule {schedule}" if schedule else "Dagster", again=schedule is None)

    def tell(name: str, part: Ran) -> None:
        context.log.info("%s, %s: %s, %s", name, part.name, part.code, part.text)

    ran = BatchRunner(engine, lineage, reporter.report, tell, context.run_id).run(batch.name, how)
    for done in _all(ran):
        context.log.info("batch %s, instance %d: %s, %s", done.batch, done.instance, done.code, done.text)
    if failed := [done for done in _all(ran) if done.code in ("Failed", "Aborted")]:
        raise Failure("\n".join(f"batch {done.batch}: {done.text}" for done in failed), allow_retries=False)


def _all(ran: BatchRan) -> list[BatchRan]:
    return [ran, *(done for follower in ran.followed for done in _all(follower))]
