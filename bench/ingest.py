"""Events from a broker: against Structured Streaming, over windows of known ids, and how soon one is readable."""

from __future__ import annotations

import json
import threading
import time
from datetime import timedelta
from statistics import median
from typing import Any, NamedTuple

from bench.result import Result
from bench.stopwatch import nearest_rank, seconds_of
from bench.world import AUDIT, World
from dwh_assets.config.event_schemas import read_schema
from dwh_assets.engine.apply import apply
from dwh_assets.engine.attempt import Outcome
from dwh_assets.engine.loop import Loop
from dwh_assets.model.events import Events, KafkaTopic
from dwh_assets.model.module import Check, Lineage, Module, SourceTable
from dwh_assets.sources.kafka.server import KafkaServer

FIELDS = (
    "schema_version int, project string, event_type string, product_id bigint, happened_at timestamp, price double, url string"
)
KINDS = {"int": {"type": "integer", "format": "int32"}, "bigint": {"type": "integer"}, "double": {"type": "number"},
         "string": {"type": "string"}, "timestamp": {"type": "string", "format": "date-time"}}  # fmt: skip
KEY = ("project", "event_type", "product_id")
PARTITIONS = 4
TURNS = 2
AT_ONCE = timedelta()  # a backlog is loaded block after block
REPEAT = timedelta(seconds=1)  # of a stage table whose file says nothing else
DEADLINE = 120.0


class Took(NamedTuple):
    """Of a load: whole, with its ticks and alerts, and in the attempts at its blocks."""

    whole: float
    blocks: float


def measure(world: World) -> list[Result]:
    server = KafkaServer(world.engine.settings)
    brokers = server.start()
    try:
        return [_against_streaming(world, brokers), *_over_windows(world, brokers), _latency(world, brokers)]
    finally:
        server.stop()


def _against_streaming(world: World, brokers: str) -> Result:
    """In turns, so that neither finds Java warmed by the other; both have loaded something before."""
    rows = world.scale.events
    _send(world, brokers, "bench-warm", 0, min(rows, 50_000))
    _drained(world, brokers, "bench-warm", "stage.bench_warm")
    _stream(world, brokers, "bench-warm", "plain.bench_warm")
    _send(world, brokers, "bench-many", 0, rows)
    ours, theirs = [], []
    for turn in range(TURNS):
        stage, plain = f"stage.bench_many_{turn}", f"plain.bench_many_{turn}"
        ours.append(_drained(world, brokers, "bench-many", stage).whole)
        theirs.append(seconds_of(lambda plain=plain: _stream(world, brokers, "bench-many", plain)))
        for table in (stage, plain):
            _assert_rows(world, table, _unique(rows))
    parts = {"events": rows, "rows of each": _unique(rows), "s": ours, "events/s": rows / median(ours), "streaming s": theirs}
    what = "speed of taking events in / of Structured Streaming with dropDuplicatesWithinWatermark"
    return Result("ingest", what, median(theirs) / median(ours), "x", ">=", 1.0, parts)


def _unique(events: int) -> int:
    return events - events // 5


def _assert_rows(world: World, table: str, wanted: int) -> None:
    if (found := world.count(table)) != wanted:
        raise AssertionError(f"{table} holds {found} rows, not {wanted}")


def _over_windows(world: World, brokers: str) -> list[Result]:
    """Blocks of one size into tables that hold ever more ids of the last seven days."""
    block, curve = world.scale.window_block, []
    without = _window_block(world, brokers, 0, ())
    for ids in world.scale.windows:
        took = _window_block(world, brokers, ids, KEY)
        curve.append({"ids": ids, "s": took.blocks, "with its tick s": took.whole})
    plain = {"s": without.blocks, "with its tick s": without.whole}
    parts = {"events of a block": block, "without deduplication": plain, "by ids in the window": curve}
    what = "a block against the largest window / without deduplication"
    return [Result("window", what, curve[-1]["s"] / without.blocks, "x", "<=", 2.0, parts)]


def _window_block(world: World, brokers: str, ids: int, key: tuple[str, ...]) -> Took:
    """The better of two blocks, each with events that the block before it holds already."""
    name = f"bench-window-{ids}-{len(key)}"
    table = f"stage.bench_window_{ids}_{len(key)}"
    block = world.scale.window_block
    _send(world, brokers, name, 0, block)
    _applied(world, brokers, name, table, key)
    if ids:
        _fill(world, table, ids)
    _load(world, table)
    took = []
    for first in (block, 2 * block):
        _send(world, brokers, name, first, first + block, known=block)
        took.append(_load(world, table))
    _assert_rows(world, table, ids + (_unique(3 * block) if key else 3 * block))
    return min(took, key=lambda one: one.blocks)


def _fill(world: World, table: str, ids: int) -> None:
    """Events of seven days that are known already, straight into the table: only the bench may do so."""
    columns = world.session.table(f"dwh.{table}").columns
    week = int(timedelta(days=7).total_seconds())
    made = {
        "pos": f"current_timestamp() - make_dt_interval(0, 0, 0, (id % {week}) + 60)", "id": "id + 4000000000000000000L",
        "_unique_hi": "xxhash64(id)", "_unique_lo": "xxhash64(id, 1)", "_block": "0L", "_execution": "0L",
        "_loaded_at": "current_timestamp()",
    }  # fmt: skip
    chosen = [f"{made.get(name, 'NULL')} AS {name}" for name in columns]
    ordered = world.session.range(0, ids, 1, max(1, ids // 2_000_000)).selectExpr(*chosen)
    ordered.writeTo(f"dwh.{table}").option("fanout-enabled", "true").option("distribution-mode", "none").append()


def _latency(world: World, brokers: str) -> Result:
    """One event after the other, from its sending to a reader's seeing it, with a warm loop beside."""
    name, table = "bench-latency", "stage.bench_latency"
    _send(world, brokers, name, 0, 10)
    _applied(world, brokers, name, table, KEY, REPEAT)
    _load(world, table)
    loop = Loop(world.engine, topics=frozenset({table}))
    thread = threading.Thread(target=loop.run)
    thread.start()
    try:
        taken = _seen_after(world, brokers, name, table)
    finally:
        loop.stop.set()
        thread.join()
    figures = {"median s": median(taken), "p99 s": nearest_rank(taken, 99), "least s": min(taken), "most s": max(taken)}
    parts = {"events": len(taken), "repeat s": REPEAT.total_seconds(), **figures}
    return Result("latency", "from producing an event to its being readable, median", median(taken), "s", "<=", 3.0, parts)


def _seen_after(world: World, brokers: str, topic: str, table: str) -> list[float]:
    from confluent_kafka import Producer

    producer, taken = Producer({"bootstrap.servers": brokers, "linger.ms": 0}), []
    for number in range(world.scale.latencies):
        before, began = _rows(world, table), time.monotonic()
        producer.produce(topic, json.dumps(_event(1_000_000 + number)))
        producer.flush()
        while _rows(world, table) == before:
            if time.monotonic() - began > DEADLINE:
                raise TimeoutError(f"{table}: event {number} was not readable within {DEADLINE:.0f} s")
            time.sleep(0.01)
        taken.append(time.monotonic() - began)
    return taken


def _rows(world: World, table: str) -> int:
    snapshot = world.engine.catalog.load(table).current_snapshot()
    return int(snapshot.summary["total-records"] or 0) if snapshot and snapshot.summary else 0


def _event(number: int) -> dict[str, Any]:
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"schema_version": 1, "project": "shop", "event_type": "view", "product_id": number, "happened_at": at}


def _send(world: World, brokers: str, topic: str, first: int, end: int, known: int = 0) -> None:
    """Events by number, one in five of them a second time, half of these from about `known` events before; written by Spark."""
    back = known - known % 5 + 4
    fields = (
        "1 AS schema_version, 'shop' AS project, 'view' AS event_type, "
        f"CASE WHEN id % 10 = 9 THEN id - {back} WHEN id % 5 = 4 THEN id - 4 ELSE id END AS product_id, "
        "date_format(current_timestamp(), \"yyyy-MM-dd'T'HH:mm:ss'Z'\") AS happened_at, id / 7 AS price, concat('/p/', id) AS url"
    )
    rows = world.session.range(first, end, 1, PARTITIONS).selectExpr(
        f"to_json(struct({fields})) AS value", f"CAST(id % {PARTITIONS} AS int) AS partition"
    )
    _create(brokers, topic)
    rows.write.format("kafka").option("kafka.bootstrap.servers", brokers).option("topic", topic).save()


def _create(brokers: str, topic: str) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": brokers})
    if topic not in admin.list_topics(timeout=10).topics:
        admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result()


def _applied(world: World, brokers: str, topic: str, table: str, key: tuple[str, ...], repeat: timedelta = AT_ONCE) -> None:
    properties = {name: KINDS[kind] for name, kind in (field.split() for field in FIELDS.split(", "))}
    schema = read_schema(
        1, json.dumps({"type": "object", "properties": properties, "required": list(KEY)}).encode(), "json", None
    )
    events = Events("json", (schema,), key, "field:schema_version", event_time="happened_at")
    source = SourceTable(f"broker.{table.split('.')[1]}", "kafka", kafka=KafkaTopic(topic, (brokers,)), events=events)
    checks = (Check("dead_letters", "dead_letters", maximum=0),)
    size = max(world.scale.window_block, world.scale.maxstep)
    module = Module(table, table, (source.name,), processor="ingest", repeat=repeat, maxstep=size, checks=checks)
    apply(world.engine, Lineage((module,), (source,)), "bench")


def _drained(world: World, brokers: str, topic: str, table: str) -> Took:
    _applied(world, brokers, topic, table, KEY)
    return _load(world, table)


def _load(world: World, table: str) -> Took:
    outcomes: list[Outcome] = []
    seconds = seconds_of(lambda: Loop(world.engine, frozenset({table}), outcomes.append).run(until_dry=True))
    if failed := [outcome.text for outcome in outcomes if outcome.result != "committed"]:
        raise AssertionError(f"{table}: {failed[0]}")
    return Took(seconds, sum(outcome.seconds for outcome in outcomes))


def _stream(world: World, brokers: str, topic: str, table: str) -> None:
    session = world.session
    session.sql("CREATE NAMESPACE IF NOT EXISTS dwh.plain")
    names = ", ".join(f"{field.split()[0]} {field.split()[1]}" for field in FIELDS.split(", "))
    audit = "_block bigint, _execution bigint, _loaded_at timestamp"
    session.sql(f"CREATE TABLE dwh.{table} (pos timestamp, id bigint, {names}, {audit}) USING iceberg PARTITIONED BY (days(pos))")
    reader = session.readStream.format("kafka").option("kafka.bootstrap.servers", brokers).option("subscribe", topic)
    records = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", str(world.scale.batch)).load()
    parsed = records.selectExpr(
        "timestamp AS pos", "shiftleft(CAST(partition AS bigint), 48) + offset AS id",
        f"from_json(CAST(value AS string), '{FIELDS}') AS event",
    ).selectExpr("pos", "id", "event.*")  # fmt: skip
    unique = parsed.withWatermark("pos", "7 days").dropDuplicatesWithinWatermark(list(KEY)).selectExpr("*", *AUDIT)
    writer = unique.writeStream.format("iceberg").outputMode("append").option("fanout-enabled", "true")
    checkpoint = str(world.engine.settings.home / f"checkpoint_{table}")
    writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).toTable(f"dwh.{table}").awaitTermination()
