"""Every error the product raises.

    DwhError
    ├── Transient                 trying again may help; the engine does
    │   ├── ControlStoreDown
    │   ├── SparkDown             it cannot be reached, or does not start
    │   │   └── SparkLost         it went away while it worked: the block may be the reason
    │   ├── SourceDown            the database of a source cannot be reached
    │   ├── BusDown               the broker that carries the workers' messages cannot be reached
    │   ├── PointerTaken          another writer published to the same table meanwhile
    │   │   └── TableHeld         a topic replaces rows of the table: whoever else publishes to it waits
    │   └── StagedAgain           the head moved under a replacing write
    ├── Refused                   this attempt must end; another one goes on, nothing to repair
    │   ├── LeaseLost
    │   ├── NotDue
    │   ├── StartRefused          its evaluation did not let a run begin
    │   └── InputsChanged
    └── Terminal                  a person must act
        ├── ConfigError
        │   ├── LineageError
        │   └── NotPermitted      this login may not do it in the control store
        ├── UnknownTopic
        ├── UnknownBatch
        ├── UnknownBlock
        ├── UnknownPartition
        ├── UnknownReport
        ├── UnknownColumn
        ├── UnknownRow
        ├── TooManyRows           a key that fits more rows than can be told of
        ├── BadPosition
        ├── SchemaDrift
        ├── SqlRefused
        ├── CheckFailed
        ├── DamagedData
        ├── DiskFull
        ├── SourceError
        │   └── PositionsLost     a stream no longer holds what comes next
        ├── ActRefused
        └── AlreadyRunning

A message says what happened, to which topic and block, in what state the data is, what happens next and what to do. It holds
no secret and no value of a row.
"""

from __future__ import annotations

from typing import Any


class DwhError(Exception):
    """An error of this product; `str()` of it is written for the person who reads it."""

    exit_code = 1


class Transient(DwhError):
    exit_code = 3


class ControlStoreDown(Transient): ...


class SparkDown(Transient): ...


class SparkLost(SparkDown): ...


class SourceDown(Transient): ...


class BusDown(Transient): ...


class PointerTaken(Transient): ...


class TableHeld(PointerTaken): ...


class StagedAgain(Transient): ...


class Refused(DwhError):
    exit_code = 4


class LeaseLost(Refused): ...


class NotDue(Refused): ...


class StartRefused(Refused):
    """`code` is the processing code of the run that did not begin: Abort or Cancel."""

    def __init__(self, message: str, code: str) -> None:
        self.code = code
        super().__init__(message)


class InputsChanged(Refused): ...


class Terminal(DwhError):
    exit_code = 2


class ConfigError(Terminal): ...


class NotPermitted(ConfigError): ...


class LineageError(ConfigError):
    """All problems of a set of Lineage files at once, each with its file and line."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        count = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
        super().__init__(f"the Lineage was refused as a whole, {count}; what was active stays active:\n" + "\n".join(problems))


class UnknownTopic(Terminal): ...


class UnknownBatch(Terminal): ...


class UnknownBlock(Terminal): ...


class UnknownPartition(Terminal): ...


class UnknownReport(Terminal): ...


class UnknownColumn(Terminal): ...


class UnknownRow(Terminal): ...


class TooManyRows(Terminal): ...


class BadPosition(Terminal): ...


class SchemaDrift(Terminal): ...


class SqlRefused(Terminal):
    """A statement that must not reach Spark; `problems` are its lines and what is wrong there."""

    def __init__(self, message: str, problems: tuple[tuple[int, str], ...] = ()) -> None:
        self.problems = problems
        super().__init__(message)


class CheckFailed(Terminal):
    """`results` are those of all checks of the attempt, so that they can be shown with their numbers."""

    def __init__(self, message: str, results: tuple[Any, ...] = ()) -> None:
        self.results = results
        super().__init__(message)


class DamagedData(Terminal): ...


class DiskFull(Terminal): ...


class SourceError(Terminal): ...


class PositionsLost(SourceError): ...


class ActRefused(Terminal): ...


class AlreadyRunning(Terminal): ...


def in_words(error: Exception) -> str:
    """An error as the control store keeps it: ours as they are, others by their kind and without their stack."""
    if isinstance(error, DwhError):
        return str(error)
    first = str(error).strip().split("\n\nJVM stacktrace")[0]
    return f"{type(error).__name__}: {first}"[:2000]
