"""A run of rounds: each drawn from the seed; the first that fails is shrunk and told."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dwh_assets.chaos import sample
from dwh_assets.chaos.forking import Nursery
from dwh_assets.chaos.ground import Ground
from dwh_assets.chaos.round import Result, play
from dwh_assets.chaos.scene import Scene
from dwh_assets.chaos.schedule import Schedule, draw
from dwh_assets.chaos.shrink import shrink
from dwh_assets.config.lineage_files import load_lineage


@dataclass
class Ran:
    """All rounds of a run. `shortest` is what is left of the schedule of a round that failed."""

    rounds: list[Result] = field(default_factory=list)
    shortest: Schedule | None = None

    @property
    def failed(self) -> Result | None:
        return next((result for result in self.rounds if result.findings), None)


@contextmanager
def scratch(keep: Callable[[], bool]) -> Iterator[Path]:
    """A home that every user may enter, as Postgres has one of its own; it goes unless there is something to look at."""
    home = Path(tempfile.mkdtemp(prefix="dwh-chaos-"))
    home.chmod(0o755)
    try:
        yield home
    finally:
        if not keep():
            shutil.rmtree(home)


@contextmanager
def built_in(ground: Ground, seed: int, workers: int) -> Iterator[Scene]:
    """The sample warehouse on this ground, prepared."""
    sample.write_project(ground.project, ground.topic)
    lineage = load_lineage(ground.project / "lineage", ground.project / "sql" / "transforms")
    scene = Scene(ground, lineage, sample.supplies(seed), workers, sample.clicks(seed), sample.PARTITIONS)
    with prepared(scene):
        yield scene


@contextmanager
def prepared(scene: Scene) -> Iterator[Scene]:
    ground = scene.ground
    try:
        ground.start_postgres()
        if ground.spark_remote is None:
            server = ground.spark_server()
            server.start(timeout=240)
            server.warm()
        scene.prepare()
        yield scene
    finally:
        ground.drop_prepared()
        ground.stop()


@contextmanager
def nursery() -> Iterator[Nursery]:
    opened = Nursery("-m", "dwh_assets.chaos.worker")
    try:
        yield opened
    finally:
        opened.close()


def run(
    scene: Scene,
    seed: int,
    numbers: Sequence[int],
    until: float = float("inf"),
    tries: int = 0,
    told: Callable[[Result], None] = lambda result: None,
) -> Ran:
    """Round after round, until one fails or the time is over; `tries` rounds at most are spent on shrinking."""
    ran = Ran()
    with nursery() as workers:
        for number in numbers:
            if time.monotonic() > until:
                break
            result = play(scene, workers, number, draw(seed, number, scene.cast))
            ran.rounds.append(result)
            told(result)
            if result.findings:
                ran.shortest = shrink(result.schedule, lambda part: bool(replay(scene, workers, part, told).findings), tries)
                break
    return ran


def replay(scene: Scene, workers: Nursery, schedule: Schedule, told: Callable[[Result], None]) -> Result:
    result = play(scene, workers, 0, schedule)
    told(result)
    return result
