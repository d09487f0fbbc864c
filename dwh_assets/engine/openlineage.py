"""Tells of executions by OpenLineage events, beside the loading: whatever becomes of an event, no block waits for it or fails."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from queue import Empty, Full, Queue
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, build_opener

from dwh_assets.config.settings import Settings
from dwh_assets.control.column_lineage import ColumnLineageStore, lineage_of_row
from dwh_assets.control.lineage import LineageStore
from dwh_assets.model.block import BlockStats, Claim
from dwh_assets.model.openlineage import Told, event

logger = logging.getLogger(__name__)
WAITING = 1000  # events; what comes while so many wait is dropped
SECONDS = 3.0  # that a server may take to answer
LAST_SECONDS = 2.0  # that the end of a process waits for what is not sent yet
Send = Callable[[str], None]


class OpenLineage:
    """Without an address or a file in the settings it does nothing. Else a thread of its own makes and sends the events."""

    def __init__(self, settings: Settings, lineage: LineageStore, columns: ColumnLineageStore) -> None:
        self._settings, self._lineage, self._columns = settings, lineage, columns
        self._sends = _sends(settings)
        self._queue: Queue[Told] = Queue(WAITING)
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._dropped = 0

    def started(self, claim: Claim) -> None:
        self._tell(Told("START", datetime.now(UTC), claim))

    def completed(self, claim: Claim, stats: Sequence[BlockStats]) -> None:
        self._tell(Told("COMPLETE", datetime.now(UTC), claim, tuple(stats)))

    def failed(self, claim: Claim, problem: str) -> None:
        self._tell(Told("FAIL", datetime.now(UTC), claim, problem=problem))

    def interrupted(self, claim: Claim) -> None:
        self._tell(Told("ABORT", datetime.now(UTC), claim, problem="interrupted by hand"))

    def close(self) -> None:
        """What is not sent within a moment is left out, and said."""
        if self._thread is None:
            return
        self._ending.set()
        self._thread.join(LAST_SECONDS)
        if left := self._queue.qsize() + self._dropped:
            logger.warning("%d OpenLineage events were not sent; nothing that was loaded depends on them", left)

    def _tell(self, told: Told) -> None:
        if not self._sends:
            return
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="openlineage", daemon=True)
                self._thread.start()
        try:
            self._queue.put_nowait(told)
        except Full:
            self._dropped += 1

    def _run(self) -> None:
        while not (self._ending.is_set() and self._queue.empty()):
            try:
                told = self._queue.get(timeout=0.1)
            except Empty:
                continue
            try:
                self._send(told)
            except Exception as error:  # noqa: BLE001 - said in the log; an event is worth no block
                self._dropped += 1
                logger.warning("the OpenLineage event %s of %s was not sent: %s", told.type, told.claim.label, _safe(error))

    def _send(self, told: Told) -> None:
        row = self._columns.newest().get(told.claim.module.name)
        columns = self._lineage.columns().get(told.claim.target, [])
        made = event(told, self._settings.openlineage_namespace, columns, None if row is None else lineage_of_row(row))
        text = json.dumps(made)
        for send in self._sends:
            send(text)


def _sends(settings: Settings) -> list[Send]:
    found: list[Send] = []
    if settings.openlineage_file is not None:
        path = settings.project / settings.openlineage_file

        def add(text: str) -> None:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab", buffering=0) as file:
                file.write(text.encode() + b"\n")  # one write: lines of several processes do not mix

        found.append(add)
    if settings.openlineage_url is not None:
        url, key = settings.openlineage_url, settings.openlineage_key

        def post(text: str) -> None:
            headers = {"Content-Type": "application/json", "User-Agent": "dwh"}
            headers |= {"Authorization": f"Bearer {key.get_secret_value()}"} if key else {}
            request = Request(url.get_secret_value(), text.encode(), headers)  # noqa: S310 - the settings allow http(s) only
            try:
                build_opener().open(request, timeout=SECONDS).close()
            except HTTPError as error:
                error.close()
                raise

        found.append(post)
    return found


def _safe(error: Exception) -> Any:
    """Never the address: it may hold a key."""
    return f"HTTP {error.code}" if isinstance(error, HTTPError) else f"{type(error).__name__}: {getattr(error, 'reason', error)}"
