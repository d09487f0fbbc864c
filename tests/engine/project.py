"""A tiny project in a folder: Lineage files, transforms, source tables, and an engine that loads it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow

from dwh_assets.config.lineage_files import load_lineage
from dwh_assets.config.settings import load_settings
from dwh_assets.control.acts import ActStore
from dwh_assets.control.reports import Reports
from dwh_assets.engine.apply import apply
from dwh_assets.engine.attempt import Outcome
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.loop import Loop
from dwh_assets.engine.restate import Span, reset_backward, restate, span_of
from dwh_assets.engine.verify import Finding, verify
from dwh_assets.model.module import Lineage
from dwh_assets.model.position import Position

Row = dict[str, Any]
DAY = datetime(2026, 3, 1, tzinfo=UTC)
BASE = pa.schema(
    [
        ("pos", pa.timestamp("us", tz="UTC")),
        ("id", pa.decimal128(20, 0)),
        ("k", pa.string()),
        ("v", pa.int64()),
    ]
)
ALL = "select pos, id, k, v from {{ block }}"


def at(seconds: float) -> datetime:
    return DAY + timedelta(seconds=seconds)


def row(seconds: float, id: int = 0, k: str | None = "a", v: int | None = 1) -> Row:
    return {"pos": at(seconds), "id": Decimal(id), "k": k, "v": v}


def rows(first: int, last: int, **columns: Any) -> list[Row]:
    """One row a second, its number as id and value."""
    return [row(n, n, **({"k": f"k{n % 3}", "v": n} | columns)) for n in range(first, last)]


@dataclass
class Project:
    """What a person has: a folder with files, and a warehouse that they are applied to."""

    folder: Path
    engine: Engine

    def write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def source(self, name: str, schema: pa.Schema = BASE, extra: str = "") -> str:
        """A source table outside, empty, and its Lineage file."""
        catalog = self.engine.catalog
        catalog.sql.create_namespace_if_not_exists(name.split(".")[0])
        catalog.sql.create_table_if_not_exists(name, schema)
        self.write(f"lineage/sources/{name}.yaml", f"name: {name}\nkind: iceberg\n{extra}")
        return name

    def module(self, table: str, base: str, sql: str | Sequence[str] = ALL, **fields: Any) -> None:
        """A module that is due at once; fields are YAML text."""
        texts = [sql] if isinstance(sql, str) else list(sql)
        stem = table.replace(".", "_").replace("#", "_")
        files = [f"t/{stem}_{n}.sql" for n in range(len(texts))]
        for file, text in zip(files, texts, strict=True):
            self.write(f"sql/transforms/{file}", text)
        given = {"transforms": f"[{', '.join(files)}]", "repeat": "0", "backoff": "0", "depends_on": f"[{base}]"} | fields
        lines = "".join(f"{name}: {value}\n" for name, value in given.items() if value is not None)
        self.write(f"lineage/{stem.split('_')[0]}/{stem}.yaml", f'table: "{table}"\n{lines}')

    def remove(self, table: str) -> None:
        stem = table.replace(".", "_").replace("#", "_")
        (self.folder / f"lineage/{stem.split('_')[0]}/{stem}.yaml").unlink()

    def append(self, name: str, some: Iterable[Row]) -> None:
        """Rows that arrive in a source table, as one file."""
        table = self.engine.catalog.load(name)
        table.append(pa.Table.from_pylist(list(some), schema_to_pyarrow(table.schema(), include_field_ids=False)))

    def lineage(self) -> Lineage:
        return load_lineage(self.folder / "lineage", self.folder / "sql" / "transforms")

    def apply(self, who: str = "tester") -> Any:
        return apply(self.engine, self.lineage(), who)

    def load(self, *topics: str) -> list[Outcome]:
        """Load until nothing is due; every block that ended, in order."""
        ended: list[Outcome] = []
        Loop(self.engine, frozenset(topics) or None, ended.append).run(until_dry=True)
        return ended

    def tick(self) -> Lineage:
        """Observe, decide and plan once; the Lineage in force."""
        return Loop(self.engine).tick()[0]

    def acts(self) -> ActStore:
        return ActStore(self.engine.database, "tester")

    def restate(self, topic: str, first: int, last: int | None = None) -> Outcome:
        lineage = self.engine.lineage.active()
        return self.restate_span(span_of(self.engine, lineage, topic, first, last))

    def restate_span(self, span: Span) -> Outcome:
        return restate(self.engine, self.engine.lineage.active(), self.acts(), span, "a test")

    def restatements(self, topic: str) -> list[tuple[int, int, str]]:
        found = self.engine.database.fetch(
            "select r.first_seq, r.last_seq, r.status from dwh.restatement r join dwh.topic t on t.id = r.topic_id "
            "where t.name = %(topic)s order by r.id",
            topic=topic,
        )
        return [(row["first_seq"], row["last_seq"], row["status"]) for row in found]

    def reset(self, topic: str, pos: datetime, id_: int) -> Outcome:
        """Take back every block beyond a bound."""
        return reset_backward(self.engine, self.engine.lineage.active(), self.acts(), topic, Position(pos, int(id_)), "a test")

    def rows(self, table: str, columns: str = "id, k, v") -> list[tuple[Any, ...]]:
        """What readers see, in order."""
        arrow = self.engine.catalog.load(table).scan().to_arrow()
        names = [name.strip() for name in columns.split(",")]
        found = [tuple(plain(line[name]) for name in names) for line in arrow.to_pylist()]
        return sorted(found, key=lambda line: tuple((value is None, str(type(value)), value) for value in line))

    def blocks(self, topic: str) -> list[Row]:
        """The topic's blocks that tile, without its start."""
        return self.engine.database.fetch(
            "select b.*, s.rows, s.nulls, s.max_id, s.min_pos, s.max_pos, s.measures, s.expects, s.checks, s.execution_id "
            "from dwh.block b join dwh.topic t on t.id = b.topic_id left join dwh.load_stat s on s.block_id = b.id "
            "where t.name = %(topic)s and b.seq > 0 and b.status <> 'void' order by b.seq",
            topic=topic,
        )

    def topic(self, name: str) -> Row:
        found = self.engine.database.fetch_one("select * from dwh.topic where name = %(name)s", name=name)
        assert found is not None
        return found

    def cursor(self, topic: str) -> Position:
        found = self.topic(topic)
        return Position(found["last_pos"], int(found["last_id"]))

    def status(self, topic: str) -> Row:
        return Reports(self.engine.database).status([topic])[0]

    def verify(self) -> list[Finding]:
        return verify(self.engine, self.engine.lineage.active())


def plain(value: Any) -> Any:
    return int(value) if isinstance(value, Decimal) and value == value.to_integral_value() else value


def settings_of(folder: Path, database_url: str, spark_remote: str, slots: int = 1, **others: Any) -> Any:
    return load_settings(
        home=folder / "home",
        project=folder,
        postgres_url=database_url,
        spark_remote=spark_remote,
        tick_seconds=0.05,
        slots=slots,
        **others,
    )
