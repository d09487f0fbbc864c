"""What workers and their manager say to each other: the messages of the topics ems.heartbeat, ems.control and ems.progress."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field, TypeAdapter, ValidationError

from dwh_assets.model.phase import UNKNOWN, Phase

HEARTBEAT, CONTROL, PROGRESS = "ems.heartbeat", "ems.control", "ems.progress"
TOPICS = (HEARTBEAT, CONTROL, PROGRESS)
SCHEMAS = Path(__file__).parent / "schemas"  # for those who write a worker or a manager of their own
State = Literal["idle", "busy"]
Total = Annotated[int, Field(ge=UNKNOWN, strict=True)]
Count = Annotated[int, Field(ge=0, strict=True)]
ExecutionId = Annotated[UUID, Field(description="what was given to the worker: one assignment")]
Worker = Annotated[UUID, Field(description="the worker")]


class BadMessage(ValueError):
    """A text that is no message, or one of a type that nobody here knows."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True)
class Message:
    """What all messages have. The docstring of each says what it means, and is the description of its schema."""

    type: ClassVar[str]
    topic: ClassVar[str]
    in_info: ClassVar[tuple[str, ...]] = ("timestamp",)  # fields outside of the payload

    timestamp: Annotated[
        AwareDatetime, Field(description="the sender's clock: it is shown to people, and nothing is decided by it")
    ] = field(default_factory=_now)


@dataclass(frozen=True, kw_only=True)
class Heartbeat(Message):
    """A worker lives, and this is what it is doing."""

    type: ClassVar[str] = "heartbeat"
    topic: ClassVar[str] = HEARTBEAT

    id: Worker
    state: Annotated[State, Field(description="whether it has something to do")]


@dataclass(frozen=True, kw_only=True)
class Command(Message):
    """What the manager says to one worker."""

    topic: ClassVar[str] = CONTROL
    in_info: ClassVar[tuple[str, ...]] = ("timestamp", "assignee")

    assignee: Annotated[UUID, Field(description="the worker that is meant; others pass over it")]
    etl_execution_id: ExecutionId


@dataclass(frozen=True, kw_only=True)
class Assign(Command):
    """Carry this execution out."""

    type: ClassVar[str] = "etl-execution-assign"

    configuration: Annotated[dict[str, Any], Field(description="what is to be done: its kind and its name, a topic or a run")]


@dataclass(frozen=True, kw_only=True)
class Cancel(Command):
    """End this execution now, and the Spark job with it. Not in the seed."""

    type: ClassVar[str] = "etl-execution-cancel"


@dataclass(frozen=True, kw_only=True)
class Progress(Message):
    """What a worker says of an execution that it was given."""

    topic: ClassVar[str] = PROGRESS

    etl_execution_id: ExecutionId
    assignee: Worker


@dataclass(frozen=True, kw_only=True)
class Accepted(Progress):
    """The worker has taken the execution."""

    type: ClassVar[str] = "etl-execution-accepted"


@dataclass(frozen=True, kw_only=True)
class Rejected(Progress):
    """The worker is busy, or ends: give the execution to another."""

    type: ClassVar[str] = "etl-execution-rejected"


@dataclass(frozen=True, kw_only=True)
class Started(Progress):
    """The worker has begun the execution."""

    type: ClassVar[str] = "etl-execution-started"


@dataclass(frozen=True, kw_only=True)
class Finished(Progress):
    """The execution has succeeded."""

    type: ClassVar[str] = "etl-execution-finished"


@dataclass(frozen=True, kw_only=True)
class Failed(Progress):
    """The execution has failed."""

    type: ClassVar[str] = "etl-execution-failed"

    reason: Annotated[str, Field(description="why, in words for people")]


@dataclass(frozen=True, kw_only=True)
class Stream(Message):
    """What a worker says of a phase of an execution. `execution` is not in the seed."""

    topic: ClassVar[str] = PROGRESS

    etl_execution_id: ExecutionId
    phase: Annotated[Phase, Field(description="the phase that is told of")]
    data_stream_name: Annotated[str, Field(description="the table that is loaded")]
    instance_id: Worker
    execution: Annotated[
        Annotated[int, Field(strict=True)] | None, Field(description="number of the attempt at a block, where it is one")
    ] = None


@dataclass(frozen=True, kw_only=True)
class StreamStarted(Stream):
    """A phase has begun."""

    type: ClassVar[str] = "etl-data-stream-started"


@dataclass(frozen=True, kw_only=True)
class StreamFinished(Stream):
    """A phase is done."""

    type: ClassVar[str] = "etl-data-stream-finished"


@dataclass(frozen=True, kw_only=True)
class StreamFailed(Stream):
    """The phase in which an execution failed. Not in the seed."""

    type: ClassVar[str] = "etl-data-stream-failed"


@dataclass(frozen=True, kw_only=True)
class StreamStats(Stream):
    """How many rows a phase has moved."""

    type: ClassVar[str] = "etl-data-stream-stats"

    total_in_messages: Annotated[Total, Field(description="rows in; -1: unknown")]
    total_out_messages: Annotated[Total, Field(description="rows out; -1: unknown")]
    total_failed_messages: Annotated[Total, Field(description="rows rejected; -1: unknown")]


@dataclass(frozen=True, kw_only=True)
class StreamAdvanced(Stream):
    """How far a phase is while it goes on. Not in the seed."""

    type: ClassVar[str] = "etl-data-stream-advanced"

    tasks: Annotated[Count, Field(description="tasks of its Spark jobs that are known so far")]
    tasks_done: Annotated[Count, Field(description="how many of these are done")]


MESSAGES: dict[str, type[Message]] = {
    kind.type: kind
    for kind in (
        Heartbeat, Assign, Cancel, Accepted, Rejected, Started, Finished, Failed,
        StreamStarted, StreamFinished, StreamFailed, StreamStats, StreamAdvanced,
    )
}  # fmt: skip


def to_json(message: Message) -> str:
    values = _adapter(type(message)).dump_python(message, mode="json", exclude_none=True)
    info = {"type": message.type} | {_camel(name): values.pop(name) for name in message.in_info}
    return json.dumps({"info": info, "payload": {_camel(name): value for name, value in values.items()}})


def parse(text: str) -> Message:
    """The message of a text; fields that nobody here knows are left aside, so that others may add some."""
    try:
        envelope = json.loads(text)
        info, payload = dict(envelope["info"]), dict(envelope["payload"])
        kind, _ = MESSAGES[info["type"]], info["timestamp"]
    except (ValueError, KeyError, TypeError) as error:
        raise BadMessage(f"not a message with a known type and a timestamp ({type(error).__name__}): {text:.200}") from error
    given = {name: (info if name in kind.in_info else payload).get(_camel(name)) for name in _names(kind)}
    try:
        return _adapter(kind).validate_python({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        places = ", ".join(sorted({str(found["loc"][0]) for found in error.errors()}))
        raise BadMessage(f"not a valid {kind.type}, see {places}: {text:.200}") from error


def schema(kind: type[Message]) -> dict[str, Any]:
    """The JSON schema of a message as it is on the bus."""
    flat = _adapter(kind).json_schema()
    required = set(flat.get("required", ())) | {"timestamp"}

    def part(names: list[str], fixed: dict[str, Any]) -> dict[str, Any]:
        properties = fixed | {_camel(name): _without_title(flat["properties"][name]) for name in names}
        wanted = [*fixed, *(_camel(name) for name in names if name in required)]
        return {"type": "object", "properties": properties, "required": wanted}

    info = part([name for name in _names(kind) if name in kind.in_info], {"type": {"const": kind.type}})
    payload = part([name for name in _names(kind) if name not in kind.in_info], {})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": kind.type,
        "description": f"{inspect.getdoc(kind)} A message of the topic {kind.topic}.",
        "type": "object",
        "properties": {"info": info, "payload": payload},
        "required": ["info", "payload"],
    }


def write_schemas(folder: Path = SCHEMAS) -> None:
    for name, kind in MESSAGES.items():
        (folder / f"{name}.json").write_text(json.dumps(schema(kind), indent=2) + "\n")


def _without_title(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "title"}


@cache
def _adapter(kind: type[Message]) -> TypeAdapter[Message]:
    return TypeAdapter(kind)


@cache
def _names(kind: type[Message]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind))


@cache
def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)
