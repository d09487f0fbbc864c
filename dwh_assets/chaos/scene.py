"""The warehouse of a run: prepared once, cloned for each round, with what an undisturbed run makes of the same rows."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random

from dwh_assets.chaos.content import Bag, contents
from dwh_assets.chaos.ground import Ground
from dwh_assets.chaos.schedule import LENGTH, Cast
from dwh_assets.chaos.supply import BASE, CHUNKS, Supply
from dwh_assets.control.acts import ActStore
from dwh_assets.control.migrate import migrate
from dwh_assets.control.statements import sql
from dwh_assets.engine.apply import apply
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.late import find_late_rows
from dwh_assets.engine.loop import Loop
from dwh_assets.engine.restate import Span, late_spans, stale_spans
from dwh_assets.engine.verify import verify
from dwh_assets.model.errors import Terminal
from dwh_assets.model.graph import upstream
from dwh_assets.model.module import Check, Lineage, Module

WHO = "chaos"
PASSES = 4  # and one for each table: late rows are loaded, then what was built upon them, table after table
DRY_SECONDS = 600.0
SHARE = 0.5  # of the time of an undisturbed run in which faults begin; the rest of the rows is loaded after them


@dataclass
class Scene:
    ground: Ground
    lineage: Lineage
    supplies: Sequence[Supply]
    workers: int
    events: Sequence[bytes] = ()
    partitions: int = 1
    strict: bool = True  # a table that comes out in two ways without any fault is an error, not left out
    expected: dict[str, Bag] = field(default_factory=dict)
    unsteady: list[str] = field(default_factory=list)
    pace: float = 1.0  # seconds of this machine to a second of a schedule

    @property
    def cast(self) -> Cast:
        topics = [topic for module in self.lineage.modules for topic in module.topics]
        chunks = [f"{supply.name}+{chunk}" for supply in self.supplies for chunk in CHUNKS if chunk != BASE]
        return Cast(self.workers, topics, self.lineage.tables, chunks, self.ground.servers, bool(self.events))

    def prepare(self) -> None:
        """Sources without rows, and the Lineage applied; then one plain run over all rows says what must come out."""
        if self.events:
            self.ground.create_topic(self.partitions)
            self.ground.send(list(self.events), self.partitions)
        with opened(self.ground, self.ground.create_prepared()) as engine:
            migrate(engine.database)
            for supply in self.supplies:
                supply.create(engine)
            apply(engine, self.lineage, WHO)
            _keep_metadata(engine, self.lineage)
        self.expected = self._undisturbed([])
        began = time.monotonic()
        self._undisturbed([])  # timed, now that Spark has compiled what it needs
        self.pace = SHARE * (time.monotonic() - began) / LENGTH
        if not self.strict:
            self._leave_out_unsteady()

    def _undisturbed(self, later: Sequence[str]) -> dict[str, Bag]:
        """What a plain run gives; the rows `later` come when the others are loaded."""
        with self.ground.clone("expected") as url, opened(self.ground, url) as engine:
            for held_back in [later, ()] if later else [()]:
                self.feed_all(engine, held_back)
                if findings := settle(engine):
                    raise Terminal("a run that nothing disturbed ended with:\n" + "\n".join(findings))
            return contents(engine, self.lineage)

    def _leave_out_unsteady(self) -> None:
        """A table whose rows depend on how its base is cut into blocks, or on the clock, has no one content to compare with."""
        again = self._undisturbed(self.cast.chunks)
        self.unsteady = [table for table, rows in self.expected.items() if rows != again[table]]
        self.expected = {table: rows for table, rows in self.expected.items() if table not in self.unsteady}

    def feed(self, engine: Engine, place: str) -> None:
        name, _, chunk = place.rpartition("+")
        next(supply for supply in self.supplies if supply.name == name).feed(engine, chunk)

    def feed_all(self, engine: Engine, held_back: Sequence[str] = ()) -> None:
        for supply in self.supplies:
            for chunk in CHUNKS:
                if f"{supply.name}+{chunk}" not in held_back:
                    supply.feed(engine, chunk)


def _keep_metadata(engine: Engine, lineage: Lineage) -> None:
    """Clones share the files that the tables began with: no commit of one may delete them as outdated."""
    for table in lineage.tables:
        with engine.catalog.load(table).transaction() as transaction:
            transaction.set_properties({"write.metadata.previous-versions-max": "10000"})


@contextmanager
def opened(ground: Ground, url: str, slots: int = 2) -> Iterator[Engine]:
    engine = Engine(ground.settings(url, slots), url)
    try:
        yield engine
    finally:
        engine.close()


def expire_leases(engine: Engine) -> None:
    """Every lease is over, and so is every transaction that a stopped worker sits in."""
    engine.database.fetch(sql("end_idle_transactions"))
    engine.database.fetch(sql("expire_leases"))


def settle(engine: Engine) -> list[str]:
    """Load until nothing is left, late rows and what is stale included; what verify, and recovery, have to say then."""
    lineage, acts = engine.lineage.active(), ActStore(engine.database, WHO)
    late: dict[str, int] = {}
    spans: list[Span] = []
    for _ in range(PASSES + len(lineage.tables)):
        if not _run_dry_and_planned(engine):
            return [f"I7: the loop was not dry after {DRY_SECONDS:.0f} s; recovery needs a person", *_unplanned(engine)]
        late = find_late_rows(engine, lineage)  # rows of no block have no span: only the next run plans and loads them
        spans = _to_run_again(engine, lineage)
        if not spans and not late:
            break
        for span in spans:
            acts.ask_restatement(span.topic, span.first, span.last, "restate", "chaos: late or stale")
    else:
        waits = ", ".join([*(f"{topic} has {rows} late rows" for topic, rows in late.items()), *(span.topic for span in spans)])
        return [f"I7: rows or blocks are late or stale in the end: {waits}"]
    return [*_waiting(engine), *_verified(engine, lineage)]


def _to_run_again(engine: Engine, lineage: Lineage) -> list[Span]:
    """What is late or stale and built upon nothing that is: from the sources on, so that each block is run again once."""
    found: dict[str, Span] = {}
    for span in [*late_spans(engine, lineage), *stale_spans(engine, lineage)]:
        other = found.get(span.topic, span)
        found[span.topic] = replace(span, first=min(span.first, other.first), last=max(span.last, other.last))
    tables = {topic: lineage.module(topic.partition(":")[0]).table for topic in found}
    return [span for topic, span in found.items() if set(tables.values()).isdisjoint(upstream(lineage, tables[topic]))]


def _run_dry_and_planned(engine: Engine) -> bool:
    """A topic whose plan has just failed has nothing that is due, but it is not loaded: it is planned again."""
    until = time.monotonic() + DRY_SECONDS
    while _run_dry(engine):
        if not _unplanned(engine):
            return True
        if time.monotonic() > until:
            return False
        time.sleep(engine.settings.tick_seconds)
    return False


def _unplanned(engine: Engine) -> list[str]:
    return [f"I7 {row['topic']}: could not be planned: {row['problem']}" for row in engine.database.fetch(sql("failed_plans"))]


def _run_dry(engine: Engine) -> bool:
    loop = Loop(engine)
    timer = threading.Timer(DRY_SECONDS, loop.stop.set)
    timer.start()
    try:
        loop.run(until_dry=True)
    finally:
        timer.cancel()
    return not loop.stop.is_set()


def _waiting(engine: Engine) -> list[str]:
    rows = engine.database.fetch(sql("waiting_for_people"))
    return [f"I7 {row['topic']} #{row['block_id']}: {row['status']}: {row['problem']}" for row in rows]


def _verified(engine: Engine, lineage: Lineage) -> list[str]:
    return [f"{f.invariant} {f.topic} #{f.block_id}: {f.text}" for f in verify(engine, lineage)]


def changed(lineage: Lineage, mark: str, cuts: bool) -> Lineage:
    """A new version of each module, that builds the same rows; `cuts`: in blocks of another size."""
    random = Random(mark)  # noqa: S311 - repeatable on purpose
    return replace(lineage, modules=tuple(_changed(module, mark, random, cuts) for module in lineage.modules))


def _changed(module: Module, mark: str, random: Random, cuts: bool) -> Module:
    other = replace(module, comment=mark, ahead=random.randint(1, module.ahead), attempts=module.attempts + 1)
    if module.processor != "ingest":
        other = replace(other, checks=(*module.checks, Check("rows", "rows(min)", minimum=0, severity="warn")))
    if not cuts:
        return other
    return replace(other, maxstep=max(1, round(module.maxstep * random.choice((0.5, 1, 2)))), stretch=random.choice((1, 4)))
