"""Named points around every effect of the way of a block and of a batch, where a test can kill, stop or break the process.

`DWH_FAILPOINTS="stage.after=kill"` arms one; `name=action*N` fires at its N-th passage only. Actions: kill, stop,
raise, sleep:SECONDS. `DWH_UNPROTECTED="token,position"` switches protections off: tests show that the suite then goes
red. Both are for tests; nothing else reads them. An unknown name is an error.
"""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections import Counter
from datetime import UTC, datetime

from dwh_assets.model.errors import ConfigError

POINTS = (
    "plan.before", "plan.inside", "plan.after",
    "claim.before", "claim.inside", "claim.after",
    "fork.before", "fork.after",
    "stage.before", "stage.during", "stage.after",
    "check.before", "check.after",
    "publish.before", "publish.after",
    "commit.before", "commit.pointers", "commit.cursor", "commit.after",
    "fail.before", "fail.after",
)  # fmt: skip
BATCH_POINTS = ("batch.before", "batch.begun", "batch.module", "batch.ending", "batch.ended")
PROTECTIONS = (
    "stored_range", "token", "position", "own_branch", "staging", "clock", "horizon", "reread", "columns", "shown",
    "session", "pointer", "snapshot", "watermark", "generation", "lock", "stale", "rising", "own_rows",
)  # fmt: skip
_ACTION = re.compile(r"(kill|stop|raise|sleep:\d+(\.\d+)?)(\*\d+)?")
_passages: Counter[str] = Counter()


class FailpointError(Exception):
    """Raised by a failpoint whose action is `raise`."""


def failpoint(name: str) -> None:
    """Do what `DWH_FAILPOINTS` asks for at this point; nothing, in everyday use."""
    armed = os.environ.get("DWH_FAILPOINTS")
    if not armed:
        return
    actions = _actions(armed)
    known = (*POINTS, *BATCH_POINTS)
    if unknown := {name, *actions} - set(known):
        raise ConfigError(f"unknown failpoint {', '.join(sorted(unknown))}; known are {', '.join(known)}")
    action, _, passage = actions.get(name, "").partition("*")
    if not action:
        return
    _passages[name] += 1
    if not passage or int(passage) == _passages[name]:
        _act(name, action)


def _actions(armed: str) -> dict[str, str]:
    """Point -> action; a word that is not one is an error even where its point is never passed."""
    actions = {name: action for name, _, action in (entry.partition("=") for entry in armed.split(","))}
    for name, action in actions.items():
        if _ACTION.fullmatch(action) is None:
            raise ConfigError(f"unknown action {action!r} of failpoint {name}; known are kill, stop, raise, sleep:SECONDS")
    return actions


def _act(name: str, action: str) -> None:
    verb, _, argument = action.partition(":")
    if verb == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif verb == "stop":
        # To this thread: one sent to the process may stop another thread first, and this one would go on for a moment.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
    elif verb == "raise":
        raise FailpointError(f"failpoint {name}")
    else:
        time.sleep(float(argument))


def protected(name: str) -> bool:
    """False where a test has switched this protection off."""
    off = [word for word in os.environ.get("DWH_UNPROTECTED", "").split(",") if word]
    if unknown := {name, *off} - set(PROTECTIONS):
        raise ConfigError(f"unknown protection {', '.join(sorted(unknown))}; known are {', '.join(PROTECTIONS)}")
    return name not in off


def local_clock() -> datetime:
    """This machine's clock, which decides about leases only where a test lets it (R6)."""
    return datetime.fromtimestamp(time.time(), UTC)
