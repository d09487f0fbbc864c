"""Alerts: found in the ledger, delivered to their targets, in rounds beside the ticks. Dagster's sensor calls the same round."""

from __future__ import annotations

import logging
import threading
import time

from dwh_assets.control.alerts import AlertStore
from dwh_assets.control.database import Database
from dwh_assets.engine.alert_targets import targets_of
from dwh_assets.engine.deliver import deliver
from dwh_assets.engine.engine import Engine
from dwh_assets.model.errors import DwhError

logger = logging.getLogger(__name__)
ROUND_SECONDS = 15.0


def find_alerts(database: Database) -> None:
    """Parked blocks, failed checks and topics behind their promise become alerts; what is over is resolved."""
    AlertStore(database).find()


def alert_round(engine: Engine) -> None:
    """Find, then deliver. Raises nothing: no trouble with alerts ends the loading."""
    try:
        find_alerts(engine.database)
        deliver(engine.alerts, targets_of(engine.settings))
    except DwhError as error:
        logger.warning("alerts: %s", error)
    except Exception:
        logger.exception("alerts")


class AlertRounds:
    """A round now and then, in a thread of its own: a target that does not answer holds up no tick."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._began = float("-inf")
        self._round: threading.Thread | None = None

    def begin_if_due(self) -> None:
        running = self._round is not None and self._round.is_alive()
        if not running and time.monotonic() - self._began >= ROUND_SECONDS:
            self._began = time.monotonic()
            self._round = threading.Thread(target=alert_round, args=(self._engine,), name="alerts", daemon=True)
            self._round.start()

    def __enter__(self) -> AlertRounds:
        return self

    def __exit__(self, *error: object) -> None:
        """Wait for the round that runs: the engine is closed next."""
        if self._round is not None:
            self._round.join()
