"""What a block costs beside its Spark job: small blocks through the engine, and the same appends by a plain DataFrame."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from bench.drain import drained
from bench.result import Result
from bench.stopwatch import seconds_of, watching
from bench.world import World
from dwh_assets.engine.attempt import attempt
from dwh_assets.engine.loop import Loop


def measure(world: World) -> list[Result]:
    """In turns, a block and an append of as many rows: what else the machine does then falls on both alike."""
    scale = world.scale
    rows = scale.blocks * scale.block_rows
    drained(world, "fact.small_warm", rows, max(rows // 5, 1), stretch=1)
    append = _appends(world, "plain.small", rows, scale.blocks)
    append(0)
    blocks, plain = [], []
    module = world.module("fact.small", world.events(rows), scale.block_rows, stretch=1)
    loop = Loop(world.engine, topics=frozenset({module.name}))
    with watching() as watch:
        for number in range(scale.blocks):
            lineage, _ = loop.tick()
            blocks.append(seconds_of(lambda lineage=lineage: attempt(world.engine, lineage, module.name)))
            plain.append(seconds_of(lambda number=number: append(number)))
    # The first block is for what is loaded on first use, and for the speed that sizes the others.
    above = [block - append for block, append in zip(blocks[1:], plain[1:], strict=True)]
    found = {
        "block s": median(blocks[1:]),
        "plain append s": median(plain[1:]),
        "blocks": scale.blocks,
        "medians s": watch.medians(),
    }
    what = "time of a small block less a plain append of as many rows, taken in turns"
    return [Result("overhead", what, median(above), "s", "<=", 0.15, found)]


def _appends(world: World, table: str, rows: int, count: int) -> Callable[[int], None]:
    """One of so many appends of the same rows, each by the same query over its range."""
    events = world.events(rows)
    world.plain_table(table, events)
    size = rows // count

    def append(number: int) -> None:
        where = f"WHERE e.id >= {number * size} AND e.id < {(number + 1) * size}"
        world.session.sql(world.plain_query(events, where)).writeTo(f"dwh.{table}").append()

    return append
