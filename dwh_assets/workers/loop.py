"""The loop whose blocks are loaded by workers: it ticks, and asks for each topic that is due."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dwh_assets.engine.alerts import AlertRounds
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.loop import Loop
from dwh_assets.engine.turn import rank
from dwh_assets.model.errors import DwhError
from dwh_assets.workers.bus import open_bus
from dwh_assets.workers.manager import Dispatch
from dwh_assets.workers.topics import KIND

logger = logging.getLogger(__name__)
Row = dict[str, Any]


def ask_for_due(engine: Engine, stop: threading.Event) -> None:
    """Until told to stop. A topic that was asked for and waits, or is being loaded, is not asked for twice."""
    loop = Loop(engine)
    dispatch = Dispatch(engine.database, open_bus(engine.database, engine.settings), engine.settings)
    with AlertRounds(engine) as alerts, loop.audits:
        while not stop.is_set():
            try:
                _, due = loop.tick()
                ask_for(dispatch, due)
                alerts.begin_if_due()
            except DwhError as error:
                logger.warning("tick: %s", error)
            except Exception:  # whatever a tick raises: without this thread nothing would be loaded any more
                logger.exception("tick")
            stop.wait(engine.settings.tick_seconds)


def ask_for(dispatch: Dispatch, due: Sequence[Row]) -> None:
    """Who has waited longest is asked for first: of those that are asked for in one tick, it comes first among equals."""
    for row in sorted(due, key=rank):
        dispatch.ask(KIND, row["topic"], row["topic"], row["priority"])


@contextmanager
def asking(engine: Engine, stop: threading.Event) -> Iterator[None]:
    """Beside what the caller does, until it is done."""
    thread = threading.Thread(target=ask_for_due, args=(engine, stop), name="ticks", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
