"""What an attempt tells of its phases while it goes on. Spark reads, transforms and writes in one job: they overlap."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from dwh_assets.model.block import Claim
from dwh_assets.model.errors import Transient
from dwh_assets.model.phase import Advance, Phase, PhaseNote, Totals

logger = logging.getLogger(__name__)
Tell = Callable[[Sequence[PhaseNote]], None]


class Phases:
    """Of one attempt. Nothing depends on what is told here, so trouble with it stops no attempt."""

    def __init__(self, claim: Claim, tell: Tell) -> None:
        self._claim = claim
        self._tell = tell
        self._open: list[Phase] = []

    def turn(self, ended: dict[Phase, Totals] | None = None, begun: Sequence[Phase] = ()) -> None:
        """Some end, others begin; an end of what never began is not told."""
        over: dict[Phase, Totals] = {phase: totals for phase, totals in (ended or {}).items() if phase in self._open}
        still: list[Phase] = [phase for phase in self._open if phase not in over]
        self._open = [*still, *begun]
        notes = [self._note(phase, "finished", totals) for phase, totals in over.items()]
        self._say([*notes, *(self._note(phase, "started") for phase in begun)])

    def fail(self) -> None:
        """Those that go on end here."""
        self._say([self._note(phase, "failed") for phase in self._open])
        self._open = []

    def advance(self, phase: Phase, tasks: int, done: int) -> None:
        self._say([self._note(phase, "advanced", advance=Advance(tasks, done))])

    def _note(self, phase: Phase, event: str, totals: Totals | None = None, advance: Advance | None = None) -> PhaseNote:
        return PhaseNote(self._claim.execution_id, self._claim.topic, phase, event, totals, advance)  # type: ignore[arg-type]

    def _say(self, notes: Sequence[PhaseNote]) -> None:
        if not notes:
            return
        try:
            self._tell(notes)
        except Transient as error:
            logger.warning("%s: its phases are not told: %s", self._claim.label, error)
