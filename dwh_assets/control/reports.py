"""Reports: what the control store knows, as rows for people. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from dwh_assets.control.database import Database
from dwh_assets.control.statements import sql
from dwh_assets.model.errors import UnknownBlock, UnknownTopic
from dwh_assets.model.near import did_you_mean
from dwh_assets.model.position import Position

Row = dict[str, Any]
Topics = Sequence[str] | None  # None: all


class Reports:
    """Read-only. Times are instants in UTC, spans of time are seconds."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def status(self, topics: Topics = None) -> list[Row]:
        return self.database.fetch(sql("report_status"), topics=_listed(topics))

    def ended(self, after: datetime) -> list[Row]:
        """Attempts that ended after a moment."""
        return self.database.fetch(sql("executions_ended"), after=after)

    def running(self, topics: Topics = None) -> list[Row]:
        """What is being loaded now, with its phase."""
        return self.database.fetch(sql("report_running"), topics=_listed(topics))

    def pace(self) -> Row:
        """Rows and blocks of the last minute, and workers."""
        (row,) = self.database.fetch(sql("report_pace"))
        return row

    def topics_named(self, name: str) -> list[str]:
        """The topics that the name of a topic, module or table stands for; an unknown name is an error with near ones."""
        found = [row["topic"] for row in self.database.fetch(sql("report_topics_named"), name=name)]
        if not found:
            raise self._unknown(name)
        return found

    def topic_named(self, name: str) -> str:
        """The one topic of this name; a table with several is an error that lists them."""
        found = self.topics_named(name)
        if len(found) > 1 and name not in found:
            raise UnknownTopic(f"{name} has several topics; name one of {', '.join(found)}.")
        return name if name in found else found[0]

    def blocks(self, topic: str, limit: int) -> list[Row]:
        return self.database.fetch(sql("report_blocks"), topic=topic, limit=limit)

    def block(self, block_id: int) -> Row:
        row = self.database.fetch_one(sql("report_block"), block_id=block_id)
        if row is None:
            raise UnknownBlock(f"there is no block #{block_id}. `dwh blocks TOPIC` lists those of a topic.")
        return row

    def block_numbered(self, topic: str, seq: int) -> Row | None:
        return self.database.fetch_one(sql("report_block_numbered"), topic=topic, seq=seq)

    def executions(self, block_id: int) -> list[Row]:
        return self.database.fetch(sql("report_executions"), block_id=block_id)

    def load_log(self, topics: Topics, limit: int) -> list[Row]:
        return self.database.fetch(sql("report_load_log"), topics=_listed(topics), limit=limit)

    def profile(self, topics: Sequence[str], by_day: bool, limit: int) -> list[Row]:
        """What was counted of the newest blocks or days, oldest first."""
        return self.database.fetch(sql("report_profile"), topics=list(topics), by_day=by_day, limit=limit)

    def errors(self, topics: Topics = None) -> list[Row]:
        return self.database.fetch(sql("report_errors"), topics=_listed(topics))

    def events(self, topics: Topics, limit: int) -> list[Row]:
        return self.database.fetch(sql("report_events"), topics=_listed(topics), limit=limit)

    def sources(self) -> list[Row]:
        return self.database.fetch(sql("report_sources"))

    def dependencies(self) -> list[Row]:
        return self.database.fetch(sql("report_dependencies"))

    def history(self) -> list[Row]:
        """What the newest blocks of each topic were like, and the one that is being loaded."""
        return self.database.fetch(sql("report_history"))

    def bounds_at(self, topic: str, pos: datetime) -> list[Position]:
        """The ends of the topic's blocks at this instant."""
        rows = self.database.fetch(sql("report_bounds_at"), topic=topic, pos=pos)
        return [Position(row["next_pos"], int(row["next_id"])) for row in rows]

    def beyond(self, topic: str, position: Position) -> Row:
        """Blocks and rows behind a position."""
        row = self.database.fetch_one(sql("report_beyond"), topic=topic, pos=position.pos, id=position.id)
        assert row is not None
        return row

    def numbers_between(self, topic: str, since: datetime, until: datetime) -> tuple[int | None, int | None]:
        """The first and the last sequence number of the committed blocks that overlap a span of time."""
        row = self.database.fetch_one(sql("report_seqs"), topic=topic, since=since, until=until)
        return (row["first"], row["last"]) if row else (None, None)

    def trace(self, block_id: int | None, execution_id: int | None) -> Row | None:
        """Where rows that carry this block and execution come from; None where the ledger does not know the block."""
        return self.database.fetch_one(sql("trace_block"), block=block_id, execution=execution_id)

    def restatement(self, topic: str) -> Row | None:
        return self.database.fetch_one(sql("report_restatement"), topic=topic)

    def _unknown(self, name: str) -> UnknownTopic:
        known = [row["name"] for row in self.database.fetch(sql("report_names"))]
        ending = "`dwh status` lists them all." if known else "No Lineage is in force yet; `dwh lineage apply` puts one in force."
        return UnknownTopic(f"there is no topic or table {name!r}.{did_you_mean(name, known)} {ending}")


def _listed(topics: Topics) -> list[str] | None:
    return None if topics is None else list(topics)
