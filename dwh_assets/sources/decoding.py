"""Bytes from outside as rows: decoded by their declared version, or named with the reason why they cannot be loaded.

Every record becomes exactly one row. `_reason` is null where it may be loaded; else the row is a dead letter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from operator import add, or_
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from dwh_assets.config.event_schemas import descriptor_of
from dwh_assets.model.events import CLOCK_SKEW, EventField, Events, EventSchema
from dwh_assets.model.failpoints import protected
from dwh_assets.sources.protobuf import protobuf_as_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

ORIGIN = "origin"
RECORD = {  # what is kept of a record that cannot be loaded
    ORIGIN: "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "key": "binary",
    "value": "binary",
    "headers": "array<struct<key: string, value: binary>>",
}
REASON, DETAIL = "_reason", "_detail"
VERSION, EVENT_TIME = "_schema_version", "_event_time"
UNIQUE = ("_unique_hi", "_unique_lo")  # 128 bits of the key
OWN = {VERSION: "int", EVENT_TIME: "timestamp", UNIQUE[0]: "bigint", UNIQUE[1]: "bigint"}
_NAME_END = '":'
_OTHER_ENDS = ("'", " :", "\t:", "\r:", "\n:")  # Spark takes names in single quotes, and blanks behind a name
_CORRUPT = "_corrupt"
_PARSED = "_parsed"


@dataclass(frozen=True)
class Decoder:
    events: Events
    position: tuple[str, str]

    @property
    def fields(self) -> tuple[EventField, ...]:
        return self.events.newest.fields

    def nothing(self, session: SparkSession) -> DataFrame:
        """No rows, with the columns that rows have."""
        pos, id_ = self.position
        own = {pos: "timestamp", id_: "bigint", **OWN, **{field.name: field.type for field in self.fields}}
        raw = {f"_{name}": kind for name, kind in RECORD.items()} | {REASON: "string", DETAIL: "string"}
        ddl = ", ".join(f"`{name}` {kind}" for name, kind in {**own, **raw}.items())
        return session.createDataFrame([], columns_of(ddl))

    def decoded(self, records: DataFrame, at: datetime, columns: Sequence[str] = (), delimiter: str = ",") -> DataFrame:
        """Rows of a block that was planned at this instant, from records with an id and the columns of `RECORD`.

        `columns` are those of the lines of a csv file, in their order.
        """
        named = records.select(F.col("id").alias("_id"), *(F.col(name).alias(f"_{name}") for name in RECORD))
        # Looked into many times, a parsed value is a step of its own, which Spark does not fold into the next one.
        versioned = named.withColumn("_version", self._version())
        parsed = versioned.withColumn(_PARSED, self._parsed(columns, delimiter))
        return self._checked(parsed, at)

    def _checked(self, parsed: DataFrame, at: datetime) -> DataFrame:
        pos, id_ = self.position
        version = self._declared_version()
        happened = F.col(f"{_PARSED}.`{self.events.event_time}`") if self.events.event_time else F.col("_timestamp")
        hi, lo = self._unique()
        # The time of an event is no position: what comes late would lie below what readers have passed (R20).
        placed = F.lit(at).cast("timestamp") if protected("rising") else F.coalesce(happened, F.lit(at))
        return (
            parsed.select(
                placed.alias(pos),
                F.col("_id").alias(id_),
                version.alias(VERSION),
                happened.alias(EVENT_TIME),
                hi.alias(UNIQUE[0]),
                lo.alias(UNIQUE[1]),
                *(F.col(f"{_PARSED}.`{field.name}`").cast(field.type).alias(field.name) for field in self.fields),
                *(F.col(f"_{name}") for name in RECORD),
                self._verdict(version, happened, at).alias("_verdict"),
            )
            .select("*", F.col(f"_verdict.{REASON}"), F.col(f"_verdict.{DETAIL}"))
            .drop("_verdict")
        )

    @property
    def columns(self) -> list[str]:
        """Those of the stage table."""
        return [*self.position, *OWN, *(field.name for field in self.fields)]

    def _version(self) -> Column:
        """What the record says of its version, as text; null where it says nothing."""
        place, _, name = self.events.version_in.partition(":")
        if place == "header":
            found = F.filter(F.col("_headers"), lambda header: header["key"] == name)
            return F.get(found, F.lit(0))["value"].cast("string")
        if place == "confluent":
            return F.when(F.hex(F.substring("_value", 1, 1)) == "00", F.conv(F.hex(F.substring("_value", 2, 4)), 16, 10))
        return F.lit(None).cast("string")

    def _declared_version(self) -> Column:
        if self.events.version_in.startswith("field:"):
            return F.col(f"{_PARSED}.`{self.events.version_in.partition(':')[2]}`").cast("int")
        if not self.events.version_in:
            return F.lit(self.events.newest.version).cast("int")
        return F.expr("try_cast(_version AS int)")

    def _parsed(self, columns: Sequence[str], delimiter: str) -> Column:
        if self.events.format in ("json", "parquet"):  # rows of Parquet files come as JSON
            return self._json()
        if self.events.format == "csv":
            return self._csv(columns, delimiter)
        if self.events.format == "avro":
            return self._avro()
        if self.events.format == "protobuf":
            return self._protobuf()
        raise ValueError(f"unknown format {self.events.format}")

    def _csv(self, columns: Sequence[str], delimiter: str) -> Column:
        """A line, with its columns in the order of its file; those that the file does not have are null."""
        types = {field.name: field.type for field in self.fields}
        ddl = ", ".join(f"`{name}` {types.get(name, 'string')}" for name in columns)
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT, "timeZone": "UTC", "sep": delimiter}
        line = F.from_csv(F.col("_value").cast("string"), f"{ddl}, {_CORRUPT} string", options)
        nulls = {field.name: F.lit(None).cast(field.type) for field in self.fields if field.name not in columns}
        made = [nulls.get(field.name, line[field.name]).alias(field.name) for field in self.fields]
        return F.struct(*made, line[_CORRUPT].alias(_CORRUPT))

    def _json(self) -> Column:
        fields = ", ".join(f"`{field.name}` {field.type}" for field in self.fields)
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT, "timeZone": "UTC"}
        return F.from_json(F.col("_value").cast("string"), f"{fields}, {_CORRUPT} string", options)

    def _avro(self) -> Column:
        from pyspark.sql.connect.avro.functions import from_avro

        body = F.expr("substring(_value, 6)") if self.events.version_in == "confluent" else F.col("_value")
        options = {"mode": "PERMISSIVE", "avroSchema": self.events.newest.text}

        def of(schema: EventSchema) -> Column:
            return from_avro(body, schema.text, options)

        *older, newest = self.events.schemas
        chain = of(newest)
        for schema in reversed(older):
            chain = F.when(F.col("_version") == str(schema.version), of(schema)).otherwise(chain)
        return chain

    def _protobuf(self) -> Column:
        # Confluent's form has the schema's id and, for the first message of a file, one more zero byte before the message.
        body = F.expr("substring(_value, 7)") if self.events.version_in == "confluent" else F.col("_value")
        text = protobuf_as_json(self.events.message or "", descriptor_of(self.events.newest))(body)
        # In the JSON form of Protobuf numbers of 64 bits are text; the columns are cast to their own types afterwards.
        types = (re.sub(r"\bbigint\b|decimal\(20,0\)", "string", field.type) for field in self.fields)
        ddl = ", ".join(f"`{field.name}` {kind}" for field, kind in zip(self.fields, types, strict=True))
        return F.from_json(text, ddl, {"timeZone": "UTC"})

    def _unique(self) -> tuple[Column, Column]:
        """128 bits of the key's values, each with its length, so that no two keys give the same text."""
        return tuple(F.expr(text) for text in unique_ids(self.events.key, f"{_PARSED}."))  # type: ignore[return-value]

    def _verdict(self, version: Column, happened: Column, at: datetime) -> Column:
        """Why a record cannot be loaded, in one word and in a sentence; null where it can."""
        oldest, ahead = at - self.events.dedup_age, at + CLOCK_SKEW
        rules = [
            (F.col("_value").isNull() | (F.length("_value") == 0), "empty", F.lit("the record has no value")),
            *self._version_rules(version),
            *self._content_rules(version),
            *(
                (F.col(f"{_PARSED}.`{name}`").isNull(), "no_key", F.lit(f"the key field {name} is missing or null"))
                for name in self.events.key
            ),
        ]
        if self.events.event_time:
            rules.append((happened.isNull(), "no_time", F.lit(f"the field {self.events.event_time} is missing or null")))
        rules.append(
            (happened < F.lit(oldest), "too_old", F.lit(f"it happened before {_shown(oldest)}; earlier events are not known"))
        )
        rules.append((happened > F.lit(ahead), "from_the_future", F.lit(f"it says that it happened after {_shown(ahead)}")))
        return _first(rules)

    def _version_rules(self, version: Column) -> list[tuple[Column, str, Column]]:
        if not self.events.version_in:
            return []
        known = [schema.version for schema in self.events.schemas]
        text = F.concat(
            F.lit("its version is "), F.coalesce(version.cast("string"), F.lit("not given")), F.lit(f"; declared are {known}")
        )
        unreadable = F.col(_PARSED).isNull() | F.col(f"{_PARSED}.{_CORRUPT}").isNotNull() if self._keeps_corrupt else F.lit(False)
        return [
            (version.isNull() & unreadable, "malformed", F.lit("it cannot be read, so that its version is not known either")),
            (version.isNull() | ~version.isin(known), "unknown_version", text),
        ]

    @property
    def _keeps_corrupt(self) -> bool:
        return self.events.format in ("json", "csv", "parquet")

    def _content_rules(self, version: Column) -> list[tuple[Column, str, Column]]:
        rules: list[tuple[Column, str, Column]] = []
        if self._keeps_corrupt:
            bad = F.col(_PARSED).isNull() | F.col(f"{_PARSED}.{_CORRUPT}").isNotNull()
            text = f"it is no {self.events.format.upper()}, or a field has another type than its schema says"
            rules.append((bad, "malformed", F.lit(text)))
            if self.events.unknown_fields == "refuse" and self.events.format == "json":
                extra = self._extra_fields()
                detail = F.concat(F.lit("fields that no version has: "), F.concat_ws(", ", extra))
                rules.append((self._may_have_more() & (F.size(extra) > 0), "unknown_field", detail))
        else:
            rules.append((F.col(_PARSED).isNull(), "malformed", F.lit(f"it cannot be decoded as {self.events.format}")))
        for schema in self.events.schemas:
            for field in schema.fields:
                if field.required and (field.name not in self.events.key or self.events.format == "avro"):
                    missing = (version == schema.version) & F.col(f"{_PARSED}.`{field.name}`").isNull()
                    rules.append((missing, "malformed", F.lit(f"the required field {field.name} is missing or null")))
        return rules

    def _extra_fields(self) -> Column:
        names = F.array(*(F.lit(field.name) for field in self.fields))
        return F.array_except(F.json_object_keys(F.col("_value").cast("string")), names)

    def _may_have_more(self) -> Column:
        """False where there are as many names as known fields with a value, so that there is no other.

        Plain JSON ends each name by `":`, of which there may be no more; to read the names costs as much as to decode the record.
        Where a name may end otherwise, or a text holds that mark too, the names are read.
        """
        text = F.col("_value").cast("string")
        known = reduce(add, (F.col(f"{_PARSED}.`{field.name}`").isNotNull().cast("int") for field in self.fields))
        upto_one_more = F.call_function("substring_index", text, F.lit(_NAME_END), known + 1)  # all of it, where there is none
        other = (text.contains(end) for end in _OTHER_ENDS)
        return reduce(or_, other, F.octet_length(upto_one_more) < F.octet_length(text))


def columns_of(ddl: str) -> StructType:
    columns = StructType.fromDDL(ddl)
    assert isinstance(columns, StructType)
    return columns


def unique_ids(key: Sequence[str], prefix: str = "") -> tuple[str, str]:
    """The two halves of an event's id, as SQL over its fields."""
    if not key:
        return "CAST(NULL AS bigint)", "CAST(NULL AS bigint)"
    texts = [f"CAST({prefix}`{name}` AS string)" for name in key]
    whole = ", ':', ".join(f"length({text}), ':', {text}" for text in texts)
    return f"xxhash64(concat({whole}))", f"xxhash64('lo', concat({whole}))"


def _first(rules: list[tuple[Column, str, Column]]) -> Column:
    """Reason and detail of the first rule that applies, else nothing."""
    chain = F.lit(None)
    for condition, reason, detail in reversed(rules):
        chain = F.when(condition, F.struct(F.lit(reason).alias(REASON), detail.alias(DETAIL))).otherwise(chain)
    return chain


def _shown(instant: datetime) -> str:
    return f"{instant.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
