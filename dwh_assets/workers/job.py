"""What a worker works on: one assignment, and what it says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

from dwh_assets.workers.messages import Message


class Say(Protocol):
    def __call__(self, *messages: Message) -> None: ...


@dataclass
class Job:
    id: UUID
    configuration: dict[str, Any]
    worker: UUID
    say: Say
    ending: Callable[[], bool] = lambda: False  # asked after each block: is its worker to end?
    interrupted: str | None = field(default=None)  # why it must end before its time

    @property
    def kind(self) -> str:
        return str(self.configuration.get("kind"))

    @property
    def name(self) -> str:
        return str(self.configuration.get("name"))


Handler = Callable[[Job], None]  # carries a job out; what it raises is why the job failed
