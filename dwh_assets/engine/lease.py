"""The lease of an attempt, renewed in the background while Spark works."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from dwh_assets.control.claims import ClaimStore, lease_lost
from dwh_assets.model.block import Claim, Hold
from dwh_assets.model.errors import ControlStoreDown, PointerTaken
from dwh_assets.model.failpoints import protected


class Lease:
    """`check()` raises as soon as it is known that a newer worker holds the topic."""

    def __init__(self, claims: ClaimStore, claim: Hold) -> None:
        self._claims = claims
        self._claim = claim
        self._ended = threading.Event()
        self._lost = threading.Event()

    def check(self) -> None:
        if self._lost.is_set() and protected("token"):
            raise lease_lost(self._claim, self._claims.lease_seconds)

    def hold_table(self, deadline: float) -> None:
        """Wait until no other replacing write holds the target table, and hold it."""
        until = time.monotonic() + deadline
        claim = self._claim
        assert isinstance(claim, Claim)
        while not self._claims.take_table(claim):
            self.check()
            if time.monotonic() > until:
                raise PointerTaken(f"{claim.label}: {claim.target} has long been replaced by another topic.")
            time.sleep(0.1)

    def _keep(self) -> None:
        pause = self._claims.lease_seconds / 3
        while not self._ended.wait(pause):
            try:
                kept = self._claims.renew(self._claim)
            except ControlStoreDown:
                continue  # the lease may run out meanwhile; then the next renewal or the commit says so
            if not kept:
                self._lost.set()
                return

    @contextmanager
    def kept(self) -> Iterator[Lease]:
        thread = threading.Thread(target=self._keep, name=f"lease-{self._claim.topic}", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._ended.set()
