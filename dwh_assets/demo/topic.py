"""The web shop's topic on the broker: created if it is missing, and written to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from dwh_assets.demo.events import TOPIC, Message
from dwh_assets.model.errors import SourceDown

PARTITIONS = 3
SECONDS = 5


class Topic:
    def __init__(self, brokers: str) -> None:
        self._settings = {"bootstrap.servers": brokers, "client.id": "dwh-demo", "log_level": 0}

    def prepare(self) -> None:
        """Create the topic unless it is there, with as many copies as the broker makes by itself."""
        admin = AdminClient({**self._settings, "socket.timeout.ms": SECONDS * 1000})
        try:
            admin.create_topics([NewTopic(TOPIC, PARTITIONS)], operation_timeout=SECONDS)[TOPIC].result(SECONDS)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise _away(error.args[0].str()) from error
        except TimeoutError as error:
            raise _away("it did not answer in time") from error

    def send(self, messages: Sequence[Message]) -> None:
        """All of them are with the broker when this returns. After an error some may be, and come again with the next round."""
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: object) -> None:
            if error is not None:
                failed.append(error)

        for message in messages:
            self._producer.produce(TOPIC, message.value, message.key, on_delivery=delivered)
        left = self._producer.flush(SECONDS + 2)
        if left or failed:
            self._producer.purge()
            raise _away(failed[0].str() if failed else f"{left} events were not confirmed in time")

    @cached_property
    def _producer(self) -> Producer:
        return Producer({**self._settings, "message.timeout.ms": SECONDS * 1000, "linger.ms": 5})


def _away(why: str) -> SourceDown:
    return SourceDown(
        f"the broker of the demo's topic {TOPIC} did not take its events ({why}).\n"
        "They are sent again with the next round; what it has got twice is loaded once."
    )
