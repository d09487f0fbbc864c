"""Questions that a person asks in SQL: one guarded query over any table, read at its newest state, nothing written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwh_assets.config.sql_guard import check_question
from dwh_assets.engine.describe import names_of, unknown
from dwh_assets.engine.engine import Engine
from dwh_assets.model.errors import ActRefused
from dwh_assets.model.module import Lineage
from dwh_assets.processors.looking import Rows, first_rows
from dwh_assets.processors.transform import Views
from dwh_assets.warehouse.catalog import CATALOG

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAME = "sql"


def tables_of(engine: Engine, lineage: Lineage) -> list[str]:
    """Every table that can be asked: all but streams of events, which are readable once they are taken in."""
    streams = {source.name for source in lineage.sources if source.events is not None}
    planned = set(lineage.tables) - set(engine.catalog.names())
    return [name for name in names_of(engine, lineage) if name not in streams | planned]


def question(engine: Engine, lineage: Lineage, text: str) -> DataFrame:
    """The query as Spark will run it. The guard lets one SELECT pass, and no function that could reach beyond the tables."""
    query = check_question(text, tables_of(engine, lineage))
    views = Views(engine.session(), "dwh_ask")
    names = {table: views.add(frame_of(engine, lineage, table)) for table in query.tables}
    return views.query(query.render(names, ""))


def ask(engine: Engine, lineage: Lineage, text: str, limit: int | None) -> Rows:
    return first_rows(question(engine, lineage, text), NAME, limit)


def frame_of(engine: Engine, lineage: Lineage, table: str) -> DataFrame:
    """All rows of a table as readers see it."""
    source = next((s for s in lineage.sources if s.name == table), None)
    if source is not None and source.events is not None:
        taken = [m.table for m in lineage.modules if m.base == table]
        where = f"its events are in {', '.join(taken)}" if taken else "a module with processor ingest takes them in"
        raise ActRefused(f"{table} is a stream of events: {where}.")
    if source is not None and source.kind == "postgres":
        return engine.source(table, lineage).read(engine.session(), None, None, None)
    if not engine.catalog.exists(table):
        raise unknown(engine, lineage, table)
    return engine.session().table(f"{CATALOG}.{table}")
