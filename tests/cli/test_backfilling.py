"""Backfilling a new table, pausing and resuming it, and what is advised for it, by the dwh command."""

from __future__ import annotations

import json

from tests.cli.conftest import Project, write_files

_CHECKLESS = """table: fact.orders
depends_on: [stage.orders]
maxstep: 10
stretch: 1
repeat: 1ms
"""


def test_a_backfill_is_estimated_paused_resumed_done_in_blocks_and_told_of(project: Project):
    write_files(project.folder, **{"lineage/fact/orders.yaml": _CHECKLESS})
    project.environment["DWH_OPENLINEAGE_FILE"] = "events.jsonl"
    project.ok("lineage", "apply", "--yes")

    expected = project.ok("backfill", "fact.orders", "--estimate", "--json").json
    assert (expected["rows"], expected["blocks"], expected["rows_per_second"]) == (30, 3, None)
    assert "how long is not known" in project.ok("backfill", "fact.orders", "--estimate").out

    project.ok("pause", "fact.orders", "--reason", "the source is being moved")
    refused = project.dwh("backfill", "fact.orders")
    assert refused.code == 2
    assert "the source is being moved" in refused.err
    [row] = project.ok("status", "--topic", "fact.orders", "--json").json
    assert row["verdict"] == "INACTIVE"
    assert "dwh resume fact.orders" in row["why"]
    assert [row["name"] for row in project.ok("report", "disabled", "--json").json] == ["fact.orders"]

    project.ok("resume", "fact.orders", "--reason", "it was moved")
    done = project.ok("backfill", "fact.orders", "--json").json
    assert (done["done"]["committed"], done["done"]["rows"], done["over"]) == (3, 30, True)
    assert "nothing waits" in project.ok("backfill", "fact.orders").out
    codes = [event["code"] for event in project.ok("log", "--events", "--json").json]
    assert {"PAUSE", "RESUME", "BACKFILL"} <= set(codes)

    project.deliver(range(31, 41))
    again = project.ok("backfill", "fact.orders").out
    assert "about 10 rows" in again
    assert "as its own blocks" in again
    assert "backfilled" in again

    told = [json.loads(line) for line in (project.folder / "events.jsonl").read_text().splitlines()]
    assert [event["eventType"] for event in told] == ["START", "COMPLETE"] * 4
    [field] = told[-1]["outputs"][0]["facets"]["columnLineage"]["fields"]["amount"]["inputFields"]
    assert (field["name"], field["field"]) == ("stage.orders", "amount")
    column = project.ok("lineage", "show", "fact.orders.amount", "--json").json
    assert [(step["table"], step["kind"]) for step in column["made_of"]] == [("stage.orders", "identity")]
    assert [(step["table"], step["column"], step["kind"]) for step in column["goes_into"]] == [
        ("mart.totals", "total", "aggregation")
    ]
    assert "stage.orders.amount as it is" in project.ok("lineage", "show", "fact.orders.amount").out
    assert "Did you mean amount?" in project.dwh("lineage", "show", "fact.orders.amout").err

    tree = project.ok("why", "fact.orders").out
    assert "its last 4 blocks took" in tree
    assert "should be done: when stage.orders has newer rows" in tree

    advice = {row["setting"]: row for row in project.ok("advise", "-t", "fact.orders", "--json").json}
    assert advice["delay"]["settled"] == "thin"
    assert advice["maxstep"]["evidence"] == "4 blocks were loaded, 20 are needed"
    assert "too little was seen" in project.ok("advise").out


def test_a_backfill_may_begin_elsewhere_and_a_wrong_name_is_answered_with_near_ones(project: Project):
    write_files(project.folder, **{"lineage/fact/orders.yaml": f"{_CHECKLESS}start: 2026-01-31T00:00:25Z\n"})
    project.ok("lineage", "apply", "--yes")
    assert project.ok("backfill", "fact.orders", "--estimate", "--json").json["rows"] == 5
    earlier = project.ok("backfill", "fact.orders", "--from", "earliest", "--json").json
    assert (earlier["rows"], earlier["done"]["rows"]) == (30, 30)
    refused = project.dwh("backfill", "fact.orders", "--from", "2026-01-31T00:00:05Z")
    assert refused.code == 2
    assert "dwh rollback fact.orders --all" in refused.err
    assert "fact.orders" in project.dwh("backfill", "fact.order").err
    assert "say why with --reason" in project.dwh("pause", "fact.orders").err
