"""Settings of the workers: how often they report, when they count as gone, how much they take at once."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings


class WorkerSettings(BaseSettings):
    bus: Literal["postgres", "kafka"] = Field("postgres", description="what carries the messages of the workers")
    bus_prefix: str = Field("", description="before the names of the topics on Kafka, where several warehouses share its brokers")
    bus_options: dict[str, SecretStr] = Field({}, description="more settings of the Kafka client, such as its login, as JSON")
    beat_seconds: float = Field(1, gt=0, description="a worker reports whether it is idle or busy this often")
    silence_seconds: float = Field(30, gt=0, description="a worker that is not heard of for so long has lost what it was given")
    expiry_seconds: float = Field(10, gt=0, description="what a worker does not accept within this time is given to another")
    message_seconds: float = Field(180, gt=0, description="how long messages of the workers are kept")
    turn_blocks: int = Field(5, ge=1, description="blocks of one topic that one run of Dagster loads while others wait")
    worker_memory: int = Field(0, ge=0, description="megabytes of memory after which a worker begins anew; 0: any")
