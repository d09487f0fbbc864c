"""What goes wrong in a round, and when: drawn from a seed, written as a line of words, read back from it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from dwh_assets.model.errors import ConfigError
from dwh_assets.model.failpoints import POINTS

LENGTH = 5.0  # in which faults begin: seconds of a machine that loads the warehouse in about ten, else in proportion
SPARK_EVERY = 20  # Spark takes longest to come back: it dies in one of so many rounds
KINDS = {
    "kill": "SIGKILL of a worker, at once or when it comes to a point of the way of a block",
    "stop": "SIGSTOP of a worker, there too; its leases run out, then SIGCONT",
    "expire": "every lease is over",
    "cut": "every connection between the workers and Postgres is cut",
    "lose": "the reply to the next commit is lost",
    "postgres": "Postgres crashes and is started again",
    "kafka": "the broker is killed and started again",
    "spark": "Spark is killed; whoever needs it first starts it",
    "freeze": "SIGSTOP of Postgres, Kafka or Spark, then SIGCONT",
    "apply": "the Lineage is changed and applied",
    "restate": "committed blocks of a topic are restated",
    "feed": "more rows of a source arrive, some of them late",
    "resend": "events are delivered again",
    "compact": "small files of a table are rewritten",
}
SERVERS = ("postgres", "kafka", "spark")
_OFTEN = {"kill": 6, "stop": 5, "expire": 2, "cut": 2, "lose": 2, "restate": 2, "apply": 1, "resend": 1, "compact": 1}
_ONE_OF = {"postgres": 4, "kafka": 8}
_FREEZE_EVERY = 4
_REACHED = tuple(point for point in POINTS if not point.startswith("fail."))
_WORD = re.compile(
    r"(?P<kind>[a-z]+)@(?P<at>\d+(\.\d+)?)(=(?P<target>[^/~\s]+))?(/(?P<point>[a-z.]+\*\d+))?(~(?P<seconds>\d+(\.\d+)?))?"
)


@dataclass(frozen=True, order=True)
class Fault:
    """One thing that goes wrong, `at` seconds after the workers began."""

    at: float
    kind: str
    target: str = ""  # a worker, server, topic, table or chunk of rows
    point: str = ""  # a failpoint and its passage; none: at once
    seconds: float = 0.0  # how long a worker or a server is stopped

    def __str__(self) -> str:
        target = f"={self.target}" if self.target else ""
        point = f"/{self.point}" if self.point else ""
        seconds = f"~{self.seconds:g}" if self.seconds else ""
        return f"{self.kind}@{self.at:g}{target}{point}{seconds}"


Schedule = tuple[Fault, ...]


@dataclass(frozen=True)
class Cast:
    """Whom it can happen to."""

    workers: int
    topics: Sequence[str]
    tables: Sequence[str]
    chunks: Sequence[str]  # rows that may come while the others are loaded; without a fault they are there from the beginning
    servers: Sequence[str] = SERVERS
    streams: bool = True  # events can be sent again


def draw(seed: int, number: int, cast: Cast) -> Schedule:
    """The faults of one round; the same seed, round and cast give the same."""
    random = Random(f"{seed}/{number}")  # noqa: S311 - repeatable on purpose
    hit = [*_anything(random, cast), *_servers(random, seed, number, cast), *_rows(random, cast), *_frozen(random, cast)]
    return tuple(sorted(hit))


def _anything(random: Random, cast: Cast) -> Iterator[Fault]:
    kinds = {kind: weight for kind, weight in _OFTEN.items() if kind != "resend" or cast.streams}
    for kind in random.choices(list(kinds), list(kinds.values()), k=random.randint(3, 7)):
        yield _fault(random, kind, cast)


def _fault(random: Random, kind: str, cast: Cast) -> Fault:
    at = _moment(random)
    if kind in ("kill", "stop"):
        worker, seconds = str(random.randrange(cast.workers)), round(random.uniform(0.3, 2), 1) if kind == "stop" else 0.0
        if random.random() < 0.7:
            return Fault(at, kind, worker, f"{random.choice(_REACHED)}*{random.randint(1, 2)}", seconds)
        return Fault(at, kind, worker, "", seconds)
    if kind == "restate":
        return Fault(at, kind, random.choice(list(cast.topics)))
    if kind == "compact":
        return Fault(at, kind, random.choice(list(cast.tables)))
    return Fault(at, kind)


def _servers(random: Random, seed: int, number: int, cast: Cast) -> Iterator[Fault]:
    for kind, one_of in _ONE_OF.items():
        hit, at = random.randrange(one_of) == 0, _moment(random)
        if hit and kind in cast.servers:
            yield Fault(at, kind)
    if "spark" in cast.servers and (number + seed) % SPARK_EVERY == 0:
        yield Fault(_moment(random), "spark")


def _rows(random: Random, cast: Cast) -> Iterator[Fault]:
    for chunk in cast.chunks:
        comes, at = random.random() < 0.5, _moment(random)
        if comes:
            yield Fault(at, "feed", chunk)


def _frozen(random: Random, cast: Cast) -> Iterator[Fault]:
    if cast.servers and random.randrange(_FREEZE_EVERY) == 0:
        yield Fault(_moment(random), "freeze", random.choice(list(cast.servers)), seconds=round(random.uniform(0.5, 2), 1))


def _moment(random: Random) -> float:
    return round(random.uniform(0, LENGTH), 1)


def written(schedule: Schedule) -> str:
    """On one line, as `parse` reads it."""
    return " ".join(str(fault) for fault in schedule)


def refuse_misses(schedule: Schedule, cast: Cast) -> None:
    """Refuse faults that hit nobody, before anything is started."""
    for fault in schedule:
        if fault.target not in (known := _targets(fault.kind, cast)):
            raise ConfigError(f"{fault}: {_advice(fault, known)}. Nothing was started.")
        if fault.point and fault.kind not in ("kill", "stop"):
            raise ConfigError(f"{fault}: only kill and stop wait for a point; leave out /{fault.point}. Nothing was started.")


def _advice(fault: Fault, known: Sequence[str]) -> str:
    if not known:
        return "cannot happen to this warehouse; leave it out"
    if "" in known:
        return f"takes no target; leave out ={fault.target}"
    return f"needs a target; write {fault.kind}@{fault.at:g}=TARGET, one of {', '.join(known)}"


def _targets(kind: str, cast: Cast) -> list[str]:
    """Whom a fault of this kind can name; [""] where it names nobody, none where it cannot happen here."""
    named: dict[str, Sequence[str]] = {
        "kill": [str(number) for number in range(cast.workers)],
        "stop": [str(number) for number in range(cast.workers)],
        "restate": cast.topics,
        "compact": cast.tables,
        "feed": cast.chunks,
        "freeze": cast.servers,
    }
    if kind in SERVERS and kind not in cast.servers:
        return []
    if kind == "resend" and not cast.streams:
        return []
    return list(named.get(kind, [""]))


def parse(text: str) -> Schedule:
    return tuple(sorted(_parsed(word) for word in text.split()))


def _parsed(word: str) -> Fault:
    found = _WORD.fullmatch(word)
    if found is None:
        raise ConfigError(
            f"{word!r} is no fault; write KIND@SECONDS[=TARGET][/POINT*N][~SECONDS], for example kill@0.5=1/commit.before*1"
        )
    if found["kind"] not in KINDS:
        raise ConfigError(f"unknown fault {found['kind']!r}; known are {', '.join(KINDS)}")
    point = found["point"] or ""
    if point and point.partition("*")[0] not in POINTS:
        raise ConfigError(f"unknown point {point.partition('*')[0]!r}; known are {', '.join(POINTS)}")
    return Fault(float(found["at"]), found["kind"], found["target"] or "", point, float(found["seconds"] or 0))
