"""Metrics of the warehouse in the text form of Prometheus, read from the control store."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql
from dwh_assets.model.errors import Transient

CACHE_SECONDS = 1.0
CACHE_TIMES = 10  # a long history takes longer to count: then it is counted less often, at most a tenth of the time
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Metric:
    """One metric: the query that gives its samples, the column of their value, and those of their labels."""

    name: str
    kind: Literal["gauge", "counter"]
    help: str
    query: str
    value: str | None  # None: a sample says only that there is this row
    labels: tuple[str, ...] = ()


_TOPIC = ("topic", "area")
_RESULT = ("topic", "result")
UP = Metric("dwh_up", "gauge", "1 if the control store answers; if not, this is the only metric", "", None)
METRICS = (
    Metric("dwh_topic_lag_seconds", "gauge", "how far a topic is behind the clock", "metrics_topics", "lag", _TOPIC),
    Metric("dwh_topic_promise_seconds", "gauge", "the lag that its file promises", "metrics_topics", "promise", _TOPIC),
    Metric("dwh_topic_pending_rows", "gauge", "rows of planned and begun blocks", "metrics_topics", "pending_rows", _TOPIC),
    Metric("dwh_topic_verdict", "gauge", "1 for the verdict that a topic has now", "metrics_topics", None, (*_TOPIC, "verdict")),
    Metric("dwh_blocks", "gauge", "blocks of a topic by state: planned, open, parked, committed, skipped, stale",
           "metrics_blocks", "blocks", ("topic", "state")),
    Metric("dwh_rows_loaded_total", "counter", "rows loaded into a topic's table", "metrics_loads", "rows", ("topic",)),
    Metric("dwh_bytes_written_total", "counter", "bytes written for a topic", "metrics_loads", "bytes", ("topic",)),
    Metric("dwh_load_seconds_total", "counter", "seconds that loading took", "metrics_loads", "seconds", ("topic",)),
    Metric("dwh_attempts_total", "counter", "attempts at blocks by their code: Executing, Succeeded, Failed, Aborted, Cancelled",
           "metrics_attempts", "attempts", _RESULT),
    Metric("dwh_workers", "gauge", "workers by state: idle, busy, unknown, offline", "metrics_workers", "workers", ("state",)),
    Metric("dwh_alerts_open", "gauge", "alerts that are open", "metrics_alerts", "alerts", ("kind", "severity")),
    Metric("dwh_source_lag_seconds", "gauge", "how far a source is behind the clock", "metrics_sources", "lag", ("source",)),
    Metric("dwh_source_seen_seconds", "gauge", "seconds since a source was looked at", "metrics_sources", "seen", ("source",)),
    Metric("dwh_source_problem", "gauge", "1 if the last look at a source failed", "metrics_sources", "problem", ("source",)),
)  # fmt: skip


@dataclass
class Scrape:
    """The metrics as text. Many may ask at once: they share one look, which is good for a second or longer."""

    database: Database
    _text: str = ""
    _until: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def text(self) -> str:
        with self._lock:
            if time.monotonic() >= self._until:
                begun = time.monotonic()
                self._text = exposition(self.database)
                took = time.monotonic() - begun
                self._until = begun + took + max(CACHE_SECONDS, CACHE_TIMES * took)
            return self._text


def exposition(database: Database) -> str:
    """Every metric. A control store that is away is said by dwh_up alone: what was true before is not repeated."""
    try:
        found = _read(database)
    except Transient:
        found = None
    lines = [*_header(UP), f"{UP.name} {int(found is not None)}"]
    for metric in METRICS if found is not None else ():
        lines += [*_header(metric), *_samples(metric, (found or {})[metric.query])]
    return "\n".join(lines) + "\n"


def _read(database: Database) -> Mapping[str, Rows]:
    """All of it from one snapshot, so that the figures agree."""
    with database.transaction() as connection:
        connection.execute("set transaction isolation level repeatable read read only")
        return {query: connection.execute(sql(query)).fetchall() for query in dict.fromkeys(m.query for m in METRICS)}


def _header(metric: Metric) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.help}"
    yield f"# TYPE {metric.name} {metric.kind}"


def _samples(metric: Metric, rows: Rows) -> Iterator[str]:
    for row in rows:
        value = 1 if metric.value is None else row[metric.value]
        if value is not None:
            labels = ",".join(f'{label}="{_escaped(str(row[label]))}"' for label in metric.labels)
            yield f"{metric.name}{{{labels}}} {value:g}" if isinstance(value, float) else f"{metric.name}{{{labels}}} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
