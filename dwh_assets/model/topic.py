"""Names of topics: `db.table[#tag][:shard]`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORD = r"[a-z_][a-z0-9_]*"
_TOPIC = re.compile(rf"(?P<table>{_WORD}\.{_WORD})(?:#(?P<tag>{_WORD}))?(?::(?P<shard>[a-z0-9_]+))?")


@dataclass(frozen=True)
class TopicName:
    table: str
    tag: str | None = None
    shard: str | None = None

    @classmethod
    def parse(cls, text: str) -> TopicName:
        match = _TOPIC.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not a topic; write db.table, db.table#tag or db.table#tag:shard in lower case")
        return cls(match["table"], match["tag"], match["shard"])

    @property
    def module(self) -> str:
        return f"{self.table}#{self.tag}" if self.tag else self.table

    def __str__(self) -> str:
        return f"{self.module}:{self.shard}" if self.shard else self.module
