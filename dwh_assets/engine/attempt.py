"""One attempt: claim, stage, check, commit. Whatever goes wrong ends in the control store, with its reason."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dwh_assets.config.sql_parameters import bound
from dwh_assets.control.claims import lease_lost
from dwh_assets.control.ingest import Ingested
from dwh_assets.engine.check import check
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.lease import Lease
from dwh_assets.engine.phases import Phases
from dwh_assets.engine.stage import StagedAttempt, key_of, stage
from dwh_assets.model.block import BlockStats, Claim, RowCounts, Start
from dwh_assets.model.errors import (
    CheckFailed,
    ConfigError,
    ControlStoreDown,
    InputsChanged,
    LeaseLost,
    NotDue,
    PointerTaken,
    SparkDown,
    SparkLost,
    TableHeld,
    Transient,
    in_words,
)
from dwh_assets.model.failpoints import failpoint, protected
from dwh_assets.model.module import Lineage
from dwh_assets.model.parameter import Parameter, resolve
from dwh_assets.model.phase import Totals
from dwh_assets.processors.transform import code_version
from dwh_assets.warehouse.branches import branch_of, drop
from dwh_assets.warehouse.publish import Pointer, discard, next_metadata, sweep

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """How an attempt ended. `idle` means that there was nothing to do."""

    result: Literal["committed", "failed", "parked", "lost", "idle"]
    topic: str
    text: str
    claim: Claim | None = None
    rows: int = 0
    seconds: float = 0.0
    transient: bool = False  # a failure that may be over soon: what the attempt needs was away


def attempt(engine: Engine, lineage: Lineage, topic: str, *, force: bool = False, start: Start | None = None) -> Outcome:
    """Attempt the topic's first block, or its open restatement, once."""
    of_batch = start.parameters if start else ()
    try:
        claim = engine.claims.claim(topic, _code_version(engine, lineage, topic, of_batch), force, start)
    except NotDue as error:
        return Outcome("idle", topic, str(error))
    began, phases = time.monotonic(), Phases(claim, engine.tell_phases)
    engine.openlineage.started(claim)
    try:
        with Lease(engine.claims, claim).kept() as lease:
            stats = _load(engine, lineage, replace(claim, of_batch=of_batch), lease, phases, began)
    except Exception as error:  # noqa: BLE001 - every failure of an attempt is written down, then judged
        outcome = _failed(engine, claim, error)
        phases.fail()
        engine.openlineage.failed(claim, outcome.text)
        return outcome
    except BaseException:
        _interrupted(engine, claim)
        phases.fail()
        engine.openlineage.interrupted(claim)
        raise
    engine.openlineage.completed(claim, stats)
    rows = sum(s.rows for s in stats)
    seconds = time.monotonic() - began
    logger.info("%s committed: %d rows in %.2f s", claim.label, rows, seconds)
    return Outcome("committed", topic, f"{rows} rows", claim, rows, seconds)


def _code_version(engine: Engine, lineage: Lineage, topic: str, of_batch: Sequence[Parameter]) -> str:
    name = topic.partition(":")[0]
    module = next((m for m in lineage.modules if m.name == name), None)
    if module is None:
        return ""
    try:
        return code_version(module, engine.settings.transforms_folder, resolve(lineage.parameters, of_batch, module.parameters))
    except ConfigError:
        return ""  # the attempt asks for the same transform and fails by it, where that is written down


def _load(engine: Engine, lineage: Lineage, claim: Claim, lease: Lease, phases: Phases, began: float) -> list[BlockStats]:
    claim = with_parameters(claim, lineage)
    staged = stage(engine, lineage, claim, lease, phases)
    failpoint("check.before")
    stats = check(claim, staged, time.monotonic() - began, engine.spark.memory())
    failpoint("check.after")
    lease.check()
    read, rows = sum(s.base_rows for s in stats), sum(s.rows for s in stats)
    transformed = Totals(read, rows, staged.counts.rejected)
    phases.turn({"data-extract": Totals(read, read, 0), "data-transform": transformed}, ["data-load"])
    publish(engine, lineage, claim, staged, stats, lease)
    phases.turn({"data-load": Totals(rows, rows, 0)})
    return stats


def with_parameters(claim: Claim, lineage: Lineage) -> Claim:
    """The one place where values come into the SQL of an attempt: from here on its module holds no placeholder."""
    parameters = resolve(lineage.parameters, claim.of_batch, claim.module.parameters)
    return replace(claim, module=bound(claim.module, parameters))


def publish(engine: Engine, lineage: Lineage, claim: Claim, staged: StagedAttempt, stats: list[BlockStats], lease: Lease) -> None:
    """Make the next metadata and commit, again and again while other writers publish to the same table.

    A topic that replaces rows of it is waited for, however long it takes: to give up would throw away what was staged.
    """
    counts = _counts(staged, stats)
    ingested = None if staged.rejects is None else Ingested(tuple(staged.rejects.counted), key_of(lineage, claim.module))
    until = time.monotonic() + engine.settings.deadline_seconds
    while True:
        failpoint("publish.before")
        pointers = _next_pointers(engine, staged)
        failpoint("publish.after")
        try:
            _commit(engine, claim, pointers, stats, counts, ingested)
        except PointerTaken as error:
            for pointer in pointers:
                discard(pointer)
            lease.check()
            if isinstance(error, TableHeld):
                lease.wait_for_table()
                until = time.monotonic() + engine.settings.deadline_seconds
            elif time.monotonic() > until:
                raise
            else:
                time.sleep(0.05)
        else:
            for pointer in pointers:
                sweep(pointer)
            return


def _next_pointers(engine: Engine, staged: StagedAttempt) -> list[Pointer]:
    """The next metadata of every table that the attempt has written to."""
    pointers = [next_metadata(engine.catalog, staged.fork, staged.staged)]
    if staged.rejects is not None and staged.rejects.fork is not None and staged.rejected is not None:
        pointers.append(next_metadata(engine.catalog, staged.rejects.fork, staged.rejected))
    return pointers


def _commit(
    engine: Engine,
    claim: Claim,
    pointers: list[Pointer],
    stats: list[BlockStats],
    counts: RowCounts,
    ingested: Ingested | None,
) -> None:
    """After a lost connection, this attempt's own row tells whether the commit happened (R8)."""
    try:
        engine.commits.commit(claim, pointers, stats, counts, ingested)
    except ControlStoreDown:
        if not protected("reread") or engine.claims.outcome(claim) != "Succeeded":
            raise
        logger.info("%s: the reply of the commit was lost, the commit was not", claim.label)


def _counts(staged: StagedAttempt, stats: list[BlockStats]) -> RowCounts:
    """What a processor has not counted itself."""
    inserted = staged.counts.inserted if staged.processor.forgets else sum(s.rows for s in stats)
    if staged.rejects is not None:  # events that are known already are left out
        return replace(staged.counts, inserted=inserted, discarded=staged.counts.read - staged.counts.rejected - inserted)
    return replace(staged.counts, read=sum(s.base_rows for s in stats), inserted=inserted)


def _interrupted(engine: Engine, claim: Claim) -> None:
    """Someone ended the attempt: Spark's job goes with it, and the block is free at once instead of when its lease runs out."""
    engine.end_session()
    engine.claims.fail(claim, "interrupted by hand; the block is loaded again when it is next due", counts=False)
    _drop_branches(engine, claim)
    logger.warning("%s was interrupted", claim.label)


def _drop_branches(engine: Engine, claim: Claim) -> None:
    for table in claim.module.tables:
        drop(engine.catalog, table, branch_of(claim.execution_id))


def _failed(engine: Engine, claim: Claim, error: Exception) -> Outcome:
    """Write the failure down. Wrong data and code use up the attempts of a block; a server that is away only delays it.

    Spark that went away while it worked is a crash: a block that kills it each time is parked in the end.
    """
    if isinstance(error, LeaseLost):
        logger.warning("%s", error)
        return Outcome("lost", claim.topic, str(error), claim)
    if isinstance(error, SparkDown):
        engine.forget_session()
    park = isinstance(error, CheckFailed)
    pause, crash = isinstance(error, Transient), isinstance(error, SparkLost)
    text = in_words(error)
    results = error.results if isinstance(error, CheckFailed) else ()
    counts = not (pause or isinstance(error, InputsChanged))
    status = engine.claims.fail(claim, text, counts=counts, crash=crash, pause=pause, park=park, checks=results)
    if status not in ("parked", "failed"):
        _drop_branches(engine, claim)
    logger.warning("%s did not commit: %s", claim.label, text)
    if status == "lost":
        return Outcome("lost", claim.topic, f"{lease_lost(claim, engine.settings.lease_seconds)}\nIt ended with: {text}", claim)
    if status in ("parked", "failed"):
        return Outcome("parked", claim.topic, text, claim)
    return Outcome("failed", claim.topic, text, claim, transient=pause)
