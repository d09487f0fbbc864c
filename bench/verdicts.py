"""Verdicts of ten thousand topics, and how many of them can be claimed in a second."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from statistics import median
from typing import Any

from bench.claiming import claim_all
from bench.ledger import fill
from bench.result import Result
from bench.stopwatch import seconds_of
from bench.world import World, fresh_engine
from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql


def measure(world: World) -> list[Result]:
    scale = world.scale
    with fresh_engine(world.engine.settings, world.engine.postgres_url, "bench_verdicts") as engine:
        topics = fill(engine.database, scale.modules, scale.shards)
        return [_verdicts(engine.database, len(topics), scale.repeats), _claims(engine.database.url, topics, scale.claims)]


def _verdicts(database: Database, topics: int, repeats: int) -> Result:
    engine = [_execution_ms(database) for _ in range(repeats)]
    fetched = [1000 * seconds_of(lambda: database.fetch(sql("select_verdicts"), topics=None)) for _ in range(repeats)]
    parts = {"topics": topics, "in Postgres ms": median(engine), "fetched into Python ms": median(fetched)}
    return Result("verdicts", f"verdicts of {topics:,} topics", median(engine), "ms", "<=", 50, parts)


def _execution_ms(database: Database) -> float:
    statement: Any = f"explain (analyze, timing off, format json) {sql('select_verdicts')}"
    plan = database.fetch(statement, topics=None)[0]["QUERY PLAN"][0]
    return plan["Planning Time"] + plan["Execution Time"]


def _claims(url: str, topics: list[str], count: int) -> Result:
    """Half of the claims by one process, the other half by two at once; each topic is claimed once."""
    chosen = topics[: 2 * count]
    half = len(chosen) // 2
    alone = half / claim_all(url, chosen[:half])
    parts = [chosen[half::2], chosen[half + 1 :: 2]]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        together = sum(len(part) / seconds for part, seconds in zip(parts, pool.map(claim_all, [url] * 2, parts), strict=True))
    found = {"claims": len(chosen), "by one process": alone, "by two at once": together}
    return Result("claims", "claims in a second", max(alone, together), "/s", ">=", 2000, found)
