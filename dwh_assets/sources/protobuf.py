"""Protobuf messages as JSON text, by the descriptor set of the project. Runs inside Spark's Python workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column


def protobuf_as_json(message: str, descriptor_set: bytes) -> Callable[[Column], Column]:
    """A function of bytes that gives JSON with the names of the fields; null where they are no such message."""

    def convert(values):  # type: ignore[no-untyped-def]
        # Nothing of this project is imported here: a worker of a cluster has protobuf and pandas only.
        import pandas
        from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
        from google.protobuf.message import DecodeError

        found = descriptor_pb2.FileDescriptorSet.FromString(descriptor_set)
        pool = descriptor_pool.DescriptorPool()
        for file in found.file:
            pool.Add(file)
        kind = message_factory.GetMessageClass(pool.FindMessageTypeByName(message))

        def one(value: bytes | None) -> str | None:
            if value is None:
                return None
            try:
                decoded = kind.FromString(value)
            except DecodeError:
                return None
            return json_format.MessageToJson(
                decoded, preserving_proto_field_name=True, always_print_fields_with_no_presence=True, indent=None
            )

        return pandas.Series([one(value) for value in values], dtype=object)

    return F.pandas_udf(convert, returnType="string")  # type: ignore[call-overload]
