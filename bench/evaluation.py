"""Evaluations of a module and of a batch with a long history behind them."""

from __future__ import annotations

from statistics import median

from bench.result import Result
from bench.stopwatch import seconds_of
from bench.world import World, fresh_engine
from dwh_assets.control.database import Database
from dwh_assets.engine.engine import Engine
from dwh_assets.model.batch import Batch, Command, Link
from dwh_assets.model.block import RowCounts, Start
from dwh_assets.model.module import Lineage

HISTORY = 100_000
_EXECUTIONS = """
insert into dwh.execution (topic_id, attempt, token, worker, module_version, execution_code, processing_code, next_run_code,
                           batch_instance_id, started_at, ended_at, rolled_back_by)
select t.id, 1, n, 'bench', 1, case when n %% 10 = 0 then 'Failed' else 'Succeeded' end, 'Proceed', 'Proceed',
       (select min(id) from dwh.batch_instance) + n %% 1000, now() - n * interval '1 s', now() - n * interval '1 s', null
from dwh.topic t, generate_series(1, %(history)s / (select count(*) from dwh.topic)) n
"""
_ROLLED_BACK = "update dwh.execution e set rolled_back_by = e.id where execution_code = 'Failed'"
_INSTANCES = """
insert into dwh.batch_instance (batch, started_by, worker, execution_code, processing_code, next_run_code, started_at, ended_at)
select 'nightly', 'bench', 'bench', 'Succeeded', 'Proceed', 'Proceed', now() - n * interval '1 min', now() - n * interval '1 min'
from generate_series(1, %(history)s / 10) n
"""


def measure(world: World) -> list[Result]:
    with fresh_engine(world.engine.settings, world.engine.postgres_url, "bench_evaluation") as engine:
        commands = tuple(Command(f"ops.c{number}", "command", ("true",)) for number in range(10))
        batch = Batch("nightly", tuple(Link(command.name) for command in commands), frequency="* * * * *")
        engine.lineage.apply(Lineage((), (), batches=(batch,), commands=commands), "bench")
        _fill(engine.database)
        module = [1000 * _module(engine) for _ in range(world.scale.repeats * 10)]
        batches = [1000 * seconds_of(engine.batches.to_follow) for _ in range(world.scale.repeats)]
    parts = {"instances": HISTORY, "median ms": median(module), "worst ms": max(module), "followers ms": median(batches)}
    what = f"evaluation and start of one module after {HISTORY:,} instances"
    return [Result("evaluation", what, median(module), "ms", "<=", 5, parts)]


def _fill(database: Database) -> None:
    for statement in (_INSTANCES, _EXECUTIONS, _ROLLED_BACK):
        database.execute(statement.encode(), **({"history": HISTORY} if "history" in statement else {}))
    database.execute(b"analyze")


def _module(engine: Engine) -> float:
    held = []
    seconds = seconds_of(lambda: held.append(engine.commands.begin("ops.c1", Start())))
    engine.commands.succeed(held[0], RowCounts())
    return seconds
