"""Files of a table are exchanged for others: staged on a branch, checked, then published in one transaction."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable

from dwh_assets.control.maintenance import Expiry, Job
from dwh_assets.engine.engine import Engine
from dwh_assets.model.errors import PointerTaken, StagedAgain
from dwh_assets.model.failpoints import failpoint
from dwh_assets.warehouse.branches import Fork, drop, fork_as
from dwh_assets.warehouse.publish import discard, next_swap, sweep
from dwh_assets.warehouse.swapping import Swap, swap_of

logger = logging.getLogger(__name__)
STAGES = 3  # times that rows are rewritten anew because a topic has replaced them meanwhile
POINTERS = 20  # times that the metadata is made anew because other writers were faster


def exchange(
    engine: Engine,
    job: Job,
    write: Callable[[Fork], None],
    check: Callable[[Swap], None],
    expiry: Expiry | None = None,
) -> Swap | None:
    """`write` to a branch, `check` what it did, publish it. None: loading was faster each time, and nothing was changed.

    No lease is held meanwhile: what is loaded goes on, and is on the head that the exchange is made for.
    """
    for _ in range(STAGES):
        forked = fork_as(engine.catalog, job.table, job.branch)
        failpoint("fork.after")
        write(forked)
        failpoint("stage.after")
        swap = swap_of(engine.catalog, forked)
        if not (swap.removed or swap.added):
            drop(engine.catalog, job.table, job.branch)
            return swap
        check(swap)
        try:
            _publish(engine, job, swap, expiry)
        except (StagedAgain, PointerTaken) as error:
            logger.info("%s of %s: %s", job.task, job.table, error)
            drop(engine.catalog, job.table, job.branch)
        else:
            return swap
    return None


def _publish(engine: Engine, job: Job, swap: Swap, expiry: Expiry | None) -> None:
    for attempt in range(1, POINTERS + 1):
        pointer = next_swap(engine.catalog, swap)
        failpoint("publish.after")
        try:
            engine.maintenance.publish(job, pointer, expiry)
        except PointerTaken:
            discard(pointer)
            if attempt == POINTERS:
                raise
            time.sleep(random.uniform(0.01, 0.1))  # noqa: S311
        else:
            sweep(pointer)
            return
