"""A folder of files as a source: each file is loaded once, by its name and checksum; a block is a list of files."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
from pyspark.sql import Column, Window
from pyspark.sql import functions as F

from dwh_assets.model.errors import PositionsLost, SourceError
from dwh_assets.model.events import FILE_BITS, MOST_FILES, Contents, Events, FileFolder, LoadedFile
from dwh_assets.model.position import MICROSECOND, Bounds, Position
from dwh_assets.sources.decoding import ORIGIN, RECORD, Decoder
from dwh_assets.sources.ledger import IngestLedger, StoredBlock
from dwh_assets.sources.rows import Rows, micros
from dwh_assets.sources.source import NOTHING, Cut, Fingerprint, Noted, Observation, ReadRange, Recount

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

STREAM = "files"
MOST_TOLD = 5  # files of which is said what is wrong
_BETWEEN = "\t"  # the columns of a file, as they are kept with its dead letters


@dataclass
class FolderSource:
    name: str
    events: Events
    folder: FileFolder
    project: Path
    ledger: IngestLedger
    position: tuple[str, str] = ("pos", "id")

    @property
    def path(self) -> Path:
        return self.project / self.folder.path

    def observe(self, now: datetime) -> Observation:
        """Files are positioned when they are taken in, so the clock is the watermark; new is what no block holds yet."""
        fresh, problems = self._new(now)
        newest = now if fresh else self.ledger.reached().last.pos
        return Observation(now, newest, self._rows_about(fresh), "\n".join(problems[:MOST_TOLD]) or None)

    def snapshot(self) -> int | None:
        return None

    def cut(self, last: Position, upto: datetime, size: int, count: int, shard: str | None = None) -> list[Cut]:
        """Whole files in the order of their names, as many as give `size` rows."""
        reached = self.ledger.reached()
        fresh = [self._described(path) for path in self._new(upto)[0]]
        groups = list(_groups(self._numbered(fresh), size))
        taken = groups[:count]
        if not taken or upto - len(taken) * MICROSECOND < max(last.pos, reached.watermark):
            return []
        cuts = []
        for index, files in enumerate(taken, start=1):
            next_ = Position(upto - (len(taken) - index) * MICROSECOND, (files[-1].number << FILE_BITS) + files[-1].rows)
            whole = index == len(groups)
            cuts.append(Cut(next_, sum(f.rows for f in files), whole, Contents(STREAM, files=tuple(files))))
        return cuts

    def read(self, session: SparkSession, bounds: Bounds | None, snapshot: int | None, shard: str | None = None) -> DataFrame:
        decoder = Decoder(self.events, self.position)
        if bounds is None:
            return decoder.nothing(session)
        parts = [part for block in self.ledger.blocks(bounds) for part in self._parts(session, decoder, block)]
        return reduce(lambda together, part: together.unionByName(part), parts) if parts else decoder.nothing(session)

    def fingerprint(self, bounds: Bounds, snapshot: int | None, shard: str | None = None) -> Fingerprint:
        found = NOTHING
        for block in self.ledger.blocks(bounds):
            for file in block.contents.files:
                ids = np.arange(1, file.rows + 1, dtype=np.uint64) + np.uint64(file.number << FILE_BITS)
                found += Rows(np.full(len(ids), micros(block.pos), np.int64), ids).fingerprint()
        return found

    def late(self, ranges: Sequence[ReadRange], shard: str | None = None) -> dict[int, int]:
        """None: a file that comes later is in a later block."""
        return {}

    def recount(self, bounds: Bounds, noted: Noted, shard: str | None = None) -> Recount | None:
        """None: a file that has changed since it was loaded is an error when the folder is looked at."""
        return None

    def _new(self, now: datetime) -> tuple[list[Path], list[str]]:
        """Files that no block holds and nobody writes to any more, and what is wrong with the others: one that was loaded and has
        changed, one that does not fit the schema. They hold back no other."""
        if not self.path.is_dir():
            raise SourceError(f"source {self.name}: there is no folder {self.folder.path}. Nothing was read.")
        loaded = self.ledger.files()
        settled = now.timestamp() - self.folder.settle.total_seconds()
        found = [p for p in sorted(self.path.glob(self.folder.pattern)) if _is_seen(p) and p.stat().st_mtime <= settled]
        wrong = {path: self._wrong_with(path, loaded.get(path.name)) for path in found}
        fresh = [path for path in found if path.name not in loaded and wrong[path] is None]
        return fresh, [text for text in wrong.values() if text is not None]

    def _wrong_with(self, path: Path, loaded: dict[str, Any] | None) -> str | None:
        if loaded is None:
            return self._unreadable(path)
        if not _differs(path, loaded):
            return None
        return (
            f"source {self.name}: {path.name} was loaded with other content (block #{loaded['block_id']}).\n"
            "Nothing of the new content was loaded. Give the file a new name, or put the old content back."
        )

    def _unreadable(self, path: Path) -> str | None:
        try:
            self._require_columns(path)
        except SourceError as error:
            return str(error)
        except (OSError, ValueError, csv.Error) as error:  # of Arrow, too
            return f"source {self.name}: the file {path.name} cannot be read: {error}. Nothing of it was read; correct the file."
        return None

    def _rows_about(self, fresh: list[Path]) -> int:
        """By their sizes, from the rows of the files that were loaded: to count the lines of a file is to read it."""
        loaded = self.ledger.files().values()
        size, rows = sum(file["size"] for file in loaded), sum(file["rows"] for file in loaded)
        return sum(path.stat().st_size for path in fresh) * rows // size if size else 0

    def _described(self, path: Path) -> LoadedFile:
        rows = pq.ParquetFile(path).metadata.num_rows if self.events.format == "parquet" else _lines(path, self.folder.header)
        return LoadedFile(0, path.name, path.stat().st_size, checksum(path), path.stat().st_mtime, rows)

    def _numbered(self, files: list[LoadedFile]) -> list[LoadedFile]:
        first = 1 + max((row["number"] for row in self.ledger.files().values()), default=0)
        if first + len(files) > MOST_FILES:
            raise SourceError(f"source {self.name}: more than {MOST_FILES} files cannot be told apart.")
        return [LoadedFile(first + i, f.name, f.size, f.checksum, f.modified, f.rows) for i, f in enumerate(files)]

    def _require_columns(self, path: Path) -> None:
        """Columns that the schema does not have would be left out in silence; required ones that are missing are no null."""
        given = self._columns(path)
        known = {field.name: field for field in self.events.newest.fields}
        extra = [name for name in given if name not in known] if self.events.unknown_fields == "refuse" else []
        missing = [name for name, field in known.items() if field.required and name not in given]
        if extra or missing:
            text = f"has the column {extra[0]}, which its schema has not" if extra else f"lacks the column {missing[0]}"
            raise SourceError(
                f"source {self.name}: the file {path.name} {text}; its columns are {', '.join(given)}.\n"
                "Nothing of it was read. Correct the file, or declare a new version of the schema, and it is loaded by itself."
            )

    def _columns(self, path: Path) -> list[str]:
        if self.events.format == "parquet":
            return list(pq.read_schema(path).names)
        if not self.folder.header:
            return [field.name for field in self.events.newest.fields]
        with path.open(newline="", encoding="utf-8-sig") as file:
            columns = next(csv.reader(file, delimiter=self.folder.delimiter), [])
        if not columns:
            raise SourceError(
                f"source {self.name}: the file {path.name} does not begin with its columns. Nothing of it was read."
            )
        return columns

    def _parts(self, session: SparkSession, decoder: Decoder, block: StoredBlock) -> Iterator[DataFrame]:
        by_columns: dict[tuple[str, ...], list[LoadedFile]] = {}
        for file in block.contents.files:
            path = self._unchanged(file)
            by_columns.setdefault(tuple(self._columns(path)), []).append(file)
        for columns, files in by_columns.items():
            yield decoder.decoded(self._records(session, files, columns), block.pos, columns, self.folder.delimiter)
        if block.contents.replays:
            yield from self._replayed(decoder, self.ledger.dead_letters(session, block.contents.replays), block.pos)

    def _replayed(self, decoder: Decoder, letters: DataFrame, pos: datetime) -> Iterator[DataFrame]:
        """Lines are read by the columns that their own file had."""
        columns = F.get(F.col("headers"), F.lit(0))["value"].cast("string")
        for row in letters.select(columns.alias("columns")).distinct().collect():
            yield decoder.decoded(
                letters.where(columns.eqNullSafe(F.lit(row["columns"]))),
                pos,
                row["columns"].split(_BETWEEN),
                self.folder.delimiter,
            )

    def _unchanged(self, file: LoadedFile) -> Path:
        """The file as it was when its block was cut: else the same block would give other rows."""
        path = self.path / file.name
        if not path.is_file():
            raise PositionsLost(
                f"source {self.name}: the file {file.name} is gone. Nothing was loaded; put it back, or `dwh skip`."
            )
        if path.stat().st_mtime != file.modified and checksum(path) != file.checksum:
            raise PositionsLost(
                f"source {self.name}: the file {file.name} was changed after its block was cut. Nothing was loaded.\n"
                "Put the old content back and give the new one another name, or leave this block out: `dwh skip`."
            )
        return path

    def _records(self, session: SparkSession, files: list[LoadedFile], columns: Sequence[str]) -> DataFrame:
        paths = [_literal(self.path / file.name) for file in files]
        if self.events.format == "parquet":
            rows = session.read.parquet(*paths)
            value = F.to_json(F.struct(*(F.col(f"`{name}`") for name in rows.columns)), {"timeZone": "UTC"})
            numbered = rows.select(
                value.alias("value"), "_metadata.file_name", (F.col("_metadata.row_index") + 1).alias("offset")
            )
        else:
            numbered = self._lines_of(session, paths)
        name = F.url_decode(F.replace(F.col("file_name"), F.lit("+"), F.lit("%2B")))  # Spark gives it as a part of a URL
        given = F.lit(_BETWEEN.join(columns)).cast("binary")
        file = F.create_map(*(part for f in files for part in (F.lit(f.name), _of_file(f))))[name]
        id_ = F.shiftleft(file["number"], FILE_BITS) + F.col("offset")
        more = F.raise_error(F.concat(name, F.lit(" has more rows than it had when its block was cut")))
        made = {
            "id": F.when(F.col("offset") <= file["rows"], id_).otherwise(more),
            ORIGIN: name,
            "timestamp": file["modified"],
            "offset": F.col("offset").cast("bigint"),
            "value": F.col("value").cast("binary"),
            "headers": F.array(F.struct(F.lit("columns").alias("key"), given.alias("value"))),
        }
        rest = {column: F.lit(None).cast(kind) for column, kind in RECORD.items() if column not in made}
        return numbered.select(*(column.alias(name) for name, column in {**made, **rest}.items()))

    def _lines_of(self, session: SparkSession, paths: list[str]) -> DataFrame:
        """Each line with its number in its file, however the files were split to be read."""
        lines = session.read.text(paths).select(
            "value", "_metadata.file_name", "_metadata.file_block_start", F.monotonically_increasing_id().alias("nth")
        )
        order = Window.partitionBy("file_name").orderBy("file_block_start", "nth")
        skipped = 1 if self.folder.header else 0
        numbered = lines.withColumn("offset", F.row_number().over(order) - skipped)
        return numbered.where((F.col("offset") > 0) & (F.trim("value") != "")).drop("file_block_start", "nth")


def _literal(path: Path) -> str:
    """For Spark, which takes a path for a pattern."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", str(path))


def _of_file(file: LoadedFile) -> Column:
    """What the rows of a file need to know of it."""
    modified = F.lit(datetime.fromtimestamp(file.modified, UTC)).cast("timestamp")
    numbers = (F.lit(value).cast("bigint").alias(name) for name, value in (("number", file.number), ("rows", file.rows)))
    return F.struct(*numbers, modified.alias("modified"))


def _is_seen(path: Path) -> bool:
    """Spark leaves such names alone, as of files that are being written, and would give no rows of them."""
    return path.is_file() and not path.name.startswith((".", "_")) and not path.name.endswith("._COPYING_")


def checksum(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def _lines(path: Path, header: bool) -> int:
    """As Spark counts them: a line ends with \\n, \\r or both."""
    lines, last = 0, b""
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            lines += part.count(b"\n") + part.count(b"\r") - (last + part).count(b"\r\n")
            last = part[-1:]
    return max(0, lines + (last not in (b"\n", b"\r", b"")) - header)


def _differs(path: Path, loaded: dict[str, Any]) -> bool:
    state = path.stat()
    if state.st_size != loaded["size"]:
        return True
    return state.st_mtime != loaded["modified"] and checksum(path) != loaded["checksum"]


def _groups(files: list[LoadedFile], size: int) -> Iterator[list[LoadedFile]]:
    group: list[LoadedFile] = []
    for file in files:
        group.append(file)
        if sum(f.rows for f in group) >= size:
            yield group
            group = []
    if group:
        yield group
