"""The phases of a run's blocks in the log of the run, while they go on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dagster import AssetExecutionContext

from dwh_assets.engine.engine import Engine
from dwh_assets.model.phase import UNKNOWN, PhaseNote, Totals


@contextmanager
def logging_phases(context: AssetExecutionContext, engine: Engine) -> Iterator[None]:
    """Beside whom the engine tells of them already. Beginnings are left out: each line is an event in Dagster's store."""
    before = engine.tell_phases

    def tell(notes: Sequence[PhaseNote]) -> None:
        before(notes)
        told = [words for note in notes if (words := in_words(note))]
        if told:
            context.log.info("execution %d of %s: %s", notes[0].execution_id, notes[0].stream, "; ".join(told))

    engine.tell_phases = tell
    try:
        yield
    finally:
        engine.tell_phases = before


def in_words(note: PhaseNote) -> str:
    if note.advance is not None:
        return f"{note.phase} is at {note.advance.done} of {note.advance.tasks} tasks"
    return "" if note.event == "started" else f"{note.phase} {note.event}{_rows(note.totals)}"


def _rows(totals: Totals | None) -> str:
    if totals is None:
        return ""
    counts = {"in": totals.incoming, "out": totals.outgoing, "failed": totals.failed}
    known = [f"{count:,} {name}" for name, count in counts.items() if count != UNKNOWN and (count or name != "failed")]
    return f" ({', '.join(known)})" if known else ""
