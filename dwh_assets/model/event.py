"""What may stand in the event log: its kinds, and the codes that this code writes, each with what it means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

EventKind = Literal["process", "act", "information", "custom"]
KINDS: Mapping[EventKind, str] = {
    "process": "something went wrong or was put right while loading",
    "act": "a person did something by hand; the text ends with the reason that was given",
    "information": "something that is no fault and that nobody did by hand",
    "custom": "written by a person or a script with `dwh event`; it tells of no effect of ours",
}
CODES: Mapping[str, str] = {
    "AUDIT": "an audit found that the base rows of a loaded block are not what was read",
    "BACKFILL": "a topic is loaded behind the live ones until it has caught up",
    "BATCH": "a run of a batch failed; the text names its parts",
    "DROP": "a table was dropped",
    "EXPIRED": "rows, or events, that were kept long enough were removed",
    "FAILED": "an attempt failed; it is tried again",
    "LATE": "rows appeared in a base table behind what was loaded",
    "LINEAGE": "a module, source, batch, command or parameter was added, changed or removed",
    "LOST": "a worker is gone; what it had not committed is done again",
    "NEXT_RUN": "what the next run of a topic or a batch shall do",
    "OBSERVE": "a source or a table could not be looked at",
    "OVERRIDE": "blocks are loaded in spite of repeat, window and back-off",
    "PARKED": "a block waits for a person: a blocking check failed, or all attempts did",
    "PAUSE": "a topic rests until it is resumed",
    "PLAN": "blocks of a topic could not be planned",
    "RECONCILE": "the control store was brought to what the tables hold",
    "RELEASE": "a parked block is tried again, with a check waived for it",
    "REPLAY": "dead letters are tried again",
    "RESET": "a cursor was moved",
    "RESTATE": "committed blocks are loaded again",
    "RESTORED": "the control store was restored from a backup",
    "RESUME": "a paused topic goes on",
    "RETRY": "a begun or parked block is tried again, with its attempts counted from zero",
    "ROLLBACK": "blocks are taken back, with their rows",
    "SKIP": "a begun or parked range was left out",
    "STALE": "blocks that were built upon changed rows are marked stale",
    "UNLOCK": "the lease of a topic was taken away from its holder",
}
