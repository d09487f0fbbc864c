"""How a table is shown: its columns, what it holds, how fresh it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from dwh_assets.cli import formats
from dwh_assets.cli.output import Column, Printer, column
from dwh_assets.cli.rows import shown
from dwh_assets.model.column import TableColumn

if TYPE_CHECKING:
    from dwh_assets.warehouse.describing import Holding

Row = dict[str, Any]
MOST_PARTITIONS = 10


def print_columns(out: Printer, columns: Sequence[TableColumn], title: str, holding: Holding | None = None) -> None:
    rows = [asdict(c) | _held(c.name, holding) for c in columns]
    what = [
        column("column", "name"),
        column("type", "type"),
        Column("", lambda row: "key" if row["key"] else "not null" if row["required"] else ""),
        *(
            [
                _NULLS,
                column("least", "least", lambda v: escape(shown(v))),
                column("greatest", "greatest", lambda v: escape(shown(v))),
            ]
        ),
        column("comment", "comment", folds=True),
    ]
    out.rows(rows, what if holding is not None else [*what[:3], what[-1]], title=title)


def _bound(value: Any) -> str:
    return formats.instant(value) if isinstance(value, datetime) and value.tzinfo else escape(shown(value))


_NULLS = Column("nulls", lambda row: "" if not row["nulls"] else formats.count(row["nulls"]), right=True)


def _held(name: str, holding: Holding | None) -> Row:
    """Least and greatest are known where files keep them exactly: not of text."""
    if holding is None:
        return {}
    return {"nulls": holding.nulls.get(name), "least": holding.lower.get(name), "greatest": holding.upper.get(name)}


def print_holding(out: Printer, holding: Holding) -> None:
    files = f"{formats.count(holding.files)} files" if holding.files != 1 else "1 file"
    kept = f"{formats.count(holding.snapshots)} snapshots"
    staged = f", {holding.branches} branches of attempts" if holding.branches else ""
    changed = f"; last changed {formats.instant(holding.changed_at)}" if holding.changed_at else ""
    out.say(f"{formats.count(holding.rows)} rows, {formats.size(holding.bytes)} in {files}, {kept}{staged}{changed}")
    if not holding.partitions:
        return
    newest = holding.partitions[-MOST_PARTITIONS:]
    left = len(holding.partitions) - len(newest)
    out.rows(
        [asdict(part) for part in newest],
        [
            column(holding.partitioned_by, "name"),
            column("rows", "rows", formats.count, right=True),
            column("files", "files", formats.count, right=True),
            column("size", "bytes", formats.size, right=True),
        ],
        title=f"the newest of {len(holding.partitions)} partitions" if left else "",
    )


def print_freshness(out: Printer, topics: Sequence[Row], source: Row | None) -> None:
    for row in topics:
        lag = f"{formats.span(row['lag_seconds'])} behind the clock" if row["lag_seconds"] is not None else "nothing loaded yet"
        end = f", last run {formats.instant(row['last_end'])}" if row["last_end"] else ""
        known = f"complete up to {formats.instant(row['watermark'])}, {lag}" if row["lag_seconds"] is not None else lag
        out.say(f"{escape(row['topic'])}: {known}{end}; {formats.coloured(row['verdict'], red=row['parked'])}")
    if source is not None:
        seen = f", looked at {formats.instant(source['seen_at'])}" if source["seen_at"] else ""
        newest = f"newest row {formats.instant(source['newest'])}" if source["newest"] else "no rows seen yet"
        out.say(f"a source ({source['kind']}): {newest}{seen}" + (f"; {escape(source['problem'])}" if source["problem"] else ""))
