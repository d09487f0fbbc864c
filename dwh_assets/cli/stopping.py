"""Ctrl-C and SIGTERM: the loop ends after the blocks it works on, and nothing interrupts the end of the servers."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from dwh_assets.cli.output import warn

INTERRUPTED = 130


@dataclass
class Stopping:
    """`stop` is set by the first signal; once `gentle`, that is all. Before, and by a second one, the work is interrupted."""

    stop: threading.Event = field(default_factory=threading.Event)
    gentle: bool = False
    received: int | None = None
    text: str = "stopping after the blocks that are being loaded; once more to interrupt them"

    @property
    def exit_code(self) -> int:
        """Ctrl-C is an interruption; SIGTERM is how services are told that it is time, and they were in order."""
        return INTERRUPTED if self.received == signal.SIGINT else 0

    def handle(self, number: int, frame: FrameType | None) -> None:
        again = self.received is not None
        self.received = number
        self.stop.set()
        if not self.gentle or again:
            warn("interrupted; ending what was started")
            raise KeyboardInterrupt
        if self.text:
            warn(self.text)


@contextmanager
def stopping() -> Iterator[Stopping]:
    """Take the signals over, and give them back as they were."""
    state = Stopping()
    before = {number: signal.signal(number, state.handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield state
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
