"""A run: the blocks of its partition keys, attempted one after the other, each reported as soon as it is committed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dagster import AssetCheckResult, AssetExecutionContext, Failure, MetadataValue

from dwh_assets.engine.attempt import Outcome
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.materialize import Asked, load_due, materialize
from dwh_assets.model.errors import DwhError
from dwh_assets.model.module import Lineage
from dwh_assets.orchestration.names import BY_TAG, SENSOR, TOPIC_TAG
from dwh_assets.orchestration.phase_log import logging_phases
from dwh_assets.orchestration.reports import Reporter


def run_blocks(context: AssetExecutionContext, engine: Engine, module: str, override: str) -> Iterator[AssetCheckResult]:
    """Load what the run was asked for. Blocks are reported on the way; what the run's own checks found comes at its end."""
    lineage = engine.lineage.active()
    planned = frozenset(key.name for key in context.selected_asset_check_keys)
    reporter = Reporter(context.instance, engine, lineage, context.run, planned)
    if not context.selected_asset_keys:
        reporter.check_newest(lineage.module(module))
        yield from reporter.results()
        return
    problem: Failure | None = None
    try:
        with logging_phases(context, engine):
            for outcome in _outcomes(context, engine, lineage, module, override):
                reporter.report(outcome)
                _tell(context, outcome)
    except DwhError as error:
        problem = Failure(str(error), metadata={"refused": True}, allow_retries=False)
    except Failure as failure:
        problem = failure
    yield from reporter.results()
    if problem is not None:
        raise problem


def _outcomes(context: AssetExecutionContext, engine: Engine, lineage: Lineage, module: str, override: str) -> Iterator[Outcome]:
    keys = _keys(context)
    if context.run.tags.get(BY_TAG) == SENSOR:
        context.log.info("asked for by the sensor: %s", _range(keys))
        return load_due(engine, lineage, [context.run.tags[TOPIC_TAG]], keys)
    who = context.run.tags.get("user") or context.run.tags.get("dagster/backfill") or "a person"
    if override:
        context.log.warning("repeat, window and back-off are passed over: %s", override)
    asked = Asked(f"dagster run {context.run.run_id}", f"materialized in Dagster by {who}: {override or _range(keys)}", override)
    return materialize(engine, lineage, lineage.module(module), keys, asked)


def _keys(context: AssetExecutionContext) -> Sequence[str]:
    """A key alone is looked for in the ledger, which has the retired ones too; what lies in a range only Dagster's list tells."""
    asked = context.partition_key_range
    return [asked.start] if asked.start == asked.end else context.partition_keys


def _range(keys: Sequence[str]) -> str:
    return keys[0] if len(keys) == 1 else f"{len(keys)} blocks, {keys[0]} to {keys[-1]}"


def _tell(context: AssetExecutionContext, outcome: Outcome) -> None:
    """A block that did not commit ends the run as failed: what came before it stays loaded, what comes after it waits for it."""
    label = outcome.claim.label if outcome.claim else f"topic {outcome.topic}"
    if outcome.result == "committed":
        context.log.info("%s: %d rows in %.2f s", label, outcome.rows, outcome.seconds)
        return
    raise Failure(
        outcome.text,
        metadata={"result": outcome.result, "topic": outcome.topic, "why": MetadataValue.md(f"```\n{outcome.text}\n```")},
        allow_retries=False,
    )
