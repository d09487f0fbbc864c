"""The command `dwh worker`: a warm process that carries out runs and blocks."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from dwh_assets.cli.logs import TextLines
from dwh_assets.cli.opening import settings_of

if TYPE_CHECKING:
    from dwh_assets.config.settings import Settings
    from dwh_assets.engine.engine import Engine
    from dwh_assets.workers.job import Handler


def worker(
    context: typer.Context,
    dagster: Annotated[bool, typer.Option("--dagster/--no-dagster", help="Also carry out runs of Dagster.")] = True,
) -> None:
    """A warm process that loads blocks and carries out Dagster's runs, one at a time; `dwh up` starts some."""
    settings = settings_of(context)
    told = logging.StreamHandler()  # these lines are all that a worker says on a terminal
    told.setFormatter(TextLines())
    own = logging.getLogger("dwh_assets")
    own.addHandler(told)
    own.setLevel(settings.log_level)
    with _opened(settings, dagster) as (engine, handlers):
        in_order = _work(engine, handlers)
    if not in_order:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - itself, with new code


def _work(engine: Engine, handlers: dict[str, Handler]) -> bool:
    from dwh_assets.workers.bus import open_bus
    from dwh_assets.workers.freshness import Freshness
    from dwh_assets.workers.topics import KIND, topic_handler
    from dwh_assets.workers.worker import Worker

    engine.session()  # now, so that the first block need not wait for it
    bus = open_bus(engine.database, engine.settings)
    fresh = Freshness(engine.lineage, engine.settings)
    handlers = handlers | {KIND: topic_handler(engine)}
    return Worker(engine.database, bus, handlers, engine.settings, fresh.outdated, engine.id).work()


@contextmanager
def _opened(settings: Settings, dagster: bool) -> Iterator[tuple[Engine, dict[str, Handler]]]:
    from dwh_assets.engine.engine import open_engine
    from dwh_assets.engine.presence import using_servers

    with using_servers(settings), open_engine(settings) as engine:
        if not dagster:
            yield engine, {}
            return
        from dwh_assets.orchestration.instance import join

        join(settings)
        from dwh_assets.orchestration.run_handler import dagster_handlers

        with dagster_handlers(engine) as handlers:
            yield engine, handlers
