"""Schema files of events: JSON Schema, Avro schemas and Protobuf descriptor sets, read as columns in Spark's words."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError

from dwh_assets.model.events import EventField, EventSchema, Format

_DECIMAL = re.compile(r"decimal\((\d{1,2}),\s*(\d{1,2})\)")
_JSON = {"string": "string", "integer": "bigint", "number": "double", "boolean": "boolean"}
_JSON_FORMATS = {
    ("string", "date-time"): "timestamp",
    ("string", "date"): "date",
    ("integer", "int32"): "int",
    ("integer", "int64"): "bigint",
    ("number", "float"): "float",
    ("number", "double"): "double",
}
_AVRO = {
    "boolean": "boolean", "int": "int", "long": "bigint", "float": "float", "double": "double", "string": "string",
    "bytes": "binary", "enum": "string", "fixed": "binary",
}  # fmt: skip
_AVRO_LOGICAL = {"date": "date", "timestamp-millis": "timestamp", "timestamp-micros": "timestamp", "uuid": "string"}
_PROTO = {
    FieldDescriptorProto.TYPE_DOUBLE: "double", FieldDescriptorProto.TYPE_FLOAT: "float",
    FieldDescriptorProto.TYPE_INT64: "bigint", FieldDescriptorProto.TYPE_SINT64: "bigint",
    FieldDescriptorProto.TYPE_SFIXED64: "bigint", FieldDescriptorProto.TYPE_INT32: "int",
    FieldDescriptorProto.TYPE_SINT32: "int", FieldDescriptorProto.TYPE_SFIXED32: "int",
    FieldDescriptorProto.TYPE_UINT32: "bigint", FieldDescriptorProto.TYPE_FIXED32: "bigint",
    FieldDescriptorProto.TYPE_UINT64: "decimal(20,0)", FieldDescriptorProto.TYPE_FIXED64: "decimal(20,0)",
    FieldDescriptorProto.TYPE_BOOL: "boolean", FieldDescriptorProto.TYPE_STRING: "string",
    FieldDescriptorProto.TYPE_BYTES: "binary", FieldDescriptorProto.TYPE_ENUM: "string",
}  # fmt: skip
_WIDER = {("int", "bigint"), ("float", "double")}


class SchemaRefused(ValueError):
    """A schema file that cannot be used; the text says why."""


def read_schema(version: int, content: bytes, format_: Format, message: str | None) -> EventSchema:
    if format_ == "protobuf":
        text = base64.b64encode(content).decode()
        return EventSchema(version, tuple(_protobuf_fields(content, message or "")), text)
    try:
        text = content.decode()
        document = json.loads(text)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise SchemaRefused(f"is not JSON: {error}") from None
    fields = _avro_fields(document) if format_ == "avro" else _json_fields(document)
    return EventSchema(version, tuple(fields), text)


def descriptor_of(schema: EventSchema) -> bytes:
    """The descriptor set of a Protobuf schema."""
    try:
        return base64.b64decode(schema.text, validate=True)
    except binascii.Error as error:
        raise SchemaRefused(f"the stored descriptor of version {schema.version} is damaged: {error}") from None


def breaking_changes(schemas: Sequence[EventSchema], evolution: str) -> Iterator[tuple[int, str]]:
    """(version, what is wrong) where a version does not simply add to the one before it."""
    for before, after in pairwise(schemas):
        known = {field.name: field for field in before.fields}
        given = {field.name: field for field in after.fields}
        for name, field in known.items():
            if name not in given:
                yield after.version, f"takes {name} away, which version {before.version} has; a version may only add fields"
            elif not _same_or_wider(field.type, given[name].type):
                yield after.version, f"turns {name} from {field.type} into {given[name].type}; give the new field a new name"
        for name, field in given.items():
            if name not in known and field.required:
                yield after.version, f"requires the new field {name}: the events before it have none; make it optional"
            if name not in known and evolution == "none":
                yield after.version, f"adds {name}, and evolution is none; set it to additive to let columns be added"


def _same_or_wider(old: str, new: str) -> bool:
    if old == new or (old, new) in _WIDER:
        return True
    decimals = _DECIMAL.fullmatch(old), _DECIMAL.fullmatch(new)
    if decimals[0] and decimals[1]:
        return decimals[0][2] == decimals[1][2] and int(decimals[0][1]) <= int(decimals[1][1])
    return False


def _json_fields(document: Any) -> Iterator[EventField]:
    if not isinstance(document, dict) or not isinstance(document.get("properties"), dict) or not document["properties"]:
        raise SchemaRefused("is no JSON Schema of an object: it has no properties")
    required = document.get("required", [])
    for name, described in document["properties"].items():
        yield EventField(name, _json_type(name, described), name in required)


def _json_type(name: str, described: Any) -> str:
    if not isinstance(described, dict):
        raise SchemaRefused(f"{name} is not described by a mapping")
    kinds = described.get("type")
    kind = next((k for k in kinds if k != "null"), None) if isinstance(kinds, list) else kinds
    format_ = str(described.get("format", ""))
    if kind == "array":
        return f"array<{_json_type(f'{name}[]', described.get('items'))}>"
    if kind == "object":
        inner = _json_fields(described)
        return f"struct<{', '.join(f'`{field.name}`: {field.type}' for field in inner)}>"
    if kind in ("number", "string") and _DECIMAL.fullmatch(format_):
        return format_.replace(" ", "")
    if kind not in _JSON:
        raise SchemaRefused(f"{name} has the type {kind!r}; allowed are {', '.join(_JSON)}, array and object")
    return _JSON_FORMATS.get((kind, format_), _JSON[kind])


def _avro_fields(document: Any) -> Iterator[EventField]:
    if not isinstance(document, dict) or document.get("type") != "record":
        raise SchemaRefused("is no Avro schema of a record")
    for field in document["fields"]:
        kind = field["type"]
        optional = isinstance(kind, list) and "null" in kind
        yield EventField(field["name"], _avro_type(field["name"], kind), not optional and "default" not in field)


def _avro_type(name: str, kind: Any) -> str:
    if isinstance(kind, list):
        others = [k for k in kind if k != "null"]
        if len(others) != 1:
            raise SchemaRefused(f"{name} is a union of {len(others)} types; only one beside null has a column")
        return _avro_type(name, others[0])
    if isinstance(kind, str):
        if kind not in _AVRO:
            raise SchemaRefused(f"{name} names the type {kind}, which is not described in place; write it out")
        return _AVRO[kind]
    if kind.get("logicalType") == "decimal":
        return f"decimal({kind['precision']},{kind.get('scale', 0)})"
    if (logical := kind.get("logicalType")) in _AVRO_LOGICAL:
        return _AVRO_LOGICAL[logical]
    if kind["type"] == "array":
        return f"array<{_avro_type(f'{name}[]', kind['items'])}>"
    if kind["type"] == "map":
        return f"map<string, {_avro_type(f'{name}[]', kind['values'])}>"
    if kind["type"] == "record":
        return f"struct<{', '.join(f'`{field.name}`: {field.type}' for field in _avro_fields(kind))}>"
    return _avro_type(name, kind["type"])


def _protobuf_fields(content: bytes, message: str) -> Iterator[EventField]:
    found = FileDescriptorSet()
    try:
        found.ParseFromString(content)
    except DecodeError:
        raise SchemaRefused("is no descriptor set; make it by `protoc --include_imports --descriptor_set_out=FILE`") from None
    messages = dict(_messages(found))
    if message not in messages:
        raise SchemaRefused(f"has no message {message!r}; it has {', '.join(sorted(messages)) or 'none'}")
    for field in messages[message].field:
        required = field.label == FieldDescriptorProto.LABEL_REQUIRED
        yield EventField(field.name, _protobuf_type(field, messages, (message,)), required)


def _messages(found: FileDescriptorSet) -> Iterator[tuple[str, DescriptorProto]]:
    def below(prefix: str, described: DescriptorProto) -> Iterator[tuple[str, DescriptorProto]]:
        name = f"{prefix}{described.name}"
        yield name, described
        for nested in described.nested_type:
            yield from below(f"{name}.", nested)

    for file in found.file:
        for described in file.message_type:
            yield from below(f"{file.package}." if file.package else "", described)


def _protobuf_type(field: FieldDescriptorProto, messages: Mapping[str, DescriptorProto], path: tuple[str, ...]) -> str:
    name = field.type_name.removeprefix(".")
    repeated = field.label == FieldDescriptorProto.LABEL_REPEATED
    if field.type != FieldDescriptorProto.TYPE_MESSAGE:
        if field.type not in _PROTO:
            raise SchemaRefused(f"{field.name} has a type that has no column (groups are not read)")
        kind = _PROTO[field.type]
    elif name == "google.protobuf.Timestamp":
        kind = "timestamp"
    elif name in path:
        raise SchemaRefused(f"{field.name} holds {name} again; a message within itself has no column")
    elif messages[name].options.map_entry:
        key, value = (_protobuf_type(part, messages, (*path, name)) for part in messages[name].field)
        return f"map<{key}, {value}>"
    else:
        inner = (f"`{part.name}`: {_protobuf_type(part, messages, (*path, name))}" for part in messages[name].field)
        kind = f"struct<{', '.join(inner)}>"
    return f"array<{kind}>" if repeated else kind
