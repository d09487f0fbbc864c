"""A warm worker: a process that reports idle or busy, and carries out one thing at a time, in its main thread."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType
from uuid import UUID, uuid4

from dwh_assets.config.worker_settings import WorkerSettings
from dwh_assets.control.assignments import WorkerStore
from dwh_assets.control.database import Database
from dwh_assets.model.errors import DwhError, Transient, in_words
from dwh_assets.workers.bus import Bus, Reader
from dwh_assets.workers.job import Handler, Job
from dwh_assets.workers.manager import Manager
from dwh_assets.workers.messages import (
    CONTROL,
    Accepted,
    Assign,
    Cancel,
    Command,
    Failed,
    Finished,
    Heartbeat,
    Message,
    Rejected,
    Started,
)

logger = logging.getLogger(__name__)
NO_LONGER_ITS_OWN = "it was given to another worker while this one was stopped or slow"
CANCELLED = "cancelled"
TOLD_TWICE = "its worker was told twice to end"


class Worker:
    """`outdated` says why this process must begin anew, if so: it is asked between two jobs and, by a job, between two blocks.

    `id_` is given where leases are taken in its name, so that they can be released when it is lost.
    """

    def __init__(
        self,
        database: Database,
        bus: Bus,
        handlers: Mapping[str, Handler],
        settings: WorkerSettings,
        outdated: Callable[[], str | None] = lambda: None,
        id_: UUID | None = None,
    ) -> None:
        self.id = id_ or uuid4()
        self._store = WorkerStore(database)
        self._bus = bus
        self._handlers = handlers
        self._settings = settings
        self._outdated = outdated
        self._manager = Manager(self.id, database, bus, settings)
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()  # None: end
        self._job: Job | None = None
        self._ending = False
        self._anew = False
        self._interruptible = False
        self._over = threading.Event()
        self._problem: Exception | None = None

    def work(self) -> bool:
        """Carry out what it is given until told to end; False if the process must begin anew."""
        with self._signals(), self._present():
            while (job := self._jobs.get()) is not None:
                self._carry_out(job)
        if self._problem is not None:
            raise self._problem
        return not self._anew

    @contextmanager
    def _present(self) -> Iterator[None]:
        reader = self._bus.reader(CONTROL)  # before anyone knows of it: it must hear the first thing it is told
        self._store.register(self.id, socket.gethostname(), os.getpid(), self._handlers)
        threads = [
            threading.Thread(target=self._listen, args=(reader,), name="listener", daemon=True),
            threading.Thread(target=self._manager.run, args=(self._over,), name="manager", daemon=True),
        ]
        for thread in threads:
            thread.start()
        logger.info("worker %s is ready", self.id)
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join()
            self._leave()

    def _leave(self) -> None:
        try:
            self._store.leave(self.id)
        except Transient as error:
            logger.warning("%s", error)  # then its silence says so

    # In the main thread: one job after the other.

    def _carry_out(self, job: Job) -> None:
        try:
            message = self._outcome(job) if self._may_start(job) else None
        except Transient as error:
            logger.warning("%s %s: %s", job.kind, job.name, error)  # idle without a report: it is given again
            message = None
        if message is not None:
            self._tell_the_end(message)
        self._job = None
        self._tell(Heartbeat(id=self.id, state="idle"))

    def _may_start(self, job: Job) -> bool:
        if job.interrupted is None and self._store.start(job.id, self.id):
            return True
        reason = job.interrupted or CANCELLED
        self._tell(Failed(etl_execution_id=job.id, assignee=self.id, reason=reason))  # changes nothing if it is another's by now
        return False

    def _outcome(self, job: Job) -> Message:
        self._bus.publish(Started(etl_execution_id=job.id, assignee=self.id))
        logger.info("%s %s begins", job.kind, job.name)
        reason = self._handle(job)
        logger.info("%s %s %s", job.kind, job.name, "is finished" if reason is None else f"failed: {reason}")
        if reason is None:
            return Finished(etl_execution_id=job.id, assignee=self.id)
        return Failed(etl_execution_id=job.id, assignee=self.id, reason=reason)

    def _handle(self, job: Job) -> str | None:
        """Why it failed, if it did."""
        try:
            with self._may_be_interrupted(job):
                self._handlers[job.kind](job)
        except KeyboardInterrupt:
            return job.interrupted or "interrupted"
        except Exception as error:  # whatever it is, it ends the job and not the worker
            if not isinstance(error, DwhError):
                logger.warning("%s %s", job.kind, job.name, exc_info=error)
            return job.interrupted or in_words(error)
        return job.interrupted  # a handler may have ended in order when it was interrupted

    @contextmanager
    def _may_be_interrupted(self, job: Job) -> Iterator[None]:
        self._interruptible = True
        try:
            if job.interrupted is not None:
                raise KeyboardInterrupt
            yield
        finally:
            self._interruptible = False

    def _tell_the_end(self, message: Message) -> None:
        """The end of a job is said again until it is heard, as long as it would be kept there."""
        until = time.monotonic() + self._settings.message_seconds
        while not self._tell(message) and time.monotonic() < until:
            time.sleep(self._settings.beat_seconds)

    def _tell(self, message: Message) -> bool:
        try:
            self._bus.publish(message)
        except Transient as error:
            logger.warning("%s", error)
            return False
        return True

    # In the listener's thread: what the manager says, and the heartbeat.

    def _listen(self, reader: Reader) -> None:
        beat = 0.0
        try:
            while not self._over.is_set():
                with _told_in_the_log():
                    for delivery in reader.read(max(0.0, beat - time.monotonic())):
                        self._hear(delivery.message)
                if time.monotonic() >= beat:
                    beat = time.monotonic() + self._settings.beat_seconds
                    with _told_in_the_log():
                        self._beat()
        except Exception as error:  # noqa: BLE001 - a worker that cannot hear must end, not look alive
            self._problem = error
            self._end()
        finally:
            reader.close()

    def _hear(self, message: Message) -> None:
        if not isinstance(message, Command) or message.assignee != self.id:
            return
        job = self._job
        if isinstance(message, Cancel) and job is not None and job.id == message.etl_execution_id:
            self._interrupt(job, CANCELLED)
        if isinstance(message, Assign) and (job is None or job.id != message.etl_execution_id):
            self._take(message)

    def _take(self, message: Assign) -> None:
        job = Job(message.etl_execution_id, message.configuration, self.id, self._bus.publish, self._is_to_end)
        if job.kind not in self._handlers or self._job is not None or self._ending or self._must_begin_anew():
            self._bus.publish(Rejected(etl_execution_id=job.id, assignee=self.id))
            return
        self._bus.publish(Accepted(etl_execution_id=job.id, assignee=self.id), Heartbeat(id=self.id, state="busy"))
        self._job = job
        self._jobs.put(job)

    def _beat(self) -> None:
        """Ask first and report then: a worker that the bus does not reach still learns that its job is another's."""
        job = self._job
        if job is None:
            self._must_begin_anew()
        else:
            held = self._store.held(job.id, self.id)
            if self._job is job and (held is None or held["cancelled"]):
                self._interrupt(job, NO_LONGER_ITS_OWN if held is None else CANCELLED)
        self._bus.publish(Heartbeat(id=self.id, state="idle" if self._job is None else "busy"))

    def _is_to_end(self) -> bool:
        """Asked by the job after each block: a backlog must not keep an outdated worker for hours."""
        return self._ending or self._must_begin_anew()

    def _must_begin_anew(self) -> bool:
        why = None if self._ending else self._outdated()
        if why is not None:
            logger.info("this worker begins anew: %s", why)
            self._anew = True
            self._end()
        return why is not None

    def _interrupt(self, job: Job, why: str) -> None:
        """Once. A signal, so that it reaches the main thread wherever it is."""
        if job.interrupted is None:
            job.interrupted = why
            os.kill(os.getpid(), signal.SIGUSR1)

    # Signals.

    @contextmanager
    def _signals(self) -> Iterator[None]:
        handlers = {signal.SIGINT: self._told_to_end, signal.SIGTERM: self._told_to_end, signal.SIGUSR1: self._interrupted}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _told_to_end(self, number: int, frame: FrameType | None) -> None:
        """The first time: after the block. The second time: now."""
        job = self._job
        if self._ending and job is not None:
            self._interrupt(job, TOLD_TWICE)
        self._end()

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        """As Ctrl-C does it: a handler that has put its own answer to that in place, as Dagster does, gives that answer."""
        job = self._job
        if job is None or job.interrupted is None or not self._interruptible:
            return
        answer = signal.getsignal(signal.SIGINT)
        if callable(answer) and answer != self._told_to_end:
            answer(signal.SIGINT, frame)
        else:
            raise KeyboardInterrupt

    def _end(self) -> None:
        self._ending = True
        self._jobs.put(None)


@contextmanager
def _told_in_the_log() -> Iterator[None]:
    """Trouble that passes by itself stops no worker."""
    try:
        yield
    except Transient as error:
        logger.warning("%s", error)
