"""The kinds of value a Lineage file may hold, each read and refused in one place."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any
from zoneinfo import available_timezones

from pydantic import BeforeValidator, Field, PlainValidator, StrictBool, StrictInt, StrictStr
from typing_extensions import Doc

from dwh_assets.config.frequency import problem_of
from dwh_assets.model.duration import parse_duration
from dwh_assets.model.module import PROCESSORS
from dwh_assets.model.topic import TopicName
from dwh_assets.model.window import Window

_COLUMN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORD = re.compile(r"[a-z0-9_]+")
_RELATION = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*\.[A-Za-z_][A-Za-z0-9_$]*")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_REFERENCE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_SQL_PATH = re.compile(r"(?:[A-Za-z0-9_-]+/)*[A-Za-z0-9_-]+\.sql")
_SEED_NAMES = {"onedaystep": "one_day_step", "uniqid": "upsert"}


def nearest(word: str, known: Any) -> str:
    """` (did you mean X?)` when something known is close, else nothing."""
    close = get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]}?)" if close else ""


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be text, not {_kind(value)}; put it in quotes")
    return value


def _kind(value: Any) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "a mapping"}
    return "empty" if value is None else names.get(type(value), type(value).__name__)


def _duration(value: Any) -> timedelta:
    if value == 0 and not isinstance(value, bool):
        return timedelta()
    if not isinstance(value, str):
        raise ValueError("must be a duration with its unit, for example 30s, 5min, 1h30m or 2d")
    return parse_duration(value)


def _positive_duration(value: Any) -> timedelta:
    duration = _duration(value)
    if not duration:
        raise ValueError("must be longer than 0")
    return duration


def _matches(pattern: re.Pattern[str], allowed: str) -> Any:
    def check(value: Any) -> str:
        if pattern.fullmatch(_text(value)) is None:
            raise ValueError(f"{value!r} is not allowed; write {allowed}")
        return value

    return PlainValidator(check, json_schema_input_type=str)


def _table(value: Any) -> str:
    topic = TopicName.parse(_text(value))
    if topic.tag or topic.shard:
        raise ValueError(f"{value!r} names a tag or a shard; name the table, {topic.table}: its tags and shards are put together")
    return value


def _module_name(value: Any) -> str:
    topic = TopicName.parse(_text(value))
    if topic.shard:
        raise ValueError(f"{value!r} names a shard; list them under shards, one module serves them all")
    return value


def _processor(value: Any) -> str:
    if _REFERENCE.fullmatch(_text(value)):
        return value
    lower = _text(value).lower()
    name = _SEED_NAMES.get(lower, lower)
    if name not in PROCESSORS:
        hint = nearest(name, PROCESSORS)
        raise ValueError(f"unknown processor {value!r}{hint}; allowed are {', '.join(PROCESSORS)} or package.module:Class")
    return name


def _transform(value: Any) -> str:
    if not (_SQL_PATH.fullmatch(_text(value)) or _REFERENCE.fullmatch(value)):
        raise ValueError(
            f"{value!r} is not a transform; write a path below sql/transforms such as fact/sales.sql, or package.module:function"
        )
    return value


def _start(value: Any) -> str:
    if value in ("earliest", "now"):
        return value
    allowed = "write earliest, now or a timestamp with its zone such as 2024-01-31T00:00:00Z"
    try:
        instant = datetime.fromisoformat(_text(value))
    except ValueError:
        raise ValueError(f"{value!r} is not a start; {allowed}") from None
    if instant.tzinfo is None and len(value) > len("2024-01-31"):
        raise ValueError(f"{value!r} has no time zone; {allowed}")
    return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def _window(value: Any) -> Window:
    return Window.parse(_text(value))


@cache
def _timezones() -> frozenset[str]:
    """The list is read from disk each time, 30 ms: too slow for every module."""
    return frozenset(available_timezones())


def _timezone(value: Any) -> str:
    known = _timezones()
    if _text(value) not in known:
        raise ValueError(f"unknown time zone {value!r}{nearest(value, known)}; write an IANA name such as Europe/Berlin")
    return value


def _shard(value: Any) -> str:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else _text(value)
    if _WORD.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a shard; write a word of a-z, 0-9 and _")
    return text


def _distinct(values: list[Any]) -> list[Any]:
    seen: set[Any] = set()
    for value in values if isinstance(values, list) else ():
        if isinstance(value, str) and value in seen:
            raise ValueError(f"{value!r} is listed twice; each entry once")
        seen.add(value if isinstance(value, str) else id(value))
    return values


Text = StrictStr
Flag = StrictBool
Count = Annotated[StrictInt, Field(ge=1)]
Priority = Annotated[StrictInt, Field(ge=-100, le=100)]
Duration = Annotated[
    timedelta,
    PlainValidator(_duration, json_schema_input_type=str),
    Doc("0, or numbers with their units: `30s`, `5min`, `1h30m`, `2d`"),
]
PositiveDuration = Annotated[
    timedelta, PlainValidator(_positive_duration, json_schema_input_type=str), Doc("a duration that is longer than 0")
]
Column = Annotated[
    str, _matches(_COLUMN, "a column name of letters, digits and _"), Doc("a name of letters, digits and `_`, no digit first")
]
Relation = Annotated[str, _matches(_RELATION, "schema.table"), Doc("`schema.table`")]
Table = Annotated[str, PlainValidator(_table, json_schema_input_type=str), Doc("`db.table`, without tag and shard")]
ModuleName = Annotated[
    str, PlainValidator(_module_name, json_schema_input_type=str), Doc("`db.table` or `db.table#tag`; of a command `area.name`")
]
Processor = Annotated[
    str, PlainValidator(_processor, json_schema_input_type=str), Doc(f"{', '.join(PROCESSORS)}, or `package.module:Class`")
]
Transform = Annotated[
    str,
    PlainValidator(_transform, json_schema_input_type=str),
    Doc("a path below `sql/transforms/` such as `fact/sales.sql`, or `package.module:function`"),
]
Start = Annotated[
    str,
    PlainValidator(_start, json_schema_input_type=str),
    Doc("`earliest`, `now`, a timestamp with its zone such as `2024-01-31T00:00:00Z`, or a date: its midnight in UTC"),
]
DailyWindow = Annotated[
    Window, PlainValidator(_window, json_schema_input_type=str), Doc("`HH:MM-HH:MM`; `22:00-06:00` crosses midnight")
]
Timezone = Annotated[
    str, PlainValidator(_timezone, json_schema_input_type=str), Doc("an IANA name such as `Europe/Berlin`, or `UTC`")
]
Shard = Annotated[str, PlainValidator(_shard, json_schema_input_type=str | int), Doc("a word of `a-z`, `0-9` and `_`")]
Distinct = BeforeValidator(_distinct)


def _batch_name(value: Any) -> str:
    if not isinstance(value, str) or re.fullmatch(r"[a-z][a-z0-9_]*", value) is None:
        raise ValueError(f"{value!r} is not the name of a batch; small letters, digits and _ such as nightly_marts")
    return value


def _frequency(value: Any) -> str:
    problem = problem_of(value) if isinstance(value, str) else "it is not text"
    if problem is not None:
        raise ValueError(
            f"{value!r} is not a cron expression ({problem}); write five fields such as '0 3 * * *' for every day at 3:00"
        )
    return value


BatchName = Annotated[
    str, PlainValidator(_batch_name, json_schema_input_type=str), Doc("small letters, digits and `_`, a letter first")
]
Frequency = Annotated[
    str, PlainValidator(_frequency, json_schema_input_type=str), Doc("five fields of cron such as `0 3 * * *`, every day at 3:00")
]


def _variable(value: Any) -> str:
    if not isinstance(value, str) or _VARIABLE.fullmatch(value) is None:
        # The value is not shown: it may be the URL itself, with its password.
        raise ValueError(
            "is not the name of an environment variable; write its name such as SHOP_URL: secrets come from the environment"
        )
    return value


Variable = Annotated[
    str, PlainValidator(_variable, json_schema_input_type=str), Doc("the name of an environment variable such as `SHOP_URL`")
]


FunctionName = Annotated[
    str, _matches(re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*"), "package.module:function"), Doc("`package.module:function`")
]


def _offset_start(value: Any) -> str:
    return "latest" if value in ("latest", "now") else _start(value)


def _schema_version(value: Any) -> int:
    if not str(value).isdecimal() or int(value) < 1:  # keys of a YAML mapping are text here
        raise ValueError(f"{value!r} is not a version; write a whole number from 1 on")
    return int(value)


OffsetStart = Annotated[
    str,
    PlainValidator(_offset_start, json_schema_input_type=str),
    Doc("`earliest`, `latest` (or `now`), or a timestamp or date as of a start"),
]
SchemaVersion = Annotated[int, PlainValidator(_schema_version, json_schema_input_type=int), Doc("a whole number from 1 on")]
VersionPlace = Annotated[
    str,
    _matches(re.compile(r"(header|field):[A-Za-z_][\w.-]*|confluent"), "header:NAME, field:NAME or confluent"),
    Doc("`header:NAME`, `field:NAME` or `confluent`"),
]
