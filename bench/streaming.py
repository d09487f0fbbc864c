"""The same drain against Structured Streaming availableNow, from and into the same kind of tables."""

from __future__ import annotations

from statistics import median
from typing import Any

from bench.drain import drained, warm_up
from bench.result import Result
from bench.stopwatch import seconds_of
from bench.world import AUDIT, CUSTOMERS, QUERY, World


def measure(world: World) -> list[Result]:
    rows = world.scale.streamed
    events = world.events(rows)
    warm_up(world)
    before = drained(world, "fact.before_stream", rows, world.scale.maxstep)
    batches: list[dict[str, Any]] = []
    seconds = seconds_of(lambda: batches.extend(_stream(world, events)))
    after = drained(world, "fact.after_stream", rows, world.scale.maxstep)
    ours = median([before.seconds, after.seconds])
    if (found := world.count("plain.streamed")) != rows:
        raise AssertionError(f"the stream wrote {found} rows, not {rows}")
    parts = {
        "rows": rows,
        "drain s, before and after": [before.seconds, after.seconds],
        "streaming s": seconds,
        "blocks": [before.blocks(), after.blocks()],
        "batches": batches,
    }
    what = "speed of draining by blocks / of Structured Streaming availableNow"
    return [Result("streaming", what, seconds / ours, "x", ">=", 2.0, parts)]


def _stream(world: World, events: str) -> list[dict[str, Any]]:
    table, session = world.plain_table("plain.streamed", events), world.session
    reader = session.readStream.format("iceberg").option("streaming-max-rows-per-micro-batch", str(world.scale.batch))
    reader.load(f"dwh.{events}").createOrReplaceTempView("bench_stream")
    query = QUERY.format(events="bench_stream", customers=f"dwh.{CUSTOMERS}")
    writer = session.sql(f"SELECT *, {', '.join(AUDIT)} FROM ({query})").writeStream.format("iceberg").outputMode("append")
    checkpoint = str(world.engine.settings.home / "checkpoint")
    started = (
        writer.option("fanout-enabled", "true")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .toTable(f"dwh.{table}")
    )
    started.awaitTermination()
    done = [{"rows": p.numInputRows, "s": round(p.batchDuration / 1000, 2)} for p in started.recentProgress]
    return [batch for batch in done if batch["rows"]]
