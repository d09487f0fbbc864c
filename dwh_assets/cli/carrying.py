"""Carrying out a restatement or rollback that was asked for, here or by the worker that was quicker."""

from __future__ import annotations

import time
from collections.abc import Callable

from dwh_assets.cli.output import warn
from dwh_assets.control.reports import Reports
from dwh_assets.engine.attempt import Outcome
from dwh_assets.engine.engine import Engine
from dwh_assets.model.errors import ActRefused, Refused, Transient

POLL_SECONDS = 0.5
_NOUNS = {"restate": "restatement", "rollback": "rollback"}


def carry_out(engine: Engine, topic: str, act: Callable[[], Outcome]) -> Outcome:
    """Do it. The wish is stored first, so a loop that runs beside us may take it: then its end is waited for."""
    try:
        return _carried_out(engine, topic, act)
    except KeyboardInterrupt:
        _tell_what_stays(engine, topic)
        raise


def _carried_out(engine: Engine, topic: str, act: Callable[[], Outcome]) -> Outcome:
    try:
        outcome = act()
    except Refused as error:
        outcome = Outcome("idle", topic, str(error))
    if outcome.result == "committed":
        return outcome
    if outcome.result in ("idle", "lost"):
        return _await(engine, topic)
    if outcome.result == "parked":
        raise ActRefused(f"{topic}: {outcome.text}\nNothing was changed in the table. Correct it and ask again.")
    raise Transient(
        f"{topic}: {outcome.text}\nNothing was changed in the table yet; a running `dwh up` or `dwh run` tries it again."
    )


def _tell_what_stays(engine: Engine, topic: str) -> None:
    """Ctrl-C ends the attempt, not the wish."""
    found = Reports(engine.database).restatement(topic)
    if found is not None and found["status"] == "open":
        warn(
            f"{topic}: the {_NOUNS[found['kind']]} of its blocks {found['first_seq']} to {found['last_seq']} is not done, "
            "but stays asked for: a running `dwh up` or `dwh run`, or else the next one, carries it out."
        )


def _await(engine: Engine, topic: str) -> Outcome:
    reports = Reports(engine.database)
    while True:
        found = reports.restatement(topic)
        if found is None or found["status"] == "committed":
            return Outcome("committed", topic, "carried out by another worker")
        if found["status"] == "failed":
            raise ActRefused(f"{topic}: the {found['kind']} failed: {found['problem']}\nNothing was changed in the table.")
        time.sleep(POLL_SECONDS)
