"""Looking again at the base rows of a block that lie in a table of files.

Files never change. So the rows are the same where the same files hold them as when they were read, and nothing is read to know
that. Where other files do, after an update or a compaction, positions are counted, and values are compared by a Spark job: with
those of the snapshot that was read, or, once that has expired, with the hash that the first audit has noted of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dwh_assets.model.position import Bounds
from dwh_assets.sources.content import SPARK, content_of
from dwh_assets.sources.source import NOTHING, Content, Fingerprint, Noted, Recount

if TYPE_CHECKING:
    from dwh_assets.sources.iceberg import IcebergSource
    from dwh_assets.warehouse.file_stats import FileStat


def recount(source: IcebergSource, bounds: Bounds, noted: Noted, shard: str | None) -> Recount:
    """The rows of the range as they are now, beside what they were when they were read."""
    head = source.snapshot()
    if head is None:
        return Recount(NOTHING, noted.read)
    kept = noted.snapshot if source.has_snapshot(noted.snapshot) else None
    files = _digest(source.files_of(bounds, head, shard))
    before = noted.files if kept is None else _digest(source.files_of(bounds, kept, shard))
    known = noted.read.content
    rows = 0
    if known is None and kept is not None:
        known, rows = _content(source, bounds, kept, shard, None), noted.read.rows
    then = replace(noted.read, content=known)
    if files == before:
        return Recount(then, then, files, rows)
    now = source.fingerprint(bounds, head, shard)
    if now != then:
        return Recount(now, then, files, rows + now.rows)
    return _values(source, bounds, head, shard, replace(now, content=None), then, files, rows + now.rows)


def _values(
    source: IcebergSource,
    bounds: Bounds,
    head: int,
    shard: str | None,
    now: Fingerprint,
    then: Fingerprint,
    files: str,
    rows: int,
) -> Recount:
    """The same positions in other files: do they hold the same values? What was hashed otherwise is noted anew."""
    known = then.content
    content = _content(source, bounds, head, shard, known.columns if known is not None and known.hashed[0] == SPARK else None)
    if known is None or content is None or content.hashed != known.hashed:
        fresh = content or _content(source, bounds, head, shard, None)
        return Recount(replace(now, content=fresh), replace(then, content=fresh), files, rows + now.rows)
    return Recount(replace(now, content=content), then, files, rows + now.rows)


def _content(
    source: IcebergSource, bounds: Bounds, snapshot: int, shard: str | None, columns: Sequence[str] | None
) -> Content | None:
    return content_of(source.read(source.spark(), bounds, snapshot, shard), columns)


def _digest(files: Sequence[FileStat]) -> str:
    return hashlib.sha256("\n".join(sorted(file.path for file in files)).encode()).hexdigest()
