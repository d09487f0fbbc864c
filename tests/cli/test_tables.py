"""From an idea to a trusted table, as a person does it: new, preview, test, diff, restate, replay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dwh_assets.control.database import Database
from dwh_assets.warehouse.branches import live
from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.server import SparkServer
from tests.cli.conftest import Project, project_on, write_files
from tests.conftest import run_sql

SMALL = "maxstep: 10\nstretch: 1\nrepeat: 1ms\n"
ORDERS = "select pos, id, amount from {{ block }}\n"
CRM = """- name: crm.people
  kind: postgres
  position: [changed_at, person_id]
  horizon: delay
  delay: 1s
- name: inbox.events
  kind: files
  files: {path: inbox}
  events: {format: csv, schemas: {1: schemas/event.json}, key: [event_id]}
"""
FILES = {
    "lineage/sources/stage.yaml": "name: stage.orders\nkind: iceberg\n",
    "lineage/sources/crm.yaml": CRM,
    "lineage/schemas/event.json": '{"type": "object", "properties": {"event_id": {"type": "string"}}, "required": ["event_id"]}',
    "lineage/parameters.yaml": "factor: {type: integer, value: 1}\n",
    "lineage/fact/orders.yaml": f"table: fact.orders\ndepends_on: [stage.orders]\n{SMALL}",
    "lineage/mart/totals.yaml": f"table: mart.totals\ndepends_on: [fact.orders]\n{SMALL}",
    "sql/transforms/fact/orders.sql": ORDERS,
    "lineage/dim/now.yaml": f"table: dim.now\ndepends_on: [stage.orders]\nprocessor: upsert\nkey: [k]\n{SMALL}",
    "sql/transforms/dim/now.sql": "select pos, id, amount % 4 as k, amount * {{ param.factor }} as v from {{ block }}\n",
}
PEOPLE = """create schema crm;
create table crm.people (person_id bigint primary key, changed_at timestamptz not null, name text, "Home Town" text);
create index on crm.people (changed_at, person_id);
comment on column crm.people.name is 'as on the door'"""
CASES = """table: dim.now
cases:
  - name: the newest state of a key wins
    given:
      stage.orders:
        - {pos: 2026-01-31T00:00:01Z, id: 1, amount: 4}
        - {pos: 2026-01-31T00:00:02Z, id: 2, amount: 8}
        - {pos: 2026-01-31T00:00:03Z, id: 3, amount: 9}
    parameters: {factor: 10}
    expect:
      - {k: 0, v: 80}
      - {k: 1, v: 90}
  - name: only the block is taken
    given:
      stage.orders:
        - {pos: 2026-01-31T00:00:01Z, id: 1, amount: 4}
        - {pos: 2026-01-31T00:00:02Z, id: 2, amount: 5}
    block: {last: [2026-01-31T00:00:01Z, 1], next: [2026-01-31T00:00:02Z, 2]}
    expect:
      - {id: 2, v: 5}
"""
WRONG = """  - name: a wrong hope
    given: {stage.orders: [{pos: 2026-01-31T00:00:01Z, id: 1, amount: 4}]}
    expect: [{k: 0, v: 5}]
  - name: a column that is not there
    given: {stage.orders: [{amuont: 4}]}
    expect: []
"""


@pytest.fixture(scope="module")
def shop(
    postgres_url: str, template: str, spark_server: SparkServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    """Three blocks of ten rows in each table."""
    with project_on(postgres_url, template, spark_server.start(), tmp_path_factory.mktemp("tables")) as made:
        write_files(made.folder, **FILES)
        (made.folder / "inbox").mkdir()
        for statement in PEOPLE.split(";\n"):
            run_sql(url(made), statement)
        made.deliver(range(1, 31))
        made.ok("lineage", "apply", "--yes")
        made.ok("run", "--until-dry", "--topic", "fact.orders", "--topic", "dim.now")
        made.ok("run", "--until-dry")
        yield made


def url(project: Project) -> str:
    return project.environment["DWH_POSTGRES_URL"]


def state(project: Project) -> list[Any]:
    """Everything that a look must not change: rows of the control store that tell of work, and the refs of the tables."""
    database, catalog = Database(url(project)), Catalog(url(project), str(project.folder / ".dwh" / "warehouse"))
    counts = [
        database.fetch(f"select count(*) as n, max(id) as last from dwh.{table}")
        for table in ("block", "execution", "event_log", "topic", "restatement")
    ]
    tables = [(name, catalog.load(name).metadata_location, live(catalog, name)) for name in catalog.names()]
    leases = database.fetch("select name, token, lease_until, last_pos from dwh.topic order by name")
    database.close()
    catalog.close()
    return [counts, tables, leases]


def test_a_new_table_is_drafted_from_real_columns_valid_at_once_and_never_overwritten(shop: Project) -> None:
    before = state(shop)
    shown = shop.ok("new", "table", "fact.people", "--from", "crm.people", "--dry-run").out
    assert "position: [changed_at, person_id]" in shown
    assert "`Home Town` as home_town" in shown
    assert "as on the door" in shown
    assert not (shop.folder / "lineage/fact/people.yaml").exists()
    for table, base in (("fact.people", "crm.people"), ("raw.events", "inbox.events"), ("mart.more", "fact.orders")):
        assert "written" in shop.ok("new", "table", table, "--from", base).out
    assert "6 modules" in shop.ok("lineage", "check").out
    assert (shop.folder / "lineage/raw/events.yaml").read_text().count("processor: ingest") == 1
    text = (shop.folder / "lineage/fact/people.yaml").read_text()
    for arguments, message in (
        (("fact.people", "--from", "crm.people"), "fact.people is there already, in lineage/fact/people.yaml:1"),
        (("fact.x", "--from", "crm.poeple"), "Did you mean crm.people"),
        (("fact.x", "--from", "crm.people", "--processor", "stpe"), "there is no processor 'stpe'"),
        (("Fact X", "--from", "crm.people"), "is not a topic"),
    ):
        refused = shop.dwh("new", "table", *arguments)
        assert (refused.code, message in refused.err.replace("\n", " ")) == (2, True), refused.err
    assert (shop.folder / "lineage/fact/people.yaml").read_text() == text
    (shop.folder / "sql/transforms/fact/taken.sql").write_text("-- mine")
    assert "never overwritten" in shop.dwh("new", "table", "fact.taken", "--from", "crm.people").err
    assert (shop.folder / "sql/transforms/fact/taken.sql").read_text() == "-- mine"
    assert not (shop.folder / "lineage/fact/taken.yaml").exists()
    for path in ("lineage/fact/people.yaml", "lineage/raw/events.yaml", "lineage/mart/more.yaml"):
        (shop.folder / path).unlink()
    assert state(shop) == before


def test_a_preview_shows_the_next_block_of_a_table_that_is_not_in_force_and_writes_nothing(shop: Project) -> None:
    before = state(shop)
    write_files(
        shop.folder,
        **FILES,
        **{
            "lineage/mart/big.yaml": f"table: mart.big\ndepends_on: [stage.orders]\n{SMALL}",
            "sql/transforms/mart/big.sql": "select pos, id, amount * 100 as big from {{ block }}\n",
        },
    )
    found = shop.ok("preview", "mart.big", "--rows", "3", "--json").json
    assert (found["base_rows"], found["more"], found["columns"]["big"]) == (10, True, "bigint")
    assert [row["big"] for row in found["rows"]] == [100, 200, 300]
    assert shop.ok("preview", "mart.big", "--sample", "2", "--json").json["base_rows"] == 2
    told = shop.ok("preview", "fact.orders").out
    assert "this is the last block that was loaded" in told
    assert "Nothing was written" in told
    near = shop.dwh("preview", "mart.bgi")
    assert (near.code, "Did you mean mart.big" in near.err) == (2, True)
    assert "is a source" in shop.dwh("preview", "stage.orders").err
    (shop.folder / "sql/transforms/mart/big.sql").write_text("select pos, id, amuont from {{ block }}\n")
    wrong = shop.dwh("preview", "mart.big")
    assert (wrong.code, "amuont" in wrong.err, "Traceback" in wrong.err) == (2, True, False)
    (shop.folder / "lineage/mart/big.yaml").unlink()
    assert state(shop) == before


def test_cases_run_on_given_rows_with_parameters_bounds_and_a_readable_difference(shop: Project) -> None:
    before = state(shop)
    write_files(shop.folder, **FILES, **{"tests/transforms/now.yaml": CASES})
    assert "2 passed, 0 failed" in shop.ok("test").out
    write_files(shop.folder, **FILES, **{"tests/transforms/now.yaml": CASES + WRONG})
    failed = shop.dwh("test")
    assert failed.code == 1
    assert "differs (k 0): v: expected 5, got 4" in failed.out
    assert "stage.orders has no column amuont (did you mean amount?)" in failed.out
    assert "2 passed, 2 failed" in failed.out
    [one] = shop.dwh("test", "--only", "wrong hope", "--json").json
    assert (one["passed"], one["changed"]) == (False, [{"expected": {"k": 0, "v": 5}, "given": {"k": 0, "v": 4}}])
    assert state(shop) == before


def test_a_changed_transform_is_replayed_on_the_same_snapshots_and_says_what_differs_twice(shop: Project) -> None:
    before = state(shop)
    assert "No difference" in shop.ok("replay", "fact.orders", "--last", "2").out
    changed = shop.folder / "changed.sql"
    changed.write_text("select pos, id, if(id = 25, null, amount) as amount, 1 as n from {{ block }} where id <> 30\n")
    answers = [shop.dwh("replay", "fact.orders", "--last", "2", "--sql", str(changed), "--json") for _ in range(2)]
    assert [answer.code for answer in answers] == [1, 1]
    first, second = (answer.json for answer in answers)
    for found in (first, second):
        for side in ("before", "after"):
            assert found[side].pop("seconds") >= 0
    assert first == second
    newest = first["blocks"][-1]
    assert (newest["before"]["rows"], newest["after"]["rows"], newest["gone"], newest["come"]) == (10, 9, 2, 1)
    assert (newest["after"]["nulls"]["amount"], newest["after"]["sums"]["amount"]) == (1, sum(range(21, 30)) - 25)
    assert [(b["gone"], b["come"]) for b in first["blocks"][:-1]] == [(0, 0)]
    told = shop.dwh("replay", "fact.orders", "--last", "2", "--sql", str(changed)).out
    for part in ("new column n int", "only before", "amount", "Nothing was written"):
        assert part in told
    assert "is merged" in shop.dwh("replay", "dim.now").err
    changed.write_text("select pos, id, amount % 2 as k, amount as v from {{ block }}\n")
    merged = shop.dwh("replay", "dim.now", "--last", "1", "--sql", str(changed), "--json").json["blocks"][0]
    assert (merged["before"]["rows"], merged["after"]["rows"]) == (4, 2)
    assert "there is no such SQL file" in shop.dwh("replay", "fact.orders", "--sql", "nowhere.sql").err
    assert state(shop) == before


def test_an_expired_snapshot_is_named_with_what_can_still_be_replayed(shop: Project) -> None:
    database = Database(url(shop))
    second = shop.block_of("fact.orders", 2)["id"]
    stored = "(select execution_id from dwh.load_stat where block_id = %(block)s)"
    kept = database.fetch(f"select inputs::text as inputs from dwh.execution where id = {stored}", block=second)[0]["inputs"]
    set_inputs = f"update dwh.execution set inputs = %(inputs)s::jsonb where id = {stored}"
    database.execute(set_inputs, inputs='{"stage.orders": 12345}', block=second)
    refused = shop.dwh("replay", "fact.orders", "--last", "2")
    database.execute(set_inputs, inputs=kept, block=second)
    database.close()
    assert refused.code == 2
    assert f"block #{second} read stage.orders at snapshot 12345" in refused.err
    assert "--last 1" in refused.err


def test_a_changed_transform_shows_in_the_diff_and_is_rebuilt_by_a_plan_with_what_follows(shop: Project) -> None:
    assert shop.ok("lineage", "diff", "--json").json == []
    (shop.folder / "sql/transforms/fact/orders.sql").write_text(
        "select pos, id, amount * 2 as amount, 'x' as kind from {{ block }}\n"
    )
    rows = shop.ok("lineage", "diff", "--json").json
    assert [(row["kind"], row["name"]) for row in rows] == [("add", "fact.orders"), ("outdated", "fact.orders")]
    assert "add column fact.orders.kind string" in rows[0]["text"]
    assert (rows[1]["blocks"], "3 blocks with 30 rows were built by an earlier transform" in rows[1]["text"]) == (3, True)
    shop.ok("lineage", "apply", "--yes")
    assert shop.ok("restate", "--stale", "--restated-only", "--dry-run").out.startswith("Nothing is stale.")
    plan = shop.ok("restate", "--stale", "--dry-run", "--json").json
    assert [(span["topic"], span["blocks"], span["rows"], span["because"]) for span in plan] == [
        ("fact.orders", 3, 30, "earlier transform"),
        ("mart.totals", 3, 30, "will be stale then"),
    ]
    assert all(span["seconds"] > 0 for span in plan)
    done = shop.ok("restate", "--stale", "--reason", "twice the amount").out
    assert "fact.orders: 3 blocks restated" in done
    assert "mart.totals: 3 blocks restated" in done
    assert shop.ok("lineage", "diff", "--json").json == []
    assert "Nothing is stale" in shop.ok("restate", "--stale", "--reason", "again").out
    assert shop.ok("verify", "--json").json == []
