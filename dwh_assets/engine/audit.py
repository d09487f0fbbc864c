"""The completeness audit: old base rows are counted again, and a block whose rows have changed is told of and loaded again.

The newest blocks first, then those that were looked at longest ago, so that in time every block has its turn. What it may read in
an hour is bounded for all processes together, and it waits while a topic waits for a worker.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dwh_assets.control.audits import Audited, AuditStore, Found, Verdict
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.jobs import Result, run_job
from dwh_assets.engine.late import base_is_append_only
from dwh_assets.model.errors import ControlStoreDown, DwhError
from dwh_assets.model.module import Lineage, Module
from dwh_assets.processors.registry import processor_named
from dwh_assets.sources.source import Content, Fingerprint, Noted, Recount

logger = logging.getLogger(__name__)
TASK = "audit"
AGAIN = timedelta(hours=1)  # how soon the newest blocks are looked at again
GONE = 0.5  # a block that has lost more of its rows than this was purged where it came from, more likely than corrected


@dataclass(frozen=True)
class Finding:
    topic: str
    block_id: int
    found: Found
    text: str


def audited_topics(lineage: Lineage, only: str | None = None) -> dict[str, Module]:
    """The topics whose base rows can be counted again: not those that are read whole, whose base changes its rows by design, that
    take in events, or that their file leaves out."""
    modules = [m for m in lineage.modules if m.active and m.audit != "off" and not processor_named(m.processor).whole]
    steady = [m for m in modules if m.processor != "ingest" and base_is_append_only(lineage, m.base)]
    return {topic: module for module in steady for topic in module.topics if only in (None, topic, module.name)}


@dataclass
class Audit:
    """One round. `allowance`: rows that it may read; `waits`: says that it should end, as others need the machine."""

    engine: Engine
    lineage: Lineage
    topics: dict[str, Module]
    allowance: int | None = None
    waits: Callable[[], bool] = lambda: False
    report: Callable[[str], None] = lambda text: None

    def __post_init__(self) -> None:
        self.store = AuditStore(self.engine.database)
        self.findings: list[Finding] = []
        self.blocks = self.rows = 0

    def run(self, newest_before: datetime, before: datetime) -> None:
        """Look at blocks until the allowance is used up, or all have been looked at since `before`."""
        unreadable: set[str] = set()
        while chosen := self._chosen(unreadable, newest_before, before):
            for audited in chosen:
                if self._is_over(audited):
                    return
                if audited.topic not in unreadable and not self._look(audited):
                    unreadable.add(audited.topic)

    def _chosen(self, unreadable: set[str], newest_before: datetime, before: datetime) -> list[Audited]:
        return self.store.blocks(sorted(self.topics.keys() - unreadable), newest_before, before)

    def _is_over(self, audited: Audited) -> bool:
        """A block that is larger than the allowance is looked at all the same, first in a round: else it never would be."""
        beyond = self.allowance is not None and self.rows + (audited.block.base_rows or 0) > self.allowance
        return self.waits() or (beyond and self.rows > 0)

    def _look(self, audited: Audited) -> bool:
        """False where the source could not be asked."""
        module = self.topics[audited.topic]
        self.report(f"{audited.topic} #{audited.block.id}")
        try:
            source = self.engine.source(module.base, self.lineage, module)
            recount = source.recount(audited.block.bounds, _noted(audited), audited.shard)
        except ControlStoreDown:
            raise
        except DwhError as error:
            logger.warning("audit of %s: %s", audited.topic, error)
            return False
        if recount is None:
            return False
        self.blocks, self.rows = self.blocks + 1, self.rows + recount.rows
        verdict = judged(audited, module, recount)
        if self.store.note(audited, verdict) and verdict.found is not None:
            self.findings.append(Finding(audited.topic, audited.block.id, verdict.found, verdict.text))
        return True


def judged(audited: Audited, module: Module, recount: Recount) -> Verdict:
    now, then, content = recount.now, recount.then, recount.then.content
    hash_sum, hashed = (None, ()) if content is None else (content.hash_sum, content.hashed)
    if now == then and not recount.values_differ:
        return Verdict(None, "", hash_sum, hashed, recount.files)
    found = _found(now, then)
    # The digest of files is that of a look at which all was well: a block that differs is read again at the next one.
    return Verdict(found, _text(audited, module, found, now, then), hash_sum, hashed, audited.files)


def _found(now: Fingerprint, then: Fingerprint) -> Found:
    if now == then:
        return "values"
    if now.rows < then.rows * GONE:
        return "gone"
    return "more" if now.rows > then.rows else "fewer" if now.rows < then.rows else "other"


def _text(audited: Audited, module: Module, found: Found, now: Fingerprint, then: Fingerprint) -> str:
    what = {
        "more": f"{now.rows - then.rows} rows came to its range",
        "fewer": f"{then.rows - now.rows} rows of its range are gone",
        "gone": f"{then.rows - now.rows} of the {then.rows} rows of its range are gone",
        "other": "rows of its range were replaced by others",
        "values": "values of its rows were changed",
    }[found]
    return f"topic {audited.topic}, block #{audited.block.id}: since it was read, {what} in {module.base}.\n" + _next(
        audited, module, found
    )


def _next(audited: Audited, module: Module, found: Found) -> str:
    repair = f"`dwh repair {audited.block.id} --reason ...` loads the block again"
    if found == "gone":
        return f"Nothing is done by itself, as a source that was purged looks like this. {repair}, without these rows."
    if not heals(module):
        return f"{repair} as the rows are now."
    return "The block is queued to be loaded again; what was built upon it becomes stale, see `dwh restate --stale`."


def heals(module: Module) -> bool:
    """A table whose blocks change rows of earlier ones is made anew as a whole: that is for a person to decide."""
    return module.audit == "heal" and not processor_named(module.processor).replaces


def heal(engine: Engine, topics: dict[str, Module]) -> Iterator[str]:
    """Queue what was found, one block of a topic at a time; gives the topics."""
    store = AuditStore(engine.database)
    for row in store.to_heal():
        if row["topic"] in topics and heals(topics[row["topic"]]) and store.queue(row["topic"], row["block_id"], row["seq"]):
            yield row["topic"]


def audit_round(engine: Engine, lineage: Lineage, share: float, waits: Callable[[], bool]) -> Sequence[Finding]:
    """A round beside the loading, with this share of what may be read in an hour."""
    topics = audited_topics(lineage)
    list(heal(engine, topics))
    hourly = engine.settings.audit_rows
    left = hourly - AuditStore(engine.database).spent()
    now = engine.database.clock()
    if left <= 0 or not topics or not AuditStore(engine.database).blocks(sorted(topics), now - AGAIN, now - AGAIN):
        return []
    audit = Audit(engine, lineage, topics, min(left, max(1, int(hourly * share))), waits)
    run_job(engine, TASK, "", lambda job: _run(audit, now))
    list(heal(engine, topics))
    return audit.findings


def _run(audit: Audit, now: datetime) -> Result:
    audit.run(now - AGAIN, now - AGAIN)
    return Result(TASK, "", {"blocks": audit.blocks, "rows": audit.rows, "found": len(audit.findings)})


def _noted(audited: Audited) -> Noted:
    content = None if audited.content is None else Content(audited.content, audited.hashed)
    read = Fingerprint(audited.block.base_rows or 0, audited.block.hash_sum or 0, content=content)
    return Noted(read, audited.snapshot, audited.files)
