"""Whether a module or a batch that was started may run (D4, D5): one decision, with its reason in words.

The claim gathers the facts under its locks and carries the decision out in the same transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Code = Literal["Proceed", "Rollback", "Cancel", "Abort"]
NextRun = Literal["Proceed", "Rollback", "Cancel"]
LinkState = Literal["alone", "active", "inactive", "missing"]  # alone: not started by a batch
CODES = {"Proceed": "Executing", "Rollback": "Executing", "Cancel": "Cancelled", "Abort": "Aborted"}


@dataclass(frozen=True)
class Decision:
    """`code` is the processing code. Nothing is done unless it is Proceed or Rollback.

    `heeds`: it is what a person asked for, so the wish is done with; any other decision leaves a wish as it is (D6).
    """

    code: Code
    text: str
    heeds: bool = False

    @property
    def runs(self) -> bool:
        return self.code in ("Proceed", "Rollback")

    @property
    def execution_code(self) -> str:
        return CODES[self.code]


PROCEED = Decision("Proceed", "nothing stands against it")


@dataclass(frozen=True)
class ModuleFacts:
    """`asked`: what a person asked of the next run. `failed`: the attempts since the last success that nobody rolled back."""

    running: str | None = None  # who runs it now
    link: LinkState = "alone"
    active: bool = True
    asked: NextRun = "Proceed"
    failed: tuple[int, ...] = ()


@dataclass(frozen=True)
class BatchFacts:
    """`previous`: how the newest instance that did run has ended. `next_run`: what it, or a person since, asked of this one."""

    running: str | None = None
    link: LinkState = "alone"
    active: bool = True
    next_run: NextRun = "Proceed"
    previous: Literal["Succeeded", "Failed"] | None = None
    succeeded_then: tuple[str, ...] = ()  # modules and batches in the previous instance that succeeded
    window_open: bool = True
    due: bool = True  # by its frequency, or it has none


def evaluate_module(facts: ModuleFacts) -> Decision:
    if facts.running is not None:
        return Decision("Abort", f"{facts.running} runs it already; this start touched nothing")
    if facts.link == "inactive":
        return Decision("Cancel", "it is switched off in this batch")
    if facts.link == "missing":
        return Decision("Abort", "it is not part of the batch that started it")
    if not facts.active:
        return Decision("Cancel", "it is switched off")
    if facts.asked == "Cancel":
        return Decision("Cancel", "a person asked to leave out this run; the next one goes on", heeds=True)
    if facts.asked == "Rollback":
        return Decision("Rollback", "a person asked to take back the last run and to load it again", heeds=True)
    if facts.failed:
        attempts = ", ".join(map(str, facts.failed))
        return Decision("Rollback", f"rolled back first, as they had failed: executions {attempts}")
    return PROCEED


def evaluate_batch(facts: BatchFacts) -> Decision:
    if facts.running is not None:
        return Decision("Abort", f"{facts.running} is running; this start touched nothing")
    if facts.link == "inactive":
        return Decision("Cancel", "it is switched off in the batch that started it")
    if not facts.active:
        return Decision("Cancel", "it is switched off")
    if facts.next_run == "Cancel":
        return Decision("Cancel", "a person asked to leave out this run; the next one goes on", heeds=True)
    if facts.next_run == "Rollback":
        return Decision(
            "Rollback", "a person asked to take back the last run: its modules are rolled back and run again", heeds=True
        )
    if not facts.window_open:
        return Decision("Cancel", "it is outside of its daily window")
    if facts.previous == "Failed":
        return Decision("Proceed", _recovery(facts.succeeded_then))
    if not facts.due:
        return Decision("Cancel", "it has succeeded in this period already; --again runs it all the same")
    return PROCEED


def _recovery(succeeded: tuple[str, ...]) -> str:
    left_out = f"; left out, as they succeeded then: {', '.join(succeeded)}" if succeeded else ""
    return f"the run before failed and is made good{left_out}"


def skipped(facts: BatchFacts) -> tuple[str, ...]:
    """What a run leaves out: after a failure, whatever succeeded then."""
    return facts.succeeded_then if facts.previous == "Failed" and facts.next_run == "Proceed" else ()
