"""Messages are those of the seed, to the letter; what is none is refused with its place."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from dwh_assets.workers.messages import (
    MESSAGES,
    SCHEMAS,
    Assign,
    BadMessage,
    Heartbeat,
    StreamStats,
    parse,
    schema,
    to_json,
)

ONE, TWO = UUID(int=1), UUID(int=2)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
STATS = StreamStats(
    timestamp=NOON, etl_execution_id=ONE, phase="data-load", data_stream_name="fact.sales", instance_id=TWO,
    total_in_messages=5, total_out_messages=4, total_failed_messages=-1,
)  # fmt: skip


def test_messages_have_the_envelopes_of_the_seed() -> None:
    assert json.loads(to_json(Heartbeat(timestamp=NOON, id=ONE, state="idle"))) == {
        "info": {"type": "heartbeat", "timestamp": "2026-03-01T12:00:00Z"},
        "payload": {"id": str(ONE), "state": "idle"},
    }
    assert json.loads(to_json(Assign(timestamp=NOON, assignee=TWO, etl_execution_id=ONE, configuration={"a": [1]}))) == {
        "info": {"type": "etl-execution-assign", "timestamp": "2026-03-01T12:00:00Z", "assignee": str(TWO)},
        "payload": {"etlExecutionId": str(ONE), "configuration": {"a": [1]}},
    }
    assert json.loads(to_json(STATS))["payload"] == {
        "etlExecutionId": str(ONE), "phase": "data-load", "dataStreamName": "fact.sales", "instanceId": str(TWO),
        "totalInMessages": 5, "totalOutMessages": 4, "totalFailedMessages": -1,
    }  # fmt: skip


@pytest.mark.parametrize("kind", MESSAGES.values(), ids=list(MESSAGES))
def test_every_message_survives_the_bus(kind: type) -> None:
    values: dict[str, Any] = {
        "id": ONE, "state": "busy", "assignee": TWO, "etl_execution_id": ONE, "configuration": {"kind": "topic"}, "reason": "x",
        "phase": "data-extract", "data_stream_name": "s", "instance_id": TWO, "execution": 7,
        "total_in_messages": 1, "total_out_messages": 2, "total_failed_messages": 0, "tasks": 40, "tasks_done": 12,
    }  # fmt: skip
    message = kind(**{name: values[name] for name in kind.__dataclass_fields__ if name in values})
    assert parse(to_json(message)) == message


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "known type"),
        ("[]", "known type"),
        ('{"info": {"type": "nonsense"}, "payload": {}}', "known type"),
        ('{"info": {"type": ["heartbeat"]}, "payload": {}}', "known type"),
        ('{"info": {"type": "heartbeat", "timestamp": "2026-03-01T12:00:00Z"}, "payload": {"id": 7, "state": "idle"}}', "see id"),
        (to_json(STATS).replace("timestamp", "time"), "known type and a timestamp"),
        (to_json(STATS).replace("data-load", "lunch"), "see phase"),
        (to_json(STATS).replace(": 5", ": -2"), "see total_in_messages"),
        (to_json(STATS).replace("12:00:00Z", "12:00:00"), "see timestamp"),
    ],
)
def test_what_is_no_message_is_refused_with_its_place(text: str, why: str) -> None:
    with pytest.raises(BadMessage, match=why):
        parse(text)


def test_fields_that_nobody_knows_are_left_aside() -> None:
    assert parse(to_json(STATS).replace('"payload": {', '"payload": {"colour": "red", ')) == STATS


@pytest.mark.parametrize("name", MESSAGES)
def test_the_schemas_in_the_repository_are_those_of_the_code(name: str) -> None:
    again = 'python -c "from dwh_assets.workers.messages import write_schemas; write_schemas()"'
    assert json.loads((SCHEMAS / f"{name}.json").read_text()) == schema(MESSAGES[name]), again
    assert len(list(SCHEMAS.glob("*.json"))) == len(MESSAGES)
