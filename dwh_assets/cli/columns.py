"""The columns of each table that commands print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dwh_assets.cli import formats
from dwh_assets.cli.output import Column, column

Row = Mapping[str, Any]


def _verdict(row: Row) -> str:
    return formats.coloured(row["verdict"], red=row["parked"])


def pending(row: Row) -> str:
    if not row["pending_rows"]:
        return "some" if row["more"] and row["due"] else ""
    return formats.count(row["pending_rows"]) + ("+" if row["more"] else "")


STATUS = [
    column("topic", "topic"),
    Column("verdict", _verdict),
    column("cursor", "last_pos", formats.short_instant),
    column("watermark", "watermark", formats.short_instant, wide=True),
    column("lag", "lag_seconds", formats.span, right=True),
    Column("pending", pending, right=True),
    column("why", "why", folds=True),
]


def left_behind(row: Row) -> str:
    """What a status line has no room for, and what to do about it."""
    parts = []
    if row["changed_blocks"]:
        parts.append(f"{formats.count(row['changed_blocks'])} blocks with changed base rows: dwh alerts")
    if row["late_rows"]:
        parts.append(f"{formats.count(row['late_rows'])} late rows: dwh restate {row['topic']} --late")
    if row["stale_blocks"]:
        parts.append(f"{formats.count(row['stale_blocks'])} stale blocks: dwh restate {row['topic']} --stale")
    return f"[yellow]{row['topic']}[/]: {'; '.join(parts)}"


def _range(row: Row) -> str:
    last, next_ = row["last_pos"], row["next_pos"]
    return f"{formats.instant(last)} .. {formats.instant(next_)}"


def _rows_of_block(row: Row) -> str:
    if row["rows"] is None:
        return f"~{formats.count(row['planned_rows'])}" if row["planned_rows"] is not None else ""
    return formats.count(row["rows"])


def _notes(row: Row) -> str:
    late = [f"[yellow]{formats.count(row['late_rows'])} late rows[/]"] if row["late_rows"] else []
    waived = [f"released: {', '.join(row['waived'])}"] if row["waived"] else []
    lost = [f"{row['crashes']} workers lost"] if row["crashes"] else []
    return ", ".join([*late, *waived, *lost])


BLOCKS = [
    column("block", "id", lambda value: f"#{value}", right=True),
    column("no.", "seq", right=True),
    column("state", "status", formats.coloured),
    Column("from (exclusive) .. to", _range),
    Column("rows", _rows_of_block, right=True),
    column("took", "seconds", formats.seconds, right=True),
    Column("tries", lambda row: formats.count(row["attempts"]) if row["attempts"] else "", right=True),
    Column("notes", _notes, folds=True),
]

EXECUTIONS = [
    column("execution", "id", right=True),
    Column("try", lambda row: "restated" if row["restatement_id"] else str(row["attempt"]), right=True),
    column("ended as", "execution_code", formats.coloured),
    column("began", "started_at", formats.instant),
    column("took", "seconds", formats.seconds, right=True),
    column("read", "rows_read", formats.count, right=True),
    column("written", "rows_inserted", formats.count, right=True),
    column("worker", "worker", wide=True),
]

LOG = [
    column("loaded", "loaded_at", formats.short_instant),
    column("topic", "topic"),
    column("block", "block_id", lambda value: f"#{value}", right=True),
    column("rows", "rows", formats.count, right=True),
    column("rows/s", "rows_per_second", formats.count, right=True),
    column("took", "seconds", formats.seconds, right=True),
    column("lag", "lag_seconds", formats.span, right=True),
    column("nulls", "nulls", lambda value: formats.count(sum(value.values())) if value else "", right=True),
    column("try", "attempt", right=True),
    column("size", "bytes", formats.size, right=True, wide=True),
    column("memory", "memory", formats.size, right=True, wide=True),
]

ERRORS = [
    column("newest", "last_at", formats.instant),
    column("times", "times", formats.count, right=True),
    column("topic", "topic"),
    column("block", "block_id", lambda value: f"#{value}", right=True),
    column("text", "text", folds=True),
]


def _state_of_alert(row: Row) -> str:
    if row["resolved_at"] is None:
        return "[red]open[/]" if row["severity"] == "error" else "[yellow]open[/]"
    return "" if row["resolved_at"] == row["raised_at"] else f"over {formats.short_instant(row['resolved_at'])}"


def _untold(row: Row) -> str:
    """The targets that it did not reach yet."""
    return ", ".join(name for name, delivery in sorted(row["deliveries"].items()) if delivery["sent_at"] is None)


ALERTS = [
    column("raised", "raised_at", formats.short_instant),
    column("kind", "kind"),
    Column("state", _state_of_alert),
    column("topic", "topic"),
    column("block", "block_id", lambda value: f"#{value}", right=True),
    Column("not told", _untold, wide=True),
    column("text", "text", formats.first_line, folds=True),
]

EVENTS = [
    column("at", "at", formats.instant),
    column("code", "code", formats.coloured),
    column("topic", "topic"),
    column("block", "block_id", lambda value: f"#{value}", right=True),
    column("who", "who", wide=True),
    column("text", "text", formats.first_line, folds=True),
]

MODULES = [
    column("module", "name"),
    column("processor", "processor"),
    column("base", "base"),
    column("delay", "delay"),
    column("repeat", "repeat"),
    column("maxstep", "maxstep", formats.count, right=True),
    column("description", "description", folds=True),
]

HISTORY = [
    column("changed", "changed_at", formats.instant),
    column("module", "module"),
    column("version", "version", right=True),
    column("by", "changed_by"),
    column("what", "what", folds=True),
]

_KINDS = {"add": "[green]add[/]", "remove": "[red]remove[/]", "outdated": "[yellow]outdated[/]", "warning": "[yellow]warning[/]"}
CHANGES = [
    column("what", "kind", lambda value: _KINDS.get(value, "[yellow]change[/]")),
    column("kind", "what"),
    column("name", "name"),
    column("details", "text", folds=True),
]

FINDINGS = [
    column("invariant", "invariant"),
    Column("kind", lambda row: "[red]error[/]" if row["severity"] == "error" else "[yellow]late[/]"),
    column("topic", "topic"),
    column("block", "block_id", lambda value: f"#{value}", right=True),
    column("what does not hold", "text", folds=True),
]

AUDIT = [
    column("topic", "topic"),
    column("block", "block_id", lambda value: f"#{value}", right=True),
    column("found", "found"),
    column("what", "text", folds=True),
]

RECONCILE = [column("table or topic", "what"), column("what becomes of it", "act", folds=True)]

SPANS = [
    column("topic", "topic"),
    column("blocks", "blocks", formats.count, right=True),
    Column("no.", lambda row: f"{row['first']} to {row['last']}"),
    column("base rows", "rows", formats.count, right=True),
    column("about", "seconds", formats.seconds, right=True),
    column("because", "because", folds=True),
]

TAKEN = [
    column("topic", "topic"),
    column("block", "id", lambda value: f"#{value}", right=True),
    column("no.", "seq", formats.count, right=True),
    column("rows", "rows", formats.count, right=True),
    column("up to", "next_pos", formats.instant),
    column("written by", "execution_id", right=True, wide=True),
    column("becomes", "becomes"),
    column("built upon", "upon"),
]


def _figures(row: Row) -> str:
    return ", ".join(f"{formats.count(value)} {name.replace('_', ' ')}" for name, value in row["figures"].items() if value)


MAINTENANCE = [
    column("task", "task"),
    column("table", "table"),
    column("ended", "ended"),
    Column("what", _figures, folds=True),
    column("note", "text", folds=True),
]


def _number(value: int | None) -> str:
    return "" if value is None else f"#{value}"


DEAD_LETTERS = [
    column("topic", "topic"),
    column("block", "block_id", _number),
    column("reason", "reason"),
    column("events", "rows", formats.count, right=True),
    column("loaded", "committed_at", formats.short_instant),
    column("tried again by", "replayed_by", _number, wide=True),
]
DEAD_LETTER = [
    column("block", "_block", _number),
    column("partition", "partition", right=True),
    column("offset", "offset", right=True),
    column("from", "origin", wide=True),
    column("reason", "reason"),
    column("detail", "detail", folds=True),
    column("value", "value", folds=True),
]
