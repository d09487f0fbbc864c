"""What a block costs beside its Spark job: small blocks through the engine, and the same appends by a plain DataFrame."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

from bench.drain import drained
from bench.result import Result
from bench.stopwatch import seconds_of, watching
from bench.world import World
from dwh_assets.engine.loop import Loop


def measure(world: World) -> list[Result]:
    scale = world.scale
    rows = scale.blocks * scale.block_rows
    drained(world, "fact.small_warm", rows, max(rows // 5, 1), stretch=1)
    _appends(world, "plain.small_warm", rows, 5)
    plain = _appends(world, "plain.small", rows, scale.blocks)
    ended, parts = _blocks(world, rows)
    plain += _appends(world, "plain.small_again", rows, scale.blocks)
    between = [later - earlier for earlier, later in pairwise(ended)]
    found = {"block to block s": median(between), "plain append s": median(plain), "blocks": scale.blocks, "medians s": parts}
    what = "time of a small block, from commit to commit, less a plain append of the same rows"
    return [Result("overhead", what, median(between) - median(plain), "s", "<=", 0.15, found)]


def _blocks(world: World, rows: int) -> tuple[list[float], dict[str, float]]:
    """When each block was committed, and the median of each part."""
    world.module("fact.small", world.events(rows), world.scale.block_rows, stretch=1)
    loop = Loop(world.engine, topics=frozenset({"fact.small"}))
    with watching() as watch:
        loop.run(until_dry=True)
    return watch.ends["commit"], watch.medians()


def _appends(world: World, table: str, rows: int, count: int) -> list[float]:
    """The same rows in as many appends, each by the same query over its range."""
    events = world.events(rows)
    world.plain_table(table, events)
    size = rows // count

    def append(number: int) -> None:
        where = f"WHERE e.id >= {number * size} AND e.id < {(number + 1) * size}"
        world.session.sql(world.plain_query(events, where)).writeTo(f"dwh.{table}").append()

    return [seconds_of(lambda n=n: append(n)) for n in range(count)]
