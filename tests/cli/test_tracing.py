from __future__ import annotations

import pytest

from tests.cli.conftest import Project


def test_a_row_is_traced_to_its_range_attempt_and_inputs(loaded: Project):
    [story] = loaded.ok("trace", "fact.orders", "id=12", "--json").json
    block, origin = loaded.block_of("fact.orders", 2), story["from"]
    assert story["row"]["amount"] == 12
    assert (origin["block"], origin["topic"], origin["base_read"]) == (block["id"], "fact.orders", "stage.orders")
    assert (origin["last_id"], origin["next_id"], origin["attempt"], origin["module_version"]) == (10, 20, 1, 1)
    assert origin["inputs"]["stage.orders"]
    assert origin["code_version"]
    assert story["loaded_at"]
    [total] = loaded.ok("trace", "mart.totals", "id=19", "--json").json
    assert set(total["from"]["inputs"]) == {"fact.orders"}


def test_the_story_of_a_row_is_readable(loaded: Project):
    text = loaded.ok("trace", "fact.orders", "id=12", "amount=12").out
    for part in ("base table", "stage.orders, snapshot", "up to", "attempt 1, Succeeded", "version 1", "Dagster run", "worker"):
        assert part in text


def test_instants_are_found_with_and_without_a_zone(loaded: Project):
    for instant in ("2026-01-31T00:00:05Z", "2026-01-31 00:00:05", "2026-01-31T01:00:05+01:00"):
        assert [story["row"]["id"] for story in loaded.ok("trace", "fact.orders", f"pos={instant}", "--json").json] == [5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fact.order", "id=1"), "Did you mean fact.orders"),
        (("stage.orders", "id=1"), "stage.orders is a source"),
        (("fact.orders", "amont=1"), "no column 'amont'. Did you mean amount?"),
        (("fact.orders", "id=many"), "is no bigint"),
        (("fact.orders", "id=999"), "no row of fact.orders has what was given for id"),
        (("fact.orders", "amount=null"), "no row of fact.orders"),
        (("fact.orders", "id"), "is not column=value"),
    ],
)
def test_what_cannot_be_traced_is_said_clearly(loaded: Project, arguments: tuple[str, ...], message: str):
    answer = loaded.dwh("trace", *arguments)
    assert answer.code == 2
    assert message in answer.err.replace("\n", " ")
    assert "Traceback" not in answer.err


def test_too_many_rows_are_refused(project: Project):
    project.deliver(range(31, 61))
    lineage = (
        (project.folder / "lineage/fact/orders.yaml").read_text().replace("  - not_null: [amount]", "  - rows: {min_ratio: 0}")
    )
    (project.folder / "lineage/fact/orders.yaml").write_text(lineage)
    (project.folder / "sql/transforms/fact/orders.sql").write_text("select pos, id, 7L as amount from {{ block }}\n")
    project.ok("lineage", "apply", "--yes")
    project.ok("run", "--until-dry")
    answer = project.dwh("trace", "fact.orders", "amount=7")
    assert answer.code == 2
    assert "more than 20 rows of fact.orders" in answer.err
    assert len(project.ok("trace", "fact.orders", "amount=7", "id=31", "--json").json) == 1


def test_a_restated_row_says_why(project: Project):
    project.ok("lineage", "apply", "--yes")
    assert project.dwh("run", "--until-dry").code == 2
    project.ok(
        "restate", "fact.orders", "--from", f"#{project.block_of('fact.orders', 1)['id']}", "--reason", "try again", "--yes"
    )
    [story] = project.ok("trace", "fact.orders", "id=5", "--json").json
    assert story["from"]["restated_because"] == "try again"
    assert story["from"]["restatement"]
