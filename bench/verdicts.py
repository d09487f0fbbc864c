"""Verdicts of ten thousand topics, and how many of them can be claimed in a second."""

from __future__ import annotations

import time
from random import Random
from statistics import median
from typing import Any

from bench.claiming import backend, busy, claim_all, claim_together, rate
from bench.ledger import fill
from bench.result import Result
from bench.scale import Scale
from bench.stopwatch import seconds_of
from bench.world import World, fresh_engine
from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql
from dwh_assets.control.topics import TopicStore

_EXPLAIN = "explain (analyze, timing off, buffers off, format json)"


def measure(world: World) -> list[Result]:
    scale = world.scale
    with fresh_engine(world.engine.settings, world.engine.postgres_url, "bench_verdicts") as engine:
        topics = fill(engine.database, scale.modules, scale.shards)
        return [_verdicts(engine.database.url, len(topics), scale.repeats), _claims(engine.database.url, topics, scale)]


def _verdicts(url: str, topics: int, repeats: int) -> Result:
    """In Postgres: as a prepared statement, which it is from the sixth tick on. Fetched: as rows of the tick in Python."""
    database = Database(url, size=1)
    try:
        statement: Any = sql("select_verdicts")
        anew = [_ms(database, f"{_EXPLAIN} {statement}") for _ in range(repeats)]
        database.execute(f"prepare verdicts as {statement}".encode())
        prepared = [_ms(database, f"{_EXPLAIN} execute verdicts") for _ in range(repeats)]
        parts = {"topics": topics, "in Postgres ms": _spread(prepared), "if planned anew ms": _spread(anew)}
        return Result(
            "verdicts", f"verdicts of {topics:,} topics", median(prepared), "ms", "<=", 50, parts | _fetched(database, repeats)
        )
    finally:
        database.close()


def _fetched(database: Database, repeats: int) -> dict[str, Any]:
    server = backend(database)
    began = busy(server), time.process_time()
    store = TopicStore(database)
    fetched = [1000 * seconds_of(store.verdicts) for _ in range(repeats)]
    used = {"Postgres": busy(server) - began[0], "Python": time.process_time() - began[1]}
    return {
        "fetched into Python ms": _spread(fetched),
        "processor ms of a fetch": {name: 1000 * seconds / repeats for name, seconds in used.items()},
    }


def _ms(database: Database, statement: Any) -> float:
    plan = database.fetch(statement)[0]["QUERY PLAN"][0]
    return plan["Planning Time"] + plan["Execution Time"]


def _spread(found: list[float]) -> dict[str, float]:
    return {"median": median(found), "best": min(found)}


def _claims(url: str, topics: list[str], scale: Scale) -> Result:
    """Each topic is claimed once: some one by one, then in sets by one process, and in sets by two at once."""
    mixed = Random(1).sample(topics, len(topics))  # as they come: the shards of a module do not lie together
    ends = [round(share * len(mixed)) for share in (0.1, 0.5, 0.75, 1)]
    single, alone, first, second = (mixed[start:end] for start, end in zip([0, *ends], ends, strict=False))
    one_by_one = claim_all(url, single, 1)
    in_sets = claim_all(url, alone, scale.claim_set)
    together = claim_together(url, [first, second], scale.claim_set)
    found = {
        "claims in a set": scale.claim_set,
        "one process, one by one": rate([one_by_one]),
        "one process, in sets": rate([in_sets]),
        "two processes, in sets": rate(together),
        "processor ms of a claim, one by one": one_by_one.processor_ms,
        "processor ms of a claim, in sets": in_sets.processor_ms,
        "processor ms of a claim, in sets of two processes": together[0].processor_ms,
    }
    return Result("claims", "claims in a second", max(rate([in_sets]), rate(together)), "/s", ">=", 2000, found)
