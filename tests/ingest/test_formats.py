"""Avro and Protobuf by the files of the project, and where an event says its version."""

from __future__ import annotations

import io
import struct
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from dwh_assets.model.errors import LineageError
from tests.ingest.stream import SOURCE, TABLE, Stream, event

AVRO_1: dict[str, Any] = {
    "type": "record",
    "name": "Event",
    "fields": [
        {"name": "project", "type": "string"},
        {"name": "product", "type": "long"},
        {"name": "amount", "type": ["null", "double"], "default": None},
    ],
}
AVRO_2 = {**AVRO_1, "fields": [*AVRO_1["fields"], {"name": "colour", "type": ["null", "string"], "default": None}]}


def avro(project: str, product: int, amount: float | None = None, colour: str | bool | None = False) -> bytes:
    """The binary form of the records above, written by hand: what a producer sends."""
    out = io.BytesIO()
    _string(out, project)
    _long(out, product)
    _long(out, 0 if amount is None else 1)
    if amount is not None:
        out.write(struct.pack("<d", amount))
    if colour is not False:
        _long(out, 0 if colour is None else 1)
        if isinstance(colour, str):
            _string(out, colour)
    return out.getvalue()


def _string(out: io.BytesIO, text: str) -> None:
    _long(out, len(text.encode()))
    out.write(text.encode())


def _long(out: io.BytesIO, value: int) -> None:
    value = (value << 1) ^ (value >> 63)
    while value > 127:
        out.write(bytes([value & 127 | 128]))
        value >>= 7
    out.write(bytes([value]))


def test_avro_is_decoded_by_the_version_in_its_wire_format(stream: Stream) -> None:
    stream.schemas = {1: AVRO_1, 2: AVRO_2}
    stream.create().declare(format="avro", version_in="confluent", event_time=None)
    stream.project.apply()
    head = {version: b"\x00" + version.to_bytes(4, "big") for version in (1, 2, 9)}
    stream.send(
        [
            head[1] + avro("shop", 1, 2.5),
            head[2] + avro("shop", 2, None, "red"),
            head[9] + avro("shop", 3),
            head[1] + b"\x7f",
            b"x",
        ],
        partition=0,
    )
    stream.project.load()
    assert stream.project.rows(TABLE, "product, amount, colour, _schema_version") == [(1, 2.5, None, 1), (2, None, "red", 2)]
    assert [(offset, reason) for _, offset, reason in stream.dead()] == [
        (2, "unknown_version"),
        (3, "malformed"),
        (4, "unknown_version"),
    ]


def test_the_version_may_stand_in_a_header(stream: Stream) -> None:
    stream.create().declare(version_in="header:schema")
    stream.project.apply()
    stream.send([event(1)], partition=0, headers={"schema": "1"})
    stream.send([event(2)], partition=0, headers={"schema": "3"})
    stream.send([event(3)], partition=0)
    stream.project.load()
    assert stream.products() == [1]
    assert [reason for *_, reason in stream.dead()] == ["unknown_version", "unknown_version"]


def _descriptor() -> descriptor_pb2.FileDescriptorSet:
    file = descriptor_pb2.FileDescriptorProto(name="event.proto", package="shop", syntax="proto3")
    message = file.message_type.add(name="Event")
    kinds = descriptor_pb2.FieldDescriptorProto
    for number, (name, kind) in enumerate(
        [("project", kinds.TYPE_STRING), ("product", kinds.TYPE_INT64), ("amount", kinds.TYPE_DOUBLE)], start=1
    ):
        message.field.add(name=name, number=number, type=kind, label=kinds.LABEL_OPTIONAL)
    return descriptor_pb2.FileDescriptorSet(file=[file])


def test_protobuf_is_decoded_by_the_descriptor_set(stream: Stream) -> None:
    described = _descriptor()
    pool = descriptor_pool.DescriptorPool()
    pool.Add(described.file[0])
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Event"))
    stream.create().declare(
        format="protobuf", message="shop.Event", version_in=None, event_time=None, schemas="{1: schemas/event.desc}"
    )
    (stream.project.folder / "lineage/schemas/event.desc").write_bytes(described.SerializeToString())
    stream.project.apply()
    good = [kind(project="shop", product=n, amount=n / 2).SerializeToString() for n in (1, 2)]
    stream.send([*good, b"\xff\xff\xff"], partition=0)
    stream.project.load()
    assert stream.project.rows(TABLE, "project, product, amount") == [("shop", 1, 0.5), ("shop", 2, 1.0)]
    assert [(offset, reason) for _, offset, reason in stream.dead()] == [(2, "malformed")]


def test_a_source_of_events_says_all_that_is_wrong_with_it(stream: Stream) -> None:
    stream.declare(
        format="json",
        version_in="field:nope",
        key="[project, prodct]",
        event_time="amount",
        dedup_age="8d",
        unknown_fields="refuse",
    )
    text = (stream.project.folder / "lineage/sources/events.yaml").read_text()
    stream.project.write("lineage/sources/events.yaml", text + "shards: [a]\nshard_by: x\n")
    stream.project.write(
        "lineage/stage/events.yaml", f"table: {TABLE}\ndepends_on: [{SOURCE}]\nprocessor: ingest\nkey: [a]\ndelay: 2h\n"
    )
    with pytest.raises(LineageError) as refused:
        stream.project.lineage()
    for part in (
        "events.yaml:10: events.key[1]: version 1 has no field prodct (did you mean product?)",
        "events.event_time: amount is double; a timestamp (date-time) of all versions is needed",
        "events.version_in: version 1 has no field nope",
        "events.dedup_age: must be longer than retention and replay together, 8d",
        "shards: is not used by kind kafka",
        "key: is not used by processor ingest; the source's events name theirs",
        "delay: is not used by processor ingest; events get their place in time when they are taken in",
    ):
        assert part in str(refused.value)
