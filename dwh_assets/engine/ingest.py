"""What people do with streams of events: try dead letters again, look at one, go on elsewhere in the stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dwh_assets.control.acts import ActStore
from dwh_assets.engine.engine import Engine
from dwh_assets.model.errors import ActRefused, UnknownBlock
from dwh_assets.model.events import Contents, dead_letters_of
from dwh_assets.model.module import Lineage, Module
from dwh_assets.model.position import Position
from dwh_assets.sources.kafka.broker import Held
from dwh_assets.sources.kafka.source import KafkaSource
from dwh_assets.warehouse.publish import snapshot_of
from dwh_assets.warehouse.reading import Span, read_columns

Row = dict[str, Any]
WORDS = ("earliest", "latest", "reread")
SHOWN = ["pos", "id", "origin", "partition", "offset", "timestamp", "key", "value", "reason", "detail", "_block"]


def ingest_module(lineage: Lineage, topic: str) -> Module:
    module = next((m for m in lineage.modules if m.name == topic), None)
    if module is None or module.processor != "ingest":
        known = ", ".join(m.name for m in lineage.modules if m.processor == "ingest") or "none"
        raise ActRefused(f"{topic} takes in no events; those that do are: {known}. Nothing was changed.")
    return module


def replay(
    engine: Engine,
    lineage: Lineage,
    acts: ActStore,
    topic: str,
    reason: str,
    blocks: Sequence[int] | None = None,
    reasons: Sequence[str] | None = None,
) -> list[Row]:
    """Plan a block of dead letters behind the last one; it goes the way of every block."""
    ingest_module(lineage, topic)
    return acts.replay(topic, blocks, reasons, reason)


def dead_letters(engine: Engine, lineage: Lineage, topic: str, block: int | None = None, most: int = 20) -> list[Row]:
    """The dead letters themselves, of one block or of all, in the order of their positions."""
    table = dead_letters_of(ingest_module(lineage, topic).table)
    spans = () if block is None else (Span("_block", block, block),)
    found: list[Row] = []
    for batch in read_columns(engine.catalog, table, snapshot_of(engine.catalog, table), SHOWN, spans):
        found += batch.to_pylist()
    if block is not None and not found:
        raise UnknownBlock(f"block #{block} of {topic} left no dead letters; `dwh deadletter list` shows which did.")
    return sorted(found, key=lambda row: (row["pos"], row["id"]))[:most]


def seek(engine: Engine, lineage: Lineage, acts: ActStore, topic: str, to: str, reason: str) -> tuple[Position, dict[int, int]]:
    """Go on at other offsets: where lost ones end (`earliest`), at the end (`latest`), at all that is held (`reread`), or at
    `0=120,1=80`. What is loaded is not read again, but by `reread` and by offsets that are named."""
    module = ingest_module(lineage, topic)
    source = engine.source(module.base, lineage, module)
    if not isinstance(source, KafkaSource):
        raise ActRefused(f"{module.base} is no Kafka topic, so it has no offsets. Nothing was changed.")
    held = source.broker.held()
    offsets = {} if to in WORDS else _offsets(to)
    if unknown := sorted(offsets.keys() - held.high.keys()):
        raise ActRefused(f"{source.kafka.topic} has no partition {unknown[0]}; it has {sorted(held.high)}. Nothing was changed.")
    for partition, offset in offsets.items():
        if not held.low[partition] <= offset <= held.high[partition]:
            span = f"{held.low[partition]} to {held.high[partition]}"
            raise ActRefused(f"partition {partition} holds {span}, not {offset}. Nothing was changed.")
    position, contents = acts.seek(topic, lambda loaded: Contents(held.stream, end=_places(to, held, loaded) | offsets), reason)
    return position, contents.end


def _places(to: str, held: Held, loaded: Contents) -> dict[int, int]:
    """Where each partition goes on. One that has lost nothing stays where it is: its events would be loaded twice."""
    if to == "latest":
        return held.high
    if to == "reread" or loaded.stream != held.stream:
        return held.low
    kept = {partition: loaded.end.get(partition, low) for partition, low in held.low.items()}
    if to == "earliest":
        return {p: offset if held.low[p] <= offset <= held.high[p] else held.low[p] for p, offset in kept.items()}
    return kept


def _offsets(text: str) -> dict[int, int]:
    try:
        pairs = [part.split("=") for part in text.split(",")]
        return {int(partition): int(offset) for partition, offset in pairs}
    except ValueError:
        raise ActRefused(f"{text!r} is no place in a stream; write {', '.join(WORDS)}, or offsets such as 0=120,1=80.") from None
