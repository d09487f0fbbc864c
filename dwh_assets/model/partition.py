"""Partition keys: how a block is called where people pick blocks from a list. The view dwh.partition gives them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dwh_assets.model.errors import UnknownPartition

_KEY = re.compile(r"(?P<day>\d{8})-(?P<seq>\d{6,})(?:r(?P<life>\d+))?(?::(?P<shard>.+))?")


@dataclass(frozen=True)
class PartitionKey:
    """`20260301-000042`, with `r2` where block 42 was rolled back once and planned again, and `:north` for the shard north."""

    text: str
    day: str
    seq: int
    shard: str | None = None


def parse_key(text: str) -> PartitionKey:
    found = _KEY.fullmatch(text)
    if found is None:
        raise UnknownPartition(
            f"{text!r} is not the key of a block. Keys look like 20260301-000042, or 20260301-000042:north for a shard."
        )
    return PartitionKey(text, found["day"], int(found["seq"]), found["shard"])
