"""The lease of an attempt, renewed in the background while Spark works."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from dwh_assets.control.claims import ClaimStore, lease_lost
from dwh_assets.engine.renewing import renewed
from dwh_assets.model.block import Claim, Hold
from dwh_assets.model.failpoints import protected


class Lease:
    """`check()` raises as soon as it is known that a newer worker holds the topic."""

    def __init__(self, claims: ClaimStore, claim: Hold) -> None:
        self._claims = claims
        self._claim = claim
        self._lost = threading.Event()

    def check(self) -> None:
        if self._lost.is_set() and protected("token"):
            raise lease_lost(self._claim, self._claims.lease_seconds)

    def hold_table(self) -> None:
        """Wait until no other replacing write holds the target table, and hold it."""
        claim = self._claim
        assert isinstance(claim, Claim)
        while not self._claims.take_table(claim):
            self._rest()

    def wait_for_table(self) -> None:
        """Wait while another topic replaces rows of the target table, however long: whoever dies loses it with its lease."""
        claim = self._claim
        assert isinstance(claim, Claim)
        while self._claims.table_is_held(claim):
            self._rest()

    def _rest(self) -> None:
        self.check()
        time.sleep(0.1)

    @contextmanager
    def kept(self) -> Iterator[Lease]:
        claims, claim = self._claims, self._claim
        with renewed(lambda: claims.renew(claim), claims.lease_seconds, claim.topic, self._lost.set):
            yield self
