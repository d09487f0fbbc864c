"""Leases renewed in the background while their holder works."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dwh_assets.model.errors import ControlStoreDown


@contextmanager
def renewed(
    renew: Callable[[], bool], lease_seconds: float, name: str, lost: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Renew three times within each lease; once that is refused, `lost` is told and it ends."""
    ended = threading.Event()

    def keep() -> None:
        while not ended.wait(lease_seconds / 3):
            try:
                kept = renew()
            except ControlStoreDown:
                continue  # the lease may run out meanwhile; then the next renewal, or what is published, is refused
            if not kept:
                lost()
                return

    thread = threading.Thread(target=keep, name=f"lease-{name}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
