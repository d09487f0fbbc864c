"""dwh replay: what a changed transform would have made of the last real blocks."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from dwh_assets.cli import formats
from dwh_assets.cli.lineage import lineage_of_files
from dwh_assets.cli.opening import settings_of, warehouse
from dwh_assets.cli.options import Json, Topic
from dwh_assets.cli.output import Printer, column, printer, working
from dwh_assets.cli.rows import shown

if TYPE_CHECKING:
    from dwh_assets.engine.replay import Replay

Row = dict[str, Any]


def replay(
    context: typer.Context,
    topic: Topic,
    last: Annotated[int, typer.Option("--last", min=1, max=200, help="How many blocks, the newest.")] = 3,
    sql: Annotated[
        Path | None,
        typer.Option("--sql", help=r"A changed transform, held against the project's. \[default: project against table]"),
    ] = None,
    rows: Annotated[int, typer.Option("--rows", min=0, help="Show so many rows that differ.")] = 5,
    as_json: Json = False,
) -> None:
    """Run the last blocks again on the same input snapshots, and compare rows, columns, nulls, sums and time.

    Nothing is written anywhere, and the same call gives the same answer. Exit code 1 if anything differs.
    """
    from dwh_assets.engine.replay import replay as run_again

    settings, out = settings_of(context), printer(as_json)
    lineage = lineage_of_files(settings)
    with warehouse(settings) as engine, working(f"replaying {last} blocks of {topic}", long=True):
        found = run_again(engine, lineage, topic, last, sql, rows)
    if as_json:
        out.json(asdict(found) | {"same": found.same})
    else:
        _print(out, found)
    raise typer.Exit(0 if found.same else 1)


def _print(out: Printer, found: Replay) -> None:
    out.say(f"[bold]{escape(found.topic)}[/]: {escape(found.before_is)} (before) and {escape(found.after_is)} (after)")
    out.rows([_block(block) for block in found.blocks], BLOCKS)
    changes = _columns(found)
    for line in changes:
        out.say(line)
    figures = _figures(found)
    if figures:
        out.rows(figures, FIGURES)
    for line in found.examples.lines(shown, ("before", "after", "only before", "only after")):
        out.say(escape(line))
    times = f"counted in {formats.seconds(found.before.seconds)} before, {formats.seconds(found.after.seconds)} after"
    out.say(f"{times}; loading them took {formats.seconds(found.loaded_seconds)} then.")
    for note in found.notes:
        out.say(f"[yellow]note[/]: {escape(note)}.")
    out.say("[green]No difference.[/]" if found.same else "[yellow]They differ.[/] Nothing was written; the table is as it was.")


def _block(block: Any) -> Row:
    rows = {"rows_before": block.before.rows, "rows_after": block.after.rows}
    return {"block": block.block, "number": block.number, "gone": block.gone, "come": block.come} | rows


BLOCKS = [
    column("block", "block", lambda value: f"#{value}", right=True),
    column("no.", "number", right=True),
    column("rows before", "rows_before", formats.count, right=True),
    column("after", "rows_after", formats.count, right=True),
    column("only before", "gone", formats.count, right=True),
    column("only after", "come", formats.count, right=True),
]
FIGURES = [
    column("column", "column"),
    column("figure", "figure"),
    column("before", "before", lambda value: escape(shown(value)), right=True),
    column("after", "after", lambda value: escape(shown(value)), right=True),
]


def _columns(found: Replay) -> list[str]:
    before, after = found.before.columns, found.after.columns
    lines = [f"[green]new column[/] {escape(name)} {kind}" for name, kind in after.items() if name not in before]
    lines += [f"[red]no column[/] {escape(name)} {kind} any more" for name, kind in before.items() if name not in after]
    both = [name for name in before if name in after and before[name] != after[name]]
    return lines + [f"[yellow]another type[/] {escape(name)}: {before[name]}, then {after[name]}" for name in both]


def _figures(found: Replay) -> list[Row]:
    """Sums over all blocks, of nulls and of values, where they differ."""
    rows = []
    for name in dict.fromkeys([*found.before.columns, *found.after.columns]):
        nulls = [_total(version, "nulls", name) for version in (found.before, found.after)]
        sums = [_total(version, "sums", name) for version in (found.before, found.after)]
        rows += [{"column": name, "figure": "nulls", "before": nulls[0], "after": nulls[1]}] if nulls[0] != nulls[1] else []
        rows += [{"column": name, "figure": "sum", "before": sums[0], "after": sums[1]}] if sums[0] != sums[1] else []
    return rows


def _total(version: Any, kind: str, name: str) -> Any:
    values = [getattr(figures, kind).get(name) for figures in version.by_block.values()]
    known = [value for value in values if value is not None]
    return sum(known) if known else None
