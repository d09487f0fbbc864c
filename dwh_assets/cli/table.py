"""dwh table: everything that is known of a table without a query, and a few of its rows."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from dwh_assets.cli.opening import settings_of, warehouse
from dwh_assets.cli.options import Json
from dwh_assets.cli.output import printer, working
from dwh_assets.cli.rows import print_rows
from dwh_assets.cli.table_detail import print_columns, print_freshness, print_holding
from dwh_assets.control.reports import Reports

if TYPE_CHECKING:
    from dwh_assets.engine.engine import Engine
    from dwh_assets.model.module import Lineage

Row = dict[str, Any]


def table(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="TABLE", help="a built table, a source, or any table of the catalog", show_default=False)
    ],
    sample: Annotated[int, typer.Option("--sample", min=0, help="Show so many of its rows, too; starts Spark.")] = 0,
    as_json: Json = False,
) -> None:
    """Columns with types, comments, nulls and bounds; rows, files, sizes, partitions; how fresh it is; --sample N shows rows."""
    from dwh_assets.engine.asking import frame_of
    from dwh_assets.engine.describe import columns_of
    from dwh_assets.processors.looking import first_rows
    from dwh_assets.warehouse.describing import holding_of

    out = printer(as_json)
    with warehouse(settings_of(context)) as engine:
        lineage = engine.lineage.active()
        columns = columns_of(engine, lineage, name)
        holding = holding_of(engine.catalog, name) if engine.catalog.exists(name) else None
        topics, source = _freshness(engine, name)
        rows = None
        if sample:
            with working("reading rows", long=True):
                rows = first_rows(frame_of(engine, lineage, name), name, sample)
    if as_json:
        facts = {"table": name, "columns": [asdict(c) for c in columns], "holds": None if holding is None else asdict(holding)}
        out.json(facts | {"topics": topics, "source": source} | ({} if rows is None else {"sample": rows.rows}))
        return
    if text := _description(lineage, name):
        out.say(escape(text))
    print_columns(out, columns, name, holding)
    if holding is not None:
        print_holding(out, holding)
    print_freshness(out, topics, source)
    if rows is not None:
        print_rows(out, rows.columns, rows.rows, title=f"{len(rows.rows)} rows, as they come")


def _freshness(engine: Engine, name: str) -> tuple[list[Row], Row | None]:
    reports = Reports(engine.database)
    source = next((row for row in reports.sources() if row["name"] == name), None)
    return [row for row in reports.status() if row["target"] == name], source


def _description(lineage: Lineage, name: str) -> str:
    texts = [m.description for m in lineage.modules if m.table == name] + [
        s.description for s in lineage.sources if s.name == name
    ]
    return "\n".join(text for text in texts if text)
