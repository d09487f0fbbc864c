"""dwh advise: what delay, maxstep and repeat the topics should have, with the evidence. Changes nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from dwh_assets.cli.looking import Topics, named
from dwh_assets.cli.opening import control_store, settings_of
from dwh_assets.cli.options import Csv, Json
from dwh_assets.cli.output import Column, column, printer
from dwh_assets.control.database import Database
from dwh_assets.control.lateness import KEPT_DAYS, LatenessStore
from dwh_assets.control.lineage import LineageStore
from dwh_assets.control.reports import Reports
from dwh_assets.model.advice import Advice, Loads, Seen, advise_delay, advise_maxstep, advise_repeat
from dwh_assets.model.module import Lineage

Row = dict[str, Any]
Days = Annotated[int, typer.Option("--days", min=1, max=KEPT_DAYS, help="By what was seen in so many days, today included.")]
Cover = Annotated[float, typer.Option("--cover", min=50, max=99.9999, help="The delay should cover so many percent of the rows.")]


def advise(
    context: typer.Context, topic: Topics = None, days: Days = 7, cover: Cover = 99.99, as_json: Json = False, as_csv: Csv = False
) -> None:
    """What delay, maxstep and repeat each topic should have, with the evidence. Changes nothing."""
    out, settings = printer(as_json, as_csv), settings_of(context)
    with control_store(settings) as database:
        chosen = named(Reports(database), topic)
        found = advices(database, days, cover / 100, settings.block_seconds)
    rows = [asdict(advice) for advice in found if chosen is None or advice.topic in chosen]
    out.rows(rows, COLUMNS, empty="No Lineage is in force yet; `dwh lineage apply` puts one in force.")
    if any(row["settled"] == "thin" for row in rows):
        out.say(
            "[dim]-: too little was seen for a proposal. Sources are observed once a minute while `dwh up` or `dwh run` runs.[/]"
        )


def advices(database: Database, days: int, share: float, block_seconds: float) -> list[Advice]:
    lineage, store = LineageStore(database).active(), LatenessStore(database)
    loads = {row["topic"]: row for row in store.loads(days)}
    seen = _seen(store, lineage, loads, days)
    found: list[Advice] = []
    for module in lineage.modules:
        sources = [(source, seen[source.name]) for source in lineage.sources if source.name in module.depends_on]
        for topic in module.topics if module.active else ():
            figures = _loads(loads.get(topic))
            found += [
                advise_delay(topic, module, sources, share),
                advise_maxstep(topic, module, figures, block_seconds),
                advise_repeat(topic, module, figures),
            ]
    return sorted(found, key=lambda advice: advice.topic)


def _seen(store: LatenessStore, lineage: Lineage, loads: Mapping[str, Row], days: int) -> dict[str, Seen]:
    counts: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for row in store.counts(days):
        counts[row["source"], row["unit"]][row["bucket"]] = row["count"]
    begun = {name: row["since"] for name, row in store.seen().items()}
    now, loaded = datetime.now(UTC), defaultdict[str, int](int)
    for module in lineage.modules:
        rows = sum(loads[topic]["rows"] for topic in module.topics if topic in loads)
        loaded[module.base] = max(loaded[module.base], rows)
    return {
        source.name: Seen(
            counts[source.name, "rows"],
            counts[source.name, "looks"],
            loaded[source.name],
            min(now - begun.get(source.name, now), timedelta(days=days)),
        )
        for source in lineage.sources
    }


def _loads(row: Row | None) -> Loads:
    if row is None:
        return Loads()
    return replace(Loads(), **{name: row[name] for name in ("blocks", "full_blocks", "seconds", "rows_95", "rows_per_second")})


def _proposed(row: Mapping[str, Any]) -> str:
    return {"thin": "-", "keep": "keep", "change": f"[bold]{row['proposed']}[/]"}[row["settled"]]


COLUMNS = [
    column("topic", "topic"),
    column("setting", "setting"),
    column("now", "now"),
    Column("proposed", _proposed),
    column("evidence", "evidence", folds=True),
]
