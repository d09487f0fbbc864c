"""Planning the next block of a topic with a very long history, against the same topic when it was young."""

from __future__ import annotations

from datetime import datetime, timedelta
from statistics import median
from typing import Any

import pyarrow as pa

from bench.ledger import fill, lengthen
from bench.result import Result
from bench.stopwatch import seconds_of
from bench.world import World, fresh_engine
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.plan import plan_topic
from dwh_assets.model.module import Module

YOUNG = 100


def measure(world: World) -> list[Result]:
    scale = world.scale
    with fresh_engine(world.engine.settings, world.engine.postgres_url, "bench_planning") as engine:
        fill(engine.database, modules=1, shards=1, past=0)
        engine.database.execute("update dwh.topic set shard = null, name = module")
        engine.database.execute("delete from dwh.block where status = 'planned'")
        lengthen(engine.database, YOUNG)
        young = _plan(engine, scale.repeats)
        lengthen(engine.database, scale.ledger - YOUNG)
        old = _plan(engine, scale.repeats)
    parts = {f"after {YOUNG} blocks ms": young, f"after {scale.ledger:,} blocks ms": old}
    what = f"planning the next block after {scale.ledger:,} blocks / after {YOUNG}"
    return [Result("planning", what, old["all"] / young["all"], "x", "<=", 1.5, parts)]


def _plan(engine: Engine, repeats: int) -> dict[str, float]:
    """Verdict, cut and store, again and again; the plan is forgotten in between."""
    lineage = engine.lineage.active()
    module = lineage.modules[0]
    _append_rows(engine, module)
    found = [_once(engine, lineage, module) for _ in range(repeats + 5)][5:]
    return {name: median(1000 * entry[name] for entry in found) for name in ("verdict", "plan", "all")}


def _once(engine: Engine, lineage: Any, module: Module) -> dict[str, float]:
    rows: list[dict[str, Any]] = []
    verdict = seconds_of(lambda: rows.extend(engine.topics.verdicts([module.name])))
    stored: list[int] = []
    plan = seconds_of(lambda: stored.append(plan_topic(engine, lineage, module, rows[0])))
    if stored != [1]:
        raise AssertionError(f"planned {stored} blocks, not one: {rows[0]['verdict']}")
    engine.database.execute("delete from dwh.block where status = 'planned'")
    engine.database.execute("update dwh.topic set examined = null")
    return {"verdict": verdict, "plan": plan, "all": verdict + plan}


def _append_rows(engine: Engine, module: Module) -> None:
    """A few rows behind the cursor of the topic."""
    row = engine.database.fetch_one("select last_pos from dwh.topic")
    assert row is not None
    last: datetime = row["last_pos"]
    at = [last + timedelta(seconds=second) for second in range(1, 11)]
    rows = pa.table({"pos": pa.array(at, pa.timestamp("us", tz="UTC")), "id": pa.array(range(10), pa.int64())})
    engine.catalog.sql.create_namespace_if_not_exists(module.base.split(".")[0])
    engine.catalog.sql.create_table_if_not_exists(module.base, rows.schema).append(rows)
    engine.sources.observed(module.base, at[-1], at[-1], at[-1])
