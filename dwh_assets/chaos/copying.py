"""A person's own warehouse as the ground of chaos: their Lineage, made hasty, and a bounded sample of their source rows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import psycopg
import pyarrow as pa
from psycopg import sql
from psycopg.types.string import TextLoader

from dwh_assets.chaos.ground import Ground
from dwh_assets.chaos.supply import IcebergRows, PostgresRows, Supply
from dwh_assets.config.settings import Settings
from dwh_assets.engine.engine import Engine
from dwh_assets.model.errors import ConfigError, SourceError
from dwh_assets.model.graph import order
from dwh_assets.model.module import Lineage, Module, SourceTable

BLOCKS = 4  # so many blocks, about, are cut of the sample of a source
LEAST_DELAY = timedelta(seconds=1)


def copied(lineage: Lineage, rows: int) -> tuple[Lineage, list[str]]:
    """The Lineage without what is fed by streams, and the modules that were left out for it.

    Sources lie in the scratch control database; nothing waits for its hour, so that a round is short.
    """
    sources = tuple(_near(source) for source in lineage.sources if source.events is None)
    known, kept, left_out = {source.name for source in sources}, list[Module](), list[str]()
    for name in order(lineage):
        module = lineage.module(name)
        if all(table in known or _is_built(kept, table) for table in module.inputs) and module.active:
            kept.append(_hasty(module, max(1, rows // BLOCKS)))
        else:
            left_out.append(name)
    if not kept:
        raise ConfigError("no module of this Lineage reads only Iceberg and Postgres tables, so there is nothing to disturb.")
    return Lineage(tuple(kept), sources, parameters=lineage.parameters), left_out


def _is_built(modules: Sequence[Module], table: str) -> bool:
    return any(module.table == table for module in modules)


def _near(source: SourceTable) -> SourceTable:
    delay = min(source.delay, LEAST_DELAY) if source.kind == "postgres" else timedelta()
    relation = (source.relation or source.name) if source.kind == "postgres" else source.relation
    return replace(source, url_env=None, relation=relation, delay=delay, idle_after=LEAST_DELAY)


def _hasty(module: Module, maxstep: int) -> Module:
    """Checks are about the rows: what they park without any fault would only end the run."""
    return replace(
        module,
        delay=timedelta(),
        repeat=timedelta(),
        backoff=timedelta(),
        time=None,
        keep=None,
        start="earliest" if module.start == "now" else module.start,
        checks=(),
        maxstep=maxstep,
        stretch=1,
    )


def take_project(ground: Ground, settings: Settings) -> None:
    """The transforms, where a round may read them undisturbed by what their author does meanwhile."""
    shutil.copytree(settings.transforms_folder, ground.project / "sql" / "transforms")


def sampled(engine: Engine, lineage: Lineage, copy: Lineage, rows: int, seed: int) -> list[Supply]:
    """The newest rows of each source that the copy reads, so many at most; the person's own tables are only read."""
    read = {table for module in copy.modules for table in module.inputs}
    sources = [source for source in lineage.sources if source.events is None and source.name in read]
    return [_sample(engine, source, rows, seed) for source in sources]


def _sample(engine: Engine, source: SourceTable, rows: int, seed: int) -> Supply:
    if source.kind == "iceberg":
        return IcebergRows(source.name, _iceberg_rows(engine, source, rows), seed)
    relation = source.relation or source.name
    url = os.environ.get(source.url_env, "") if source.url_env else engine.postgres_url
    if not url:
        raise SourceError(f"source {source.name}: the environment variable {source.url_env} with its URL is not set.")
    columns, found = _postgres_rows(url, relation, source.position, rows)
    return PostgresRows(source.name, relation, columns, source.position, found, seed)


def _iceberg_rows(engine: Engine, source: SourceTable, rows: int) -> pa.Table:
    with engine.catalog.asking(source.name):
        found = engine.catalog.load(source.name).scan().to_arrow_batch_reader()
        order_by = [(name, "ascending") for name in source.position]
        kept = found.schema.empty_table()
        for batch in found:  # never more than the sample and one batch in memory
            both = pa.concat_tables([kept, pa.Table.from_batches([batch])])
            kept = both.sort_by(order_by).slice(max(0, both.num_rows - rows))
    return kept


def _postgres_rows(
    url: str, relation: str, position: tuple[str, str], rows: int
) -> tuple[list[tuple[str, str]], list[tuple[object, ...]]]:
    """Values as Postgres writes them, so that it takes them back whatever their types are, json for example."""
    schema, _, table = relation.rpartition(".")
    kinds = """select attname, format_type(atttypid, atttypmod), atttypid from pg_attribute
        where attrelid = %s::regclass and attnum > 0 and not attisdropped order by attnum"""
    with psycopg.connect(url) as connection:
        name = sql.Identifier(schema or "public", table)
        columns = connection.execute(kinds, [name.as_string(connection)]).fetchall()
        for _, _, type_ in columns:
            connection.adapters.register_loader(type_, TextLoader)
        pos, id_ = (sql.Identifier(column) for column in position)
        newest = sql.SQL("select * from {} order by {} desc, {} desc limit {}").format(name, pos, id_, sql.Literal(rows))
        return [(column, kind) for column, kind, _ in columns], connection.execute(newest).fetchall()[::-1]
