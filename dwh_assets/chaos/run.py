"""A run of rounds: each drawn from the seed; the first that fails is shrunk and told."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from dwh_assets.chaos import sample
from dwh_assets.chaos.copying import copied, sampled, take_project
from dwh_assets.chaos.forking import Nursery
from dwh_assets.chaos.ground import Ground
from dwh_assets.chaos.round import Result, play
from dwh_assets.chaos.scene import Scene
from dwh_assets.chaos.schedule import Schedule, draw
from dwh_assets.chaos.shrink import shrink
from dwh_assets.config.lineage_files import load_lineage
from dwh_assets.engine.engine import Engine


@dataclass
class Ran:
    """All rounds of a run. `shortest` is what is left of the schedule of a round that failed."""

    rounds: list[Result] = field(default_factory=list)
    shortest: Schedule | None = None

    @property
    def failed(self) -> Result | None:
        return next((result for result in self.rounds if result.findings), None)

    def seconds(self, spark_dies: bool) -> list[float]:
        """Of the rounds in which Spark died, which takes longest to come back, or of the others."""
        return sorted(result.seconds for result in self.rounds if spark_dies == any(f.kind == "spark" for f in result.schedule))

    @property
    def faults(self) -> Counter[str]:
        return Counter(fault.kind for result in self.rounds for fault in result.schedule)


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


def built_in(ground: Ground, seed: int, workers: int) -> Scene:
    """The sample warehouse."""
    sample.write_project(ground.project, ground.topic)
    lineage = load_lineage(ground.project / "lineage", ground.project / "sql" / "transforms")
    return Scene(ground, lineage, sample.supplies(seed), workers, sample.clicks(seed), sample.PARTITIONS)


def own(ground: Ground, engine: Engine, seed: int, workers: int, rows: int) -> tuple[Scene, list[str]]:
    """A copy of the Lineage of a project, with so many rows of each source; and the modules that were left out."""
    settings = engine.settings
    lineage = load_lineage(settings.lineage_folder, settings.transforms_folder)
    copy, left_out = copied(lineage, rows)
    take_project(ground, settings)
    return Scene(ground, copy, sampled(engine, lineage, copy, rows, seed), workers, strict=False), left_out


@contextmanager
def prepared(scene: Scene, beside: Callable[[], AbstractContextManager[object]] = nullcontext) -> Iterator[Scene]:
    """Its servers run, its undisturbed content is known; in the end nothing is left. `beside` is shown until then."""
    try:
        with beside():
            scene.ground.start()
            scene.prepare()
        yield scene
    finally:
        scene.ground.stop()


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
    fixed: Schedule | None = None,
    told: Callable[[Result], None] = lambda result: None,
    ran: Ran | None = None,
) -> Ran:
    """Round after round, until one fails or the time is over; `tries` rounds at most are spent on shrinking."""
    ran = Ran() if ran is None else ran

    def played(number: int, schedule: Schedule) -> Result:
        result = play(scene, workers, number, schedule)
        told(result)
        return result

    with nursery() as workers:
        for number in numbers:
            if time.monotonic() > until:
                break
            result = played(number, draw(seed, number, scene.cast) if fixed is None else fixed)
            ran.rounds.append(result)
            if result.findings:
                ran.shortest = shrink(result.schedule, lambda part: bool(played(0, part).findings), tries)
                break
    return ran
