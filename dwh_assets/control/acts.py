"""Acts by hand. Each is one transaction, raises the token, and is logged in it with its reason before it takes effect."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import psycopg

from dwh_assets.control.blocks import block_of, restated_blocks
from dwh_assets.control.claims import lock_topic
from dwh_assets.control.database import Database, one
from dwh_assets.control.events import log_event
from dwh_assets.control.statements import sql
from dwh_assets.control.topics import PlannedBlock, initialise, insert_block
from dwh_assets.model.block import Block
from dwh_assets.model.errors import ActRefused
from dwh_assets.model.events import MOST_ID, Contents, Replay
from dwh_assets.model.position import EARLIEST, MICROSECOND, Position, watermark_of

Connection = psycopg.Connection[Any]
Row = dict[str, Any]
TO_THE_END = 2**31 - 1


@dataclass(frozen=True)
class Act:
    """An act that has begun: the locked topic, in the transaction that will carry it out."""

    connection: Connection
    topic: Row

    def unfinished(self) -> Block | None:
        row = self.connection.execute(sql("first_unfinished_block"), {"topic_id": self.topic["id"]}).fetchone()
        return None if row is None else block_of(row)

    def begun(self, what: str) -> Block:
        block = self.unfinished()
        if block is None or block.status == "planned":
            raise ActRefused(f"topic {self.topic['name']} has no block that was begun, so there is nothing to {what}.")
        return block

    def taken(self, *, finished: bool) -> Contents:
        """How far a stream of events was taken in, by all blocks or by those that are finished."""
        asked = {"topic_id": self.topic["id"], "finished": finished}
        row = self.connection.execute(sql("newest_contents"), asked).fetchone()
        return Contents() if row is None else Contents.from_json(row["contents"])


class ActStore:
    def __init__(self, database: Database, who: str) -> None:
        self.database = database
        self.who = who

    @contextmanager
    def _act(self, topic: str, code: str, reason: str, what: str = "") -> Iterator[Act]:
        with self._quiet_act(topic, code, reason, what) as act:
            act.connection.execute(sql("raise_token"), {"topic_id": act.topic["id"]})
            yield act

    @contextmanager
    def _quiet_act(self, topic: str, code: str, reason: str, what: str = "") -> Iterator[Act]:
        """An act that takes nothing away from a worker that loads the topic: its token stays."""
        require_reason(code.lower(), topic, reason)
        with self.database.transaction() as connection:
            row = lock_topic(connection, topic)
            log_event(connection, code, what + reason, who=self.who, kind="act", topic=topic)
            yield Act(connection, row)

    def unlock(self, topic: str, reason: str) -> str | None:
        """Take the lease away from its holder; returns who held it."""
        with self._act(topic, "UNLOCK", reason) as act:
            self._abort_running(act, "unlocked by hand")
            return act.topic["lease_worker"]

    def retry(self, topic: str, reason: str) -> Block:
        """Same range again, at once, with its attempts counted from zero."""
        with self._act(topic, "RETRY", reason) as act:
            block = act.begun("retry")
            self._reopen(act, block, None)
            return block

    def release(self, topic: str, check: str, reason: str) -> Block:
        """Stage again with the named check waived for this block."""
        with self._act(topic, "RELEASE", reason) as act:
            block = act.begun("release")
            self._reopen(act, block, check)
            return block

    def skip(self, topic: str, reason: str) -> Block:
        """Leave the begun range out and go on behind it."""
        with self._act(topic, "SKIP", reason) as act:
            block = act.begun("skip")
            self._abort_running(act, "skipped by hand")
            act.connection.execute(sql("skip_block"), {"block_id": block.id})
            watermark = watermark_of(block.bounds.next, block.upto, block.takes_all)
            self._move(act, block.bounds.next, watermark)
            return block

    def reset_forward(self, topic: str, to: Position, reason: str) -> None:
        """Move the cursor forward; what lies between is recorded as a skipped block. A new topic gets its first cursor."""
        with self._act(topic, "RESET", reason) as act:
            if act.topic["last_pos"] is None:
                initialise(act.connection, act.topic["id"], to, first_watermark(to))
                return
            self._pass_over(act, to)

    def seek(self, topic: str, place: Callable[[Contents], Contents], reason: str) -> tuple[Position, Contents]:
        """Go on elsewhere in a stream of events; what lies between is recorded as a skipped block.

        `place` says where, from how far the stream is loaded. What is planned or begun is forgotten, so it does not count: its
        events would be in no block.
        """
        with self._act(topic, "RESET", reason) as act:
            if act.topic["last_pos"] is None:
                raise ActRefused(f"topic {topic} has no cursor yet, so it is nowhere in its stream. Nothing was changed.")
            contents = place(act.taken(finished=True))
            to = Position(one(act.connection.execute(sql("next_instant"), {"topic_id": act.topic["id"]}))["pos"], 0)
            self._pass_over(act, to, contents)
            return to, contents

    def replay(self, topic: str, blocks: Sequence[int] | None, reasons: Sequence[str] | None, reason: str) -> list[Row]:
        """Plan a block behind the last one that tries dead letters again. Returns what it will try."""
        with self._quiet_act(topic, "REPLAY", reason) as act:
            asked = {"topic_id": act.topic["id"], "blocks": blocks, "reasons": reasons}
            found = act.connection.execute(sql("waiting_dead_letters"), asked).fetchall()
            if not found:
                raise ActRefused(f"topic {topic} has no such dead letters that wait; see `dwh deadletter list`.")
            tail = one(act.connection.execute(sql("tail_of_topic"), asked))
            place = one(act.connection.execute(sql("next_instant"), asked))
            tried = tuple(Replay(row["block_id"], row["reason"]) for row in found)
            contents = replace(act.taken(finished=False), first={}, files=(), replays=tried)
            # Dead letters keep their ids, so it ends behind the greatest: a row beyond it would count to the next block.
            block = PlannedBlock(Position(place["pos"], MOST_ID), sum(row["rows"] for row in found), False, contents)
            last = Position(tail["next_pos"], int(tail["next_id"]))
            insert_block(act.connection, act.topic["id"], place["seq"] + 1, last, block, place["pos"])
            return found

    def ask_restatement(self, topic: str, first: int, last: int, kind: str, reason: str) -> int:
        """Store the wish to restate or roll back blocks; the next claim of the topic carries it out, whatever dies meanwhile."""
        with self._act(topic, kind.upper(), reason, f"blocks {first} to {last}: ") as act:
            if act.topic["lease_worker"] is not None:
                self._abort_running(act, f"{kind} asked for by hand")
            # A rollback goes to the end as it is under the lock: a block that a worker finished since it was asked for goes, too.
            until = last if kind == "restate" else TO_THE_END
            found = restated_blocks(act.connection, act.topic["id"], first, until, kind)
            if not found:
                raise ActRefused(f"topic {topic} has no committed blocks between {first} and {last}; see `dwh blocks {topic}`.")
            _require_base(act, found[0], kind)
            row = act.connection.execute(
                sql("insert_restatement"),
                {
                    "topic_id": act.topic["id"],
                    "kind": kind,
                    "first": found[0].seq,
                    "last": found[-1].seq,
                    "reason": reason,
                    "who": self.who,
                },
            ).fetchone()
            if row is None:
                raise ActRefused(f"topic {topic} is being restated already; wait for it or look at `dwh blocks {topic}`.")
            return row["id"]

    def ask_next_run(self, topic: str, code: str, reason: str) -> None:
        """What the topic's next run shall do. Whoever loads it now is not disturbed."""
        require_reason("next-run", topic, reason)
        with self.database.transaction() as connection:
            row = lock_topic(connection, topic)
            log_event(connection, "NEXT_RUN", f"{code.lower()}: {reason}", who=self.who, kind="act", topic=topic)
            connection.execute(sql("ask_next_run"), {"topic_id": row["id"], "code": code})

    def pause(self, topic: str, reason: str) -> str | None:
        """Let the topic rest until it is resumed. Whoever loads it now finishes its block; returns who that is."""
        with self._quiet_act(topic, "PAUSE", reason) as act:
            if act.topic["paused"] is not None:
                raise ActRefused(f"topic {topic} is paused already, by {act.topic['paused_by']}: {act.topic['paused']}.")
            values = {"topic_id": act.topic["id"], "reason": reason, "who": self.who}
            return one(act.connection.execute(sql("pause_topic"), values))["holder"]

    def resume(self, topic: str, reason: str) -> None:
        with self._quiet_act(topic, "RESUME", reason) as act:
            if act.topic["paused"] is None:
                raise ActRefused(f"topic {topic} is not paused; `dwh why {topic}` says what it waits for.")
            act.connection.execute(sql("resume_topic"), {"topic_id": act.topic["id"]})

    def begin_backfill(self, topic: str, rows: int, reason: str) -> None:
        """From now on, until it has caught up, the topic comes after the others. One that is backfilled stays as it is."""
        with self._quiet_act(topic, "BACKFILL", reason, f"about {rows} rows: ") as act:
            act.connection.execute(sql("begin_backfill"), {"topic_id": act.topic["id"], "rows": rows})

    def begin_at(self, topic: str, to: Position, reason: str) -> None:
        """Let a topic that has loaded nothing yet begin elsewhere, earlier too. What reads its table must not be beyond that."""
        with self._act(topic, "RESET", reason, f"begins at {to}: ") as act:
            if act.topic["last_pos"] is None:
                initialise(act.connection, act.topic["id"], to, first_watermark(to))
                return
            self._abort_running(act, "it begins elsewhere")
            act.connection.execute(sql("void_unfinished_blocks"), {"topic_id": act.topic["id"]})
            values = {"topic_id": act.topic["id"], "pos": to.pos, "id": to.id}
            beyond = one(act.connection.execute(sql("readers_beyond"), values))["readers"]
            if beyond:
                raise ActRefused(
                    f"topic {topic}: {', '.join(beyond)} took its table for complete beyond {to} and would miss what comes now. "
                    f"Nothing was changed.\nSwitch them off, or name a later position."
                )
            if act.connection.execute(sql("move_start"), values).fetchone() is None:
                raise ActRefused(
                    f"topic {topic} has blocks already, so it cannot begin before them. Nothing was changed.\n"
                    f"`dwh rollback {topic} --all --reason ...` takes them back; then backfill it from there."
                )
            act.connection.execute(sql("set_cursor_back"), values)

    def override(self, topic: str, reason: str) -> None:
        """Blocks will be loaded in spite of repeat, window and back-off. Takes nothing away from a worker that runs."""
        with self.database.transaction() as connection:
            log_event(connection, "OVERRIDE", reason, who=self.who, kind="act", topic=topic)

    def _abort_running(self, act: Act, reason: str) -> None:
        act.connection.execute(sql("abort_running_execution"), {"topic_id": act.topic["id"], "reason": reason})
        act.connection.execute(sql("release_topic"), {"topic_id": act.topic["id"]})

    def _reopen(self, act: Act, block: Block, waive: str | None) -> None:
        self._abort_running(act, "repeated by hand")
        act.connection.execute(sql("reopen_block"), {"block_id": block.id, "waive": waive})

    def _pass_over(self, act: Act, to: Position, contents: Contents | None = None) -> None:
        cursor = Position(act.topic["last_pos"], int(act.topic["last_id"]))
        if to <= cursor:
            raise ActRefused(f"topic {act.topic['name']}: {to} is not beyond its cursor {cursor}.")
        self._abort_running(act, "reset by hand")
        act.connection.execute(sql("void_unfinished_blocks"), {"topic_id": act.topic["id"]})
        skipped = {
            "topic_id": act.topic["id"],
            "last_pos": cursor.pos,
            "last_id": cursor.id,
            "next_pos": to.pos,
            "next_id": to.id,
            "contents": None if contents is None else json.dumps(contents.to_json()),
        }
        act.connection.execute(sql("insert_skipped_block"), skipped)
        self._move(act, to, watermark_of(to, to.pos, takes_all=False))

    def _move(self, act: Act, to: Position, watermark: Any) -> None:
        act.connection.execute(
            sql("set_cursor_forward"),
            {"topic_id": act.topic["id"], "pos": to.pos, "id": to.id, "watermark": watermark},
        )


def require_reason(act: str, topic: str, reason: str) -> None:
    if not reason.strip():
        raise ActRefused(f"{act} {topic}: say why with --reason; it is kept in the event log.")


def _require_base(act: Act, first: Block, kind: str) -> None:
    """Blocks are made anew from their base: where its rows have expired, theirs would be lost."""
    base = one(act.connection.execute(sql("base_expired"), {"topic_id": act.topic["id"]}))
    if kind == "rollback" and base["processor"] != "upsert":
        return  # only an upsert writes anew what stays
    if base["upto"] is not None and (kind == "rollback" or first.bounds.last.pos < base["upto"]):
        raise ActRefused(
            f"topic {act.topic['name']}: rows of {base['base']} up to {base['upto']} were kept as long as `keep` says and are "
            "gone; made anew from what is left, rows of this table would be lost.\n"
            "Nothing was changed. Name blocks that begin behind that instant."
        )


def first_watermark(start: Position) -> Any:
    """A topic that starts at a position will bring no rows from before it."""
    return EARLIEST.pos if start == EARLIEST else start.pos - MICROSECOND
