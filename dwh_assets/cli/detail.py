"""How one block is shown: its bounds, statistics, checks and attempts, one below the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from dwh_assets.cli import formats
from dwh_assets.cli.columns import EXECUTIONS
from dwh_assets.cli.output import Column, console, print_table, table

Row = Mapping[str, Any]


def print_block(row: Row, executions: Sequence[Row], sample: Sequence[Row] | None) -> None:
    out = console()
    state = formats.coloured(row["status"])
    out.print(f"[bold]block #{row['id']}[/] of [bold]{row['topic']}[/], no. {row['seq']}: {state}")
    out.print(pairs(_bounds(row) | _statistics(row)))
    if row["checks"]:
        print_table(table(row["checks"], _CHECKS, "checks"))
    if executions:
        print_table(table(executions, EXECUTIONS, "attempts"))
        for execution in executions:
            if execution["reason"]:
                out.print(f"[yellow]execution {execution['id']}[/]: {escape(execution['reason'])}", soft_wrap=True)
    if row["status"] == "parked":
        out.print(_ways_on(row["topic"]))
    if sample is not None:
        _print_sample(row, sample)


def _ways_on(topic: str) -> str:
    acts = (f"retry {topic}", f"release {topic} --check NAME", f"skip {topic}")
    return "\nTo go on:\n" + "\n".join(f"  dwh {act} --reason ..." for act in acts)


_CHECKS = [
    Column("check", lambda row: escape(row["name"])),
    Column("result", lambda row: _result(row)),
    Column("found", lambda row: escape(row["text"]), folds=True),
]


def _result(row: Row) -> str:
    if row["passed"]:
        return "[green]passed[/]"
    return "[yellow]warning[/]" if row["severity"] == "warn" else "[red]failed[/]"


def _bounds(row: Row) -> dict[str, str]:
    return {
        "after": formats.position(row["last_pos"], row["last_id"]),
        "up to": formats.position(row["next_pos"], row["next_id"]),
        "planned": f"{formats.instant(row['planned_at'])}, {formats.count(row['planned_rows'])} rows below "
        f"{formats.instant(row['upto'])}" + (", all there were" if row["takes_all"] else ", more behind them"),
        "committed": formats.instant(row["committed_at"]),
        "late rows": formats.count(row["late_rows"]) if row["late_rows"] else "",
        "released": ", ".join(row["waived"]),
    }


def _statistics(row: Row) -> dict[str, str]:
    if row["rows"] is None:
        return {}
    rate = f", {formats.count(row['rows'] / row['seconds'])} rows/s" if row["seconds"] else ""
    return {
        "rows": f"{formats.count(row['rows'])} from {formats.count(row['base_rows'])} base rows (hash sum {row['hash_sum']})",
        "took": formats.seconds(row["seconds"]) + rate,
        "size": formats.size(row["bytes"]) + (f", read {formats.size(row['bytes_read'])}" if row["bytes_read"] else ""),
        "memory": formats.size(row["memory"]),
        "positions": f"{formats.instant(row['min_pos'])} .. {formats.instant(row['max_pos'])}" if row["max_pos"] else "",
        "greatest id": str(row["max_id"] or ""),
        "lag": formats.span(row["lag_seconds"]),
        "nulls": formats.figures(row["nulls"]),
        "measures": formats.figures(row["measures"]),
        "expects": formats.figures(row["expects"]),
    }


def pairs(pairs: Mapping[str, str]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in pairs.items():
        if value:
            grid.add_row(f"  {name}", escape(value))
    return grid


def _print_sample(row: Row, sample: Sequence[Row]) -> None:
    kind = "staged rows, which readers do not see" if row["status"] == "parked" else "rows"
    if not sample:
        console().print(f"\nNo {kind} of this block were found.")
        return
    columns = [Column(name, lambda r, name=name: escape("" if r[name] is None else str(r[name]))) for name in sample[0]]
    print_table(table(sample, columns, f"{len(sample)} {kind}"))
