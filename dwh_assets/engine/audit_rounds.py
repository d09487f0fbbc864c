"""Audits in rounds beside the ticks: one a minute, in a thread of its own, so that no topic waits for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from dwh_assets.engine.audit import audit_round
from dwh_assets.engine.engine import Engine
from dwh_assets.model.errors import DwhError
from dwh_assets.model.module import Lineage

logger = logging.getLogger(__name__)
ROUND_SECONDS = 60.0


class AuditRounds:
    """The first round begins a while after this was made: a short-lived process never audits."""

    def __init__(self, engine: Engine, waits: Callable[[], bool] = lambda: False) -> None:
        self._engine = engine
        self._waits = waits
        self._began = time.monotonic()
        self._ending = threading.Event()
        self._round: threading.Thread | None = None

    def begin_if_due(self, lineage: Lineage) -> None:
        running = self._round is not None and self._round.is_alive()
        if running or self._stops() or time.monotonic() - self._began < ROUND_SECONDS or not self._engine.settings.audit_rows:
            return
        self._began = time.monotonic()
        self._round = threading.Thread(target=self._run, args=(lineage,), name="audit", daemon=True)
        self._round.start()

    def _stops(self) -> bool:
        return self._ending.is_set() or self._waits()

    def _run(self, lineage: Lineage) -> None:
        """Raises nothing: no trouble with an audit ends the loading."""
        try:
            for finding in audit_round(self._engine, lineage, ROUND_SECONDS / 3600, self._stops):
                logger.warning("%s", finding.text)
        except DwhError as error:
            logger.warning("audit: %s", error)
        except Exception:
            logger.exception("audit")

    def __enter__(self) -> AuditRounds:
        return self

    def __exit__(self, *error: object) -> None:
        """The round ends after its block, and is waited for: the engine is closed next."""
        self._ending.set()
        if self._round is not None:
            self._round.join()
