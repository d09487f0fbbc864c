"""How much each measurement does: the figures of the design, or very few rows for a smoke test."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    rows: int = 50_000_000  # of the backlog that is drained
    streamed: int = 30_000_000  # of the backlog that is drained and streamed
    batch: int = 10_000_000  # rows of a batch of Structured Streaming
    maxstep: int = 1_000_000  # rows of a block, up to 16 times more while behind
    customers: int = 100_000  # rows of the dimension
    blocks: int = 30  # small blocks, for what a block costs beside its Spark job
    block_rows: int = 10_000  # rows of such a block
    modules: int = 500
    shards: int = 20  # of each module: a topic each
    claim_set: int = 200  # topics that are claimed at once
    ledger: int = 1_000_000  # blocks of the topic whose next one is planned
    logged: int = 10_000_000  # events in the log beside them
    load_ticks: int = 2000  # over which the memory of a process is watched
    history: int = 100_000  # executions that the reports look back on
    defined: int = 1000  # modules whose definitions are made for Dagster
    restated: int = 1000  # blocks that are restated by one run
    together: int = 8  # topics that become due at once
    ticks: int = 6  # rounds from a sensor's tick to the loaded block
    events: int = 20_000_000  # that are taken in from a broker, one in five a second time
    window_block: int = 1_000_000  # events of a block that is compared with a window
    windows: tuple[int, ...] = (1_000_000, 20_000_000, 200_000_000)  # ids that the window holds
    latencies: int = 200  # events whose way is timed
    dispatches: int = 300  # requests whose way to a worker is timed
    crew_topics: int = 200  # topics that workers share
    crew_blocks: int = 1000  # small blocks that each of them has to load
    crew_seconds: float = 120  # for so long
    crew_marks: tuple[int, int] = (50, 500)  # blocks of a worker after which its memory is compared
    repeats: int = 30  # of every short measurement; the median counts


def scale_of(rows: int) -> Scale:
    """The scale for a backlog of so many rows."""
    share = min(1.0, rows / Scale.rows)
    return Scale(
        rows=rows,
        streamed=min(rows, Scale.streamed),
        events=int(Scale.events * share),
        window_block=max(1, int(Scale.window_block * share)),
        windows=tuple(int(ids * share) for ids in Scale.windows),
    )
