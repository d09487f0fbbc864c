"""One round: workers load a clone of the warehouse while its schedule is carried out; then it is held against the truth."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from dwh_assets.chaos.content import contents, differences
from dwh_assets.chaos.crew import Crew
from dwh_assets.chaos.forking import Nursery
from dwh_assets.chaos.proxy import Proxy, proxied
from dwh_assets.chaos.sample import click
from dwh_assets.chaos.scene import WHO, Scene, changed, expire_leases, opened, settle
from dwh_assets.chaos.schedule import LENGTH, Fault, Schedule, written
from dwh_assets.control.acts import ActStore
from dwh_assets.control.statements import sql
from dwh_assets.engine.apply import apply
from dwh_assets.engine.compact import compact
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.restate import span_of
from dwh_assets.model.errors import ActRefused, Refused, Transient

logger = logging.getLogger(__name__)
PUBLISHING = b"update iceberg.iceberg_tables"  # our commit; Spark's and pyiceberg's say UPDATE
RETRY_SECONDS = 60.0
END = 4.0  # seconds of a schedule; a worker that has not finished its block by then is killed
AGAIN = 5  # events that are delivered again


@dataclass
class Result:
    """How a round ended; no findings is the proof."""

    number: int
    schedule: Schedule
    findings: list[str] = field(default_factory=list)
    seconds: float = 0.0
    blocks: int = 0
    attempts: int = 0
    deaths: int = 0
    stops: int = 0


def play(scene: Scene, nursery: Nursery, number: int, schedule: Schedule) -> Result:
    """A fault of the product shows in the findings; only what chaos itself does wrong is raised."""
    result, began = Result(number, schedule), time.monotonic()
    logger.info("round %s: %s", number, written(schedule))
    cloned = scene.ground.clone(f"round_{number}", lambda: number > 0 and bool(result.findings))
    with cloned as url, proxied(url) as proxy, opened(scene.ground, url) as engine:
        held_back = [fault.target for fault in schedule if fault.kind == "feed"]
        scene.feed_all(engine, held_back)
        with ThreadPoolExecutor(4, thread_name_prefix="chaos") as pool:
            stage = Stage(scene, engine, proxy, _crew(scene, nursery, engine, proxy, number), pool)
            stage.disturb(schedule)
        result.findings += stage.problems
        expire_leases(engine)
        scene.feed_all(engine)
        result.findings += _look(scene, engine)
        _count(engine, result, stage.crew)
    result.seconds = time.monotonic() - began
    return result


def _look(scene: Scene, engine: Engine) -> list[str]:
    try:
        return [*settle(engine), *differences(scene.expected, contents(engine, scene.lineage))]
    except Exception as error:
        logger.exception("the warehouse did not come to rest")
        return [f"I7: the loop ended with {type(error).__name__}: {error}"]


def _crew(scene: Scene, nursery: Nursery, engine: Engine, proxy: Proxy, number: int) -> Crew:
    folder = scene.ground.home / "logs" / f"round-{number}"
    folder.mkdir(parents=True, exist_ok=True)
    return Crew(
        nursery, scene.workers, scene.ground.environment(proxy.url), folder, lambda: _again(lambda: expire_leases(engine))
    )


def _count(engine: Engine, result: Result, crew: Crew) -> None:
    (row,) = engine.database.fetch(sql("count_work"))
    result.blocks, result.attempts = row["blocks"], row["attempts"]
    result.deaths, result.stops = crew.deaths, crew.stops


@dataclass
class Stage:
    """Where a schedule is carried out. What takes long goes on beside the next faults."""

    scene: Scene
    engine: Engine
    proxy: Proxy
    crew: Crew
    pool: ThreadPoolExecutor
    problems: list[str] = field(default_factory=list)
    _beside: list[tuple[Fault, Future[None]]] = field(default_factory=list)

    def disturb(self, schedule: Schedule) -> None:
        """Until every fault has happened and nobody sleeps any more; then the workers finish their blocks."""
        self.crew.start()
        began, left, pace = time.monotonic(), list(schedule), self.scene.pace
        try:
            while left or self.crew.sleeping or time.monotonic() - began < pace * LENGTH:
                while left and time.monotonic() - began >= pace * left[0].at:
                    self._happen(left.pop(0))
                self.crew.watch()
                time.sleep(0.05)
        finally:
            self.crew.end(pace * END)
        for fault, future in self._beside:
            self._judge(fault, future)

    def _happen(self, fault: Fault) -> None:
        logger.info("%s", fault)
        acts: dict[str, Callable[[Fault], None]] = {
            "kill": self._kill,
            "stop": self._stop,
            "expire": lambda fault: _again(lambda: expire_leases(self.engine)),
            "cut": lambda fault: self.proxy.cut_all(),
            "lose": lambda fault: self.proxy.cut(PUBLISHING, b"COMMIT"),
            "spark": lambda fault: self.scene.ground.crash_spark(),
        }
        if fault.kind in acts:
            acts[fault.kind](fault)
        else:
            self._beside.append((fault, self.pool.submit(_again, lambda: self._act(fault))))

    def _kill(self, fault: Fault) -> None:
        if fault.point:
            self.crew.arm(int(fault.target), fault.point, "kill", 0)
        else:
            self.crew.kill(int(fault.target))

    def _stop(self, fault: Fault) -> None:
        if fault.point:
            self.crew.arm(int(fault.target), fault.point, "stop", self.scene.pace * fault.seconds)
        else:
            self.crew.stop(int(fault.target), self.scene.pace * fault.seconds)

    def _act(self, fault: Fault) -> None:
        ground, engine = self.scene.ground, self.engine
        if fault.kind == "postgres":
            ground.crash_postgres()
        elif fault.kind == "kafka":
            ground.crash_kafka()
        elif fault.kind == "freeze":
            ground.freeze(fault.target, self.scene.pace * fault.seconds)
        elif fault.kind == "feed":
            self.scene.feed(engine, fault.target)
        elif fault.kind == "resend":
            ground.send([click(number) for number in range(1, AGAIN + 1)], self.scene.partitions)
        elif fault.kind == "apply":
            # A person's own transform may add up each block: then blocks of another size would be other rows.
            apply(engine, changed(self.scene.lineage, f"changed by {fault}", cuts=self.scene.strict), WHO)
        elif fault.kind == "restate":
            span = span_of(engine, self.scene.lineage, fault.target, 1, None)
            ActStore(engine.database, WHO).ask_restatement(span.topic, span.first, span.last, "restate", f"chaos: {fault}")
        elif fault.kind == "compact":
            compact(engine, self.scene.lineage, fault.target, lambda *told: None)

    def _judge(self, fault: Fault, future: Future[None]) -> None:
        """Refused acts are no fault of the product; whatever else an act raises is."""
        try:
            future.result()
        except (ActRefused, Refused) as error:
            logger.info("%s was refused: %s", fault, error)
        except Exception as error:
            logger.exception("%s", fault)
            self.problems.append(f"{fault}: {type(error).__name__}: {error}")


def _again(act: Callable[[], None]) -> None:
    """Servers go and come back: what was transient is tried again."""
    until = time.monotonic() + RETRY_SECONDS
    while True:
        try:
            return act()
        except Transient as error:
            if time.monotonic() > until:
                raise
            logger.info("again: %s", error)
            time.sleep(0.2)
