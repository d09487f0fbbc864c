"""What someone asks for by partition keys: blocks to load, committed ones to restate. Each goes the way of every block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from dwh_assets.control.acts import ActStore
from dwh_assets.engine.attempt import Outcome, attempt
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.restate import restate, span_of
from dwh_assets.model.errors import ActRefused, NotDue, Refused, UnknownPartition
from dwh_assets.model.module import Lineage, Module
from dwh_assets.model.partition import PartitionKey, parse_key

Row = dict[str, Any]
LOADED = ("committed", "stale")


@dataclass(frozen=True)
class Asked:
    """Who asks, and why. `override` is a reason to pass over repeat, window and back-off. Nothing passes over the horizon:
    no block reads beyond what its dependencies and its delay allow."""

    who: str
    reason: str
    override: str = ""


def load_due(engine: Engine, lineage: Lineage, topics: Sequence[str], keys: Sequence[str]) -> Iterator[Outcome]:
    """Load what is due of these topics, not beyond these keys; ends when a topic has nothing more to do now."""
    for topic in topics:
        last = max((key.seq for key in map(parse_key, keys) if topic_of(topic, key.shard) == topic), default=0)
        yield from _load_upto(engine, lineage, topic, last)


def materialize(engine: Engine, lineage: Lineage, module: Module, keys: Sequence[str], asked: Asked) -> Iterator[Outcome]:
    """Load the blocks of these keys, and restate those that are committed, a range in one job.

    All keys are looked at before anything is done: what cannot be done as a whole is refused as a whole.
    """
    wanted = [_blocks(engine, module, shard, list(some)) for shard, some in _by_shard(keys)]
    for blocks in wanted:
        _refuse_gaps(engine, blocks)
    for blocks in wanted:
        yield from _restate_loaded(engine, lineage, blocks, asked)
        yield from _load_missing(engine, lineage, blocks, asked)


def topic_of(name: str, shard: str | None) -> str:
    return f"{name.partition(':')[0]}:{shard}" if shard else name


def _by_shard(keys: Sequence[str]) -> Iterator[tuple[str, Iterator[PartitionKey]]]:
    parsed = sorted(map(parse_key, keys), key=lambda key: (key.shard or "", key.seq))
    return groupby(parsed, key=lambda key: key.shard or "")


def _blocks(engine: Engine, module: Module, shard: str, keys: Sequence[PartitionKey]) -> list[Row]:
    """The blocks of these keys; a key that names none any more is refused."""
    topic = topic_of(module.name, shard or None)
    blocks = engine.partitions.by_number(topic, [key.seq for key in keys])
    known = {block["key"] for block in blocks}
    if unknown := [key.text for key in keys if key.text not in known]:
        raise UnknownPartition(
            f"{unknown[0]} is not a block of {topic}, or not any more: left out, taken back or planned anew. Nothing was done.\n"
            f"Reload the list of partitions; `dwh blocks {topic}` shows what there is."
        )
    return blocks


def _refuse_gaps(engine: Engine, blocks: Sequence[Row]) -> None:
    """Blocks are loaded in order: the first that is asked for must be the first that is missing, and none may be left out."""
    missing = [block["seq"] for block in blocks if block["status"] not in LOADED]
    if not missing:
        return
    topic = blocks[0]["topic"]
    unfinished = [row for row in engine.partitions.due(topic) if row["seq"] <= missing[-1]]
    skipped = [row["key"] for row in unfinished if row["seq"] not in missing]
    if skipped:
        raise ActRefused(
            f"{topic}: blocks are loaded in order, and {skipped[0]} comes before or between those that were asked for. "
            f"Nothing was done.\nAsk for {skipped[0]} too, or let the sensor load them."
        )


def _restate_loaded(engine: Engine, lineage: Lineage, blocks: Sequence[Row], asked: Asked) -> Iterator[Outcome]:
    loaded = [block for block in blocks if block["status"] in LOADED]
    acts, done = ActStore(engine.database, asked.who), 0
    for first, last in _ranges([block["seq"] for block in loaded]):
        if last <= done:
            continue  # a range before it was widened over it
        span = span_of(engine, lineage, loaded[0]["topic"], first, last)
        yield restate(engine, lineage, acts, span, asked.reason)
        done = span.last


def _ranges(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbouring numbers as ranges."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges


def _load_missing(engine: Engine, lineage: Lineage, blocks: Sequence[Row], asked: Asked) -> Iterator[Outcome]:
    missing = [block["seq"] for block in blocks if block["status"] not in LOADED]
    if not missing:
        return
    topic, loaded = blocks[0]["topic"], 0
    if asked.override:
        ActStore(engine.database, asked.who).override(topic, asked.reason)
    for outcome in _load_upto(engine, lineage, topic, missing[-1], force=bool(asked.override)):
        yield outcome
        if outcome.result != "committed":
            return
        loaded = max(loaded, outcome.claim.blocks[-1].seq if outcome.claim else 0)
    if loaded < missing[-1] and engine.ending():
        left = sum(seq > loaded for seq in missing)
        raise Refused(
            f"topic {topic}: the worker of this run ended after a block: it was told to, or its code or Lineage is another "
            f"by now. What it loaded stays; {left} of {len(missing)} blocks are left.\n"
            "Ask for them again, or let the sensor load them."
        )
    if loaded < missing[-1]:
        reason = engine.topics.verdicts([topic])[0]
        raise NotDue(f"topic {topic} is not due: {reason['verdict']}, {reason['reason']}. {len(missing)} blocks were asked for.")


def _load_upto(engine: Engine, lineage: Lineage, topic: str, last: int, force: bool = False) -> Iterator[Outcome]:
    """Attempt block after block while they commit, up to block `last`; an open restatement comes first, as always.

    A worker that is to end does so after a block: what is left is asked for again.
    """
    while True:
        due = engine.partitions.due(topic)
        if not due or due[0]["seq"] > last:
            return
        outcome = attempt(engine, lineage, topic, force=force)
        if outcome.result == "idle":
            return
        yield outcome
        if outcome.result != "committed" or engine.ending():
            return
