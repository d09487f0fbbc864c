"""One job per batch: it loads the batch's modules until nothing more can be loaded now. Its frequency is a schedule."""

from collections.abc import Callable

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

from dwh_assets.engine.attempt import Outcome
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.loop import Loop
from dwh_assets.model.module import Batch
from dwh_assets.orchestration.reports import Reporter
from dwh_assets.orchestration.resources import Offsets


def batch_job(batch: Batch) -> JobDefinition:
    text = batch.description or f"Loads {', '.join(batch.modules)} until nothing more can be loaded now."

    @op(name=f"load_{batch.name}", description=text)
    def load(context: OpExecutionContext, offsets: Offsets) -> None:
        run_batch(context, offsets.engine, batch)

    @job(name=f"batch_{batch.name}", description=text, executor_def=in_process_executor)
    def run() -> None:
        load()

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
    """Everything that can be loaded is; what failed is named at the end."""
    lineage = engine.lineage.active()
    topics = frozenset(topic for m in lineage.modules if m.name in batch.modules for topic in m.topics)
    failed: dict[str, str] = {}
    Loop(engine, topics, _reporting(context, Reporter(context.instance, engine, lineage, context.run), failed)).run(
        until_dry=True
    )
    if failed:
        raise Failure("\n".join(f"{topic}: {text}" for topic, text in sorted(failed.items())), allow_retries=False)


def _reporting(context: OpExecutionContext, reporter: Reporter, failed: dict[str, str]) -> Callable[[Outcome], None]:
    def report(outcome: Outcome) -> None:
        reporter.report(outcome)
        if outcome.result == "committed":
            failed.pop(outcome.topic, None)
            context.log.info("%s: %d rows in %.2f s", outcome.topic, outcome.rows, outcome.seconds)
        elif outcome.result != "idle":
            failed[outcome.topic] = outcome.text

    return report
