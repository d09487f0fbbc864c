"""A new table from an idea: its Lineage file and transform, written from what its base really holds, valid at once."""

from __future__ import annotations

import os
from pathlib import Path

from dwh_assets.config.drafts import Wish, draft, position_of
from dwh_assets.config.lineage_files import load_lineage
from dwh_assets.engine.describe import columns_of
from dwh_assets.engine.engine import Engine
from dwh_assets.model.column import TableColumn
from dwh_assets.model.errors import ActRefused, BadPosition
from dwh_assets.model.module import PROCESSORS, Lineage
from dwh_assets.model.topic import TopicName


def draft_table(engine: Engine, lineage: Lineage, table: str, base: str, processor: str | None) -> dict[str, str]:
    """File -> text of a new module upon `base`; nothing is written."""
    _require_new(lineage, table, processor)
    columns = columns_of(engine, lineage, base)
    source = next((s for s in lineage.sources if s.name == base), None)
    events = source is not None and source.events is not None
    if events != (processor == "ingest") and (events or processor == "ingest") and processor is not None:
        raise ActRefused(f"{base} is {'' if events else 'no '}stream of events; only those are taken in, by processor ingest.")
    chosen = "ingest" if events else processor or "step"
    undeclared = source is None and base not in lineage.tables
    return draft(Wish(table, base, chosen, columns, _position(lineage, base, columns, chosen), undeclared))


def write_draft(files: dict[str, str], project: Path, lineage_folder: Path, transforms_folder: Path) -> None:
    """Write all of the files or none. One that exists is never touched; files that the Lineage refuses are taken away again."""
    if present := [file for file in files if (project / file).exists()]:
        raise ActRefused(f"{' and '.join(present)} exists already and is never overwritten. Nothing was written.")
    written: list[Path] = []
    try:
        for file, text in files.items():
            path = project / file
            path.parent.mkdir(parents=True, exist_ok=True)
            written.append(_created(path, text))
        load_lineage(lineage_folder, transforms_folder)
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        raise


def _created(path: Path, text: str) -> Path:
    """Exclusively: a file that appeared since is not overwritten either."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _require_new(lineage: Lineage, table: str, processor: str | None) -> None:
    try:
        name = TopicName.parse(table)
    except ValueError as error:
        raise ActRefused(f"{error}. Nothing was written.") from None
    if name.shard:
        raise ActRefused(f"{table} names a shard; a module serves all its shards. Nothing was written.")
    if place := lineage.places.get(table):
        raise ActRefused(f"{table} is there already, in {place}. Nothing was written.")
    if processor is not None and processor not in PROCESSORS:
        raise ActRefused(f"there is no processor {processor!r}; known are {', '.join(PROCESSORS)}. Nothing was written.")
    if processor == "range":
        raise ActRefused("a range needs a span, which nobody can guess: draft a step, then write processor: range and span: 1h.")


def _position(lineage: Lineage, base: str, columns: list[TableColumn], processor: str) -> tuple[str, str]:
    """The one that the base has; for a table that no file names, the two columns that look like one."""
    known = next((s.position for s in lineage.sources if s.name == base), None)
    known = known or next((m.position for m in lineage.modules if m.table == base), None)
    names = {column.name for column in columns}
    if known is not None and (set(known) <= names or processor == "reload"):
        return known
    guess = position_of(columns, base)
    if known is None and guess is not None:
        return guess
    if processor == "reload":
        return ("pos", "id")
    raise BadPosition(_no_position(lineage, base, columns, known, guess))


def _no_position(
    lineage: Lineage, base: str, columns: list[TableColumn], known: tuple[str, str] | None, guess: tuple[str, str] | None
) -> str:
    instants = ", ".join(c.name for c in columns if c.is_instant) or "none"
    numbers = ", ".join(c.name for c in columns if c.is_whole_number) or "none"
    wrong = f"has no columns {', '.join(known)}, which are its position" if known else "has no two columns for a position"
    advice = (
        f"Write position: [{', '.join(guess)}] in {lineage.places.get(base, 'its file')}."
        if guess
        else ("Give it an instant with a zone that only rises, and a number; or draft it with --processor reload.")
    )
    return f"{base} {wrong}. Nothing was written.\nIts instants: {instants}; its whole numbers: {numbers}. {advice}"
