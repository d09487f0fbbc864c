"""What delay, maxstep and repeat a topic should have, by what was observed of its sources and of its own blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from dwh_assets.model.duration import format_duration, rough_duration
from dwh_assets.model.lateness import Counts, bound_of, covered, covering
from dwh_assets.model.module import Module, SourceTable

FEWEST_BLOCKS = 20
BUSIEST = 0.2  # of the time that a topic should spend on its blocks
NICE = (1, 2, 5)
Settled = Literal["keep", "change", "thin"]


@dataclass(frozen=True)
class Advice:
    """For one setting of one topic. `thin`: what was seen is too little for a proposal, the evidence says how little."""

    topic: str
    setting: Literal["delay", "maxstep", "repeat"]
    now: str
    proposed: str
    settled: Settled
    evidence: str


@dataclass(frozen=True)
class Seen:
    """How late the rows of a source came: rows by bucket, or, where only the newest row is seen, looks by bucket."""

    rows: Counts = field(default_factory=dict)
    looks: Counts = field(default_factory=dict)
    loaded: int = 0  # rows of it that were loaded in the same time
    observed: timedelta = timedelta()  # for how long, at most the days that are looked at


@dataclass(frozen=True)
class Loads:
    """What the blocks of a topic were like."""

    blocks: int = 0
    full_blocks: int = 0
    seconds: float | None = None  # median
    rows_95: float | None = None
    rows_per_second: float | None = None


def advise_delay(topic: str, module: Module, sources: Sequence[tuple[SourceTable, Seen]], share: float) -> Advice:
    """The delay that covers this share of the rows of every source that it depends on."""
    if not sources:
        text = (
            f"its tables are built here ({', '.join(module.depends_on)}): how far they are complete is known, whatever the delay"
        )
        return _settled(topic, "delay", module.delay, timedelta(), text)
    found = [_one_source(source, seen, share, module.delay) for source, seen in sources]
    thin = [text for delay, text in found if delay is None]
    texts = "; ".join(text for _, text in found)
    if thin:
        return Advice(topic, "delay", format_duration(module.delay), "", "thin", texts)
    return _settled(topic, "delay", module.delay, max(delay for delay, _ in found if delay is not None), texts)


def _settled(topic: str, setting: Literal["delay", "repeat"], now: timedelta, proposed: timedelta, text: str) -> Advice:
    settled: Settled = "keep" if proposed == now else "change"
    return Advice(topic, setting, format_duration(now), format_duration(proposed), settled, text)


def _one_source(source: SourceTable, seen: Seen, share: float, now: timedelta) -> tuple[timedelta | None, str]:
    """The delay that its rows need, None where too little was seen, and the evidence."""
    if source.events is not None:
        return timedelta(), f"{source.name}: events get their position when they are taken in, none is late"
    time = f"of the last {rough_duration(seen.observed)}"
    if source.kind == "postgres":
        return _by_looks(source, seen, share, time)
    total = sum(seen.rows.values())
    bucket = covering(seen.rows, share)
    needed = None if bucket is None else bound_of(bucket)
    enough = total * (1 - share) >= 1
    if bucket is None:
        return None, f"{source.name}: no row was seen to arrive yet ({rough_duration(seen.observed)} observed)"
    if needed is None:
        worst = f"{source.name}: more than {1 - share:.2%} of {total:,} rows {time} came later than 7d"
        return None, f"{worst}; no delay helps, load them by `dwh restate --late`"
    text = f"{source.name}: {format_duration(needed)} covers {covered(seen.rows, needed):.2%} of {total:,} rows {time}"
    if not enough:
        return None, f"{text}; too few for {share:.2%}, which needs {round(1 / (1 - share)):,}"
    if needed > now:
        text += f" (now {covered(seen.rows, now):.2%})"
    return needed, text


def _by_looks(source: SourceTable, seen: Seen, share: float, time: str) -> tuple[timedelta | None, str]:
    """A Postgres table does not say when a row became visible: only late rows that were found, and the age of its newest row."""
    late = sum(seen.rows.values())
    looks = sum(seen.looks.values())
    ages = covering(seen.looks, 0.99)
    age = None if ages is None else bound_of(ages)
    newest = f"; its newest row was at most {format_duration(age)} old at 99% of {looks:,} looks" if age is not None else ""
    if late == 0 and source.horizon == "transaction_start":
        return timedelta(), f"{source.name}: read below its oldest open transaction, and no late row {time}{newest}"
    if seen.loaded * (1 - share) < 1:
        return None, f"{source.name}: {late:,} late rows of {seen.loaded:,} {time}, too few for {share:.2%}{newest}"
    in_time = {0: seen.loaded}
    needed = bound_of(covering({**seen.rows, **in_time}, share) or 0)
    if needed is None:
        return None, f"{source.name}: {late:,} of {seen.loaded + late:,} rows {time} came later than 7d; no delay helps{newest}"
    text = f"{source.name}: {late:,} late rows found beside {seen.loaded:,} in time {time}"
    return needed, f"{text}; {format_duration(needed)} more covers {share:.2%}{newest}" if late else f"{text}{newest}"


def advise_maxstep(topic: str, module: Module, loads: Loads, block_seconds: float) -> Advice:
    """Blocks that take about the wished time while the topic is behind."""
    now = f"{module.maxstep:_}"
    if loads.blocks < FEWEST_BLOCKS or not loads.rows_per_second:
        return Advice(topic, "maxstep", now, "", "thin", f"{loads.blocks} blocks were loaded, {FEWEST_BLOCKS} are needed")
    wanted = loads.rows_per_second * block_seconds
    least, most = (rows / loads.rows_per_second for rows in (module.maxstep, module.maxstep * module.stretch))
    text = (
        f"{loads.rows_per_second:,.0f} rows/s: {module.maxstep:,} rows take {_seconds(least)}, up to {module.stretch} times "
        f"as many while behind {_seconds(most)}; {_seconds(block_seconds)} are wished (DWH_BLOCK_SECONDS)"
    )
    if not loads.full_blocks:
        text += f"; no block was full, 95% held at most {loads.rows_95 or 0:,.0f} rows"
    if least > 2 * block_seconds:
        return Advice(topic, "maxstep", now, f"{nice(wanted):_}", "change", text)
    if most < block_seconds / 2 and loads.full_blocks:
        return Advice(topic, "maxstep", now, f"{nice(wanted / module.stretch):_}", "change", text)
    return Advice(topic, "maxstep", now, now, "keep", text)


def advise_repeat(topic: str, module: Module, loads: Loads) -> Advice:
    """Often enough for the promise, and not so often that the fixed cost of a block fills the time."""
    if loads.blocks < FEWEST_BLOCKS or loads.seconds is None:
        text = f"{loads.blocks} blocks were loaded, {FEWEST_BLOCKS} are needed"
        return Advice(topic, "repeat", format_duration(module.repeat), "", "thin", text)
    block = timedelta(seconds=loads.seconds)
    busy = block / (module.repeat + block)
    text = f"a block takes {_seconds(loads.seconds)} (median of {loads.blocks:,}), {busy:.0%} of the time at a repeat of "
    text += format_duration(module.repeat)
    if module.promise is not None and module.repeat + module.delay + block > module.promise:
        text += (
            f"; with the delay of {format_duration(module.delay)} that breaks the promise of {format_duration(module.promise)}"
        )
        room = module.promise - module.delay - 2 * block
        if room <= timedelta():
            return Advice(topic, "repeat", format_duration(module.repeat), "", "thin", f"{text}, and no repeat keeps it")
        return _settled(topic, "repeat", module.repeat, _nice_span(room), text)
    if busy > BUSIEST:
        return _settled(topic, "repeat", module.repeat, _nice_span(block / BUSIEST, up=True), text)
    return _settled(topic, "repeat", module.repeat, module.repeat, text)


def nice(value: float) -> int:
    """The greatest of 1, 2, 5, 10, 20, ... that is not above it; at least 1."""
    found, power = 1, 1
    while power <= value:
        found = max([found, *(power * digit for digit in NICE if power * digit <= value)])
        power *= 10
    return found


_SPANS = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)


def _nice_span(span: timedelta, up: bool = False) -> timedelta:
    seconds = span.total_seconds()
    if up:
        return timedelta(seconds=next((s for s in _SPANS if s >= seconds), _SPANS[-1]))
    return timedelta(seconds=max((s for s in _SPANS if s <= seconds), default=_SPANS[0]))


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value < 100 else rough_duration(timedelta(seconds=round(value)))
