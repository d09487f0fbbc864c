"""How the story of one row is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.markup import escape

from dwh_assets.cli import formats
from dwh_assets.cli.detail import pairs
from dwh_assets.cli.output import console

Row = Mapping[str, Any]


def print_trace(table: str, key: Mapping[str, str], story: Row) -> None:
    out = console()
    named = ", ".join(f"{column}={value}" for column, value in key.items())
    out.print(f"[bold]{escape(table)}[/] {escape(named)}")
    out.print(pairs({"row": _values(story["row"]), "loaded": formats.instant(story["loaded_at"])}))
    origin = story["from"]
    if origin is None:
        out.print("  The ledger does not know the block of this row: it was not written by the engine.")
        return
    out.print(pairs(_range(origin) | _attempt(origin) | _upon(origin)))
    if story["closed_by"]:
        closed = story["closed_by"]
        out.print(
            pairs({"ended by": f"block #{closed['block']} of {closed['topic']}, {formats.instant(closed['committed_at'])}"})
        )


def _values(row: Row) -> str:
    return ", ".join(f"{name} {value}" for name, value in row.items())


def _range(origin: Row) -> dict[str, str]:
    return {
        "from": f"block #{origin['block']} of {origin['topic']}, no. {origin['number']}, {origin['status']}",
        "base table": _base(origin) + f", snapshot {_snapshot(origin, _base(origin))}",
        "after": formats.position(origin["last_pos"], origin["last_id"]),
        "up to": formats.position(origin["next_pos"], origin["next_id"]),
    }


def _base(origin: Row) -> str:
    """The base table of the version that ran; the module may have another one now."""
    return origin["base_read"] or origin["base"]


def _snapshot(origin: Row, table: str) -> str:
    found = (origin["inputs"] or {}).get(table)
    return "unknown" if found is None else str(found)


def _attempt(origin: Row) -> dict[str, str]:
    if origin["execution"] is None:
        return {"execution": "not in the ledger any more"}
    place = f", {origin['place']}" if origin["place"] else ""
    batch = f"{origin['batch']}, instance {origin['batch_instance']}" if origin["batch_instance"] else "none"
    again = f"restatement {origin['restatement']}: {origin['restated_because']}" if origin["restatement"] else ""
    return {
        "execution": f"{origin['execution']}, attempt {origin['attempt']}, {origin['execution_code']}",
        "ran": f"{formats.instant(origin['started_at'])} .. {formats.instant(origin['ended_at'])}",
        "restated": again,
        "code": origin["code_version"] or "unknown",
        "module": f"{origin['module']} version {origin['module_version']}{place}, by {origin['changed_by']}",
        "batch": batch,
        "worker": origin["worker"],
        "Dagster run": origin["dagster_run"] or "none",
    }


def _upon(origin: Row) -> dict[str, str]:
    others = {name: snapshot for name, snapshot in (origin["inputs"] or {}).items() if name != _base(origin)}
    generations = origin["generations"] or {}
    told = (
        f"{name} at snapshot {'unknown' if snapshot is None else snapshot}"
        + (f", generation {generations[name]}" if name in generations else "")
        for name, snapshot in others.items()
    )
    return {"built upon": "; ".join(told)}
