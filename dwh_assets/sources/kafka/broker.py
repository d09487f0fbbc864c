"""What a broker holds of one topic: its identity, its partitions, the first and the last offset of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    OffsetSpec,  # pyright: ignore[reportPrivateImportUsage]
)

from dwh_assets.model.errors import SourceDown, SourceError
from dwh_assets.model.events import MOST_PARTITIONS

SECONDS = 10.0  # that a broker is waited for
REFUSED = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
)


@dataclass(frozen=True)
class Held:
    """What a topic holds now: from `low` up to, not including, `high`."""

    stream: str  # the topic's identity: one that was created anew has another
    low: dict[int, int]
    high: dict[int, int]


@dataclass
class Broker:
    source: str
    topic: str
    settings: Mapping[str, str] = field(repr=False)
    _refusals: list[KafkaError] = field(default_factory=list, init=False, repr=False)

    @cached_property
    def _admin(self) -> AdminClient:
        quiet: dict[str, Any] = {"log_level": "0", "socket.timeout.ms": "5000", "client.id": "dwh", "error_cb": self._hear}
        return AdminClient(quiet | dict(self.settings), logger=None)

    def _hear(self, error: KafkaError) -> None:
        if error.code() in REFUSED:
            self._refusals.append(error)

    def held(self) -> Held:
        """Committed events only: what an open transaction has written does not count yet."""
        with self._errors():
            described = self._described()
            partitions = [partition.id for partition in described.partitions]
            low = self._offsets({p: OffsetSpec.earliest() for p in partitions})
            high = self._offsets({p: OffsetSpec.latest() for p in partitions})
        if len(partitions) > MOST_PARTITIONS:
            raise SourceError(f"source {self.source}: only {MOST_PARTITIONS} partitions of topic {self.topic} can be told apart.")
        return Held(str(described.topic_id), low, high)

    def at(self, instant: datetime) -> dict[int, int]:
        """The first offset of each partition with an event of this instant or later; the end where there is none."""
        with self._errors():
            partitions = [partition.id for partition in self._described().partitions]
            high = self._offsets({p: OffsetSpec.latest() for p in partitions})
            found = self._offsets({p: OffsetSpec.for_timestamp(int(instant.timestamp() * 1000)) for p in partitions})
        return {partition: offset if offset >= 0 else high[partition] for partition, offset in found.items()}

    def _described(self) -> Any:
        answer = self._admin.describe_topics(TopicCollection([self.topic]), request_timeout=SECONDS)
        return answer[self.topic].result(SECONDS)

    def _offsets(self, wanted: Mapping[int, Any]) -> dict[int, int]:
        asked = {TopicPartition(self.topic, partition): spec for partition, spec in wanted.items()}
        answers = self._admin.list_offsets(asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=SECONDS)
        return {at.partition: answer.result(SECONDS).offset for at, answer in answers.items()}

    @contextmanager
    def _errors(self) -> Iterator[None]:
        self._refusals.clear()
        try:
            yield
        except KafkaException as error:
            raise self._translated(error.args[0]) from error
        except TimeoutError as error:
            raise self._late("it did not answer in time") from error

    def _late(self, why: str) -> SourceDown | SourceError:
        """A client goes on trying with a wrong password until the call runs out of time; that it was refused is told aside."""
        self._admin.poll(0)
        return self._refused(self._refusals[-1]) if self._refusals else SourceDown(self._away(why))

    def _refused(self, error: KafkaError) -> SourceError:
        return SourceError(f"source {self.source}: the broker refuses us: {error.str()}. Nothing was read.")

    def _translated(self, error: KafkaError) -> SourceDown | SourceError:
        if error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):
            return SourceError(
                f"source {self.source}: the broker has no topic {self.topic}. Nothing was read and no cursor moved.\n"
                "Create it, or correct `topic` in its file."
            )
        if error.code() in REFUSED:
            return self._refused(error)
        if error.code() == KafkaError._TIMED_OUT:
            return self._late(error.str())
        return SourceDown(self._away(error.str()))

    def _away(self, why: str) -> str:
        return (
            f"source {self.source}: the broker of topic {self.topic} does not answer ({why}).\n"
            "Nothing was read and no cursor moved; it is tried again by itself."
        )
