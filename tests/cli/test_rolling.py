"""dwh rollback, as a person uses it: what goes, what it is refused for, and what is there afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.server import SparkServer
from tests.cli.conftest import Project, project_on, write_files

SMALL = "maxstep: 10\nstretch: 1\nrepeat: 1ms\n"
KEYED = "select pos, id, amount % 4 as k, amount as v from {{ block }}\n"
FILES = {
    "lineage/fact/orders.yaml": f"table: fact.orders\ndepends_on: [stage.orders]\n{SMALL}",
    "lineage/mart/totals.yaml": f"table: mart.totals\ndepends_on: [fact.orders]\n{SMALL}",
    "lineage/mart/whole.yaml": f"table: mart.whole\ndepends_on: [fact.orders]\nprocessor: reload\nallow_truncate: true\n{SMALL}",
    "lineage/dim/past.yaml": f"table: dim.past\ndepends_on: [stage.orders]\nprocessor: history\nkey: [k]\n{SMALL}",
    "lineage/dim/now.yaml": f"table: dim.now\ndepends_on: [stage.orders]\nprocessor: upsert\nkey: [k]\n{SMALL}",
    "sql/transforms/mart/whole.sql": "select count(*) as n from fact.orders\n",
    "sql/transforms/dim/past.sql": KEYED,
    "sql/transforms/dim/now.sql": KEYED,
}


@pytest.fixture(scope="module")
def shop(
    postgres_url: str, template: str, spark_server: SparkServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    """Three blocks of ten rows in each table; every test leaves it as it found it."""
    with project_on(postgres_url, template, spark_server.start(), tmp_path_factory.mktemp("rolling")) as made:
        write_files(made.folder, **FILES)
        made.deliver(range(1, 31))
        made.ok("lineage", "apply", "--yes")
        load(made)
        yield made


def load(project: Project) -> None:
    """The base first, so that what is built upon it has the same blocks each time."""
    project.ok("run", "--until-dry", "--topic", "fact.orders")
    project.ok("run", "--until-dry")


def rows(project: Project, table: str, *columns: str) -> list[tuple[Any, ...]]:
    catalog = Catalog(project.environment["DWH_POSTGRES_URL"], str(project.folder / ".dwh" / "warehouse"))
    found = catalog.load(table).scan().to_arrow().to_pylist()
    catalog.close()
    return sorted(tuple(row[name] for name in columns) for row in found)


def blocks(project: Project, topic: str) -> list[dict[str, Any]]:
    return project.ok("blocks", topic, "--json").json


def finished(project: Project, topic: str) -> list[int]:
    return [block["seq"] for block in blocks(project, topic) if block["status"] in ("committed", "stale")]


def sound_again(project: Project, topic: str) -> None:
    """Nothing is wrong now; and all comes back when it is loaded again."""
    assert project.ok("verify", "--json").json == []
    load(project)
    if project.ok("status", "--json", "-t", topic).json[0]["stale_blocks"]:
        project.ok("restate", "--stale", "--reason", "rebuild")
    assert finished(project, topic) == [1, 2, 3]
    assert project.ok("verify", "--json").json == []


def test_what_others_have_built_upon_goes_only_on_demand_and_downstream_first(shop: Project) -> None:
    first = blocks(shop, "fact.orders")[0]["id"]
    shown = shop.ok("rollback", "fact.orders", "--to", f"#{first}", "--dry-run", "--json").json
    assert sorted((t["topic"], t["becomes"], t["upon"]) for t in shown["taken"][:-1]) == [
        ("mart.totals", "taken back", "fact.orders"),
        ("mart.whole", "stale", "fact.orders"),
    ]
    assert [(b["seq"], b["rows"]) for b in shown["taken"][-1]["blocks"]] == [(2, 10), (3, 10)]
    assert "becomes" in shop.ok("rollback", "fact.orders", "--to", f"#{first}", "--dry-run").out

    refused = shop.dwh("rollback", "fact.orders", "--to", f"#{first}", "--reason", "wrong prices")
    assert refused.code == 2
    totals = [block["id"] for block in blocks(shop, "mart.totals") if block["seq"] > 1]
    assert f"mart.totals: #{totals[0]}, #{totals[1]}" in refused.err
    assert "mart.whole: #" in refused.err
    assert finished(shop, "fact.orders") == [1, 2, 3]

    told = shop.ok("rollback", "fact.orders", "--to", f"#{first}", "--cascade", "--reason", "wrong prices").out
    assert "fact.orders: 2 blocks with 20 rows are taken back." in told
    assert "mart.whole: stale until rebuilt" in told
    assert (finished(shop, "fact.orders"), finished(shop, "mart.totals")) == ([1], [1])
    assert rows(shop, "fact.orders", "id") == [(n,) for n in range(1, 11)]
    assert len(rows(shop, "mart.totals", "id")) == 1
    acts = [e for e in shop.ok("log", "--events", "--json", "-n", "50").json if e["code"] == "ROLLBACK"]
    assert [(e["topic"], e["text"]) for e in acts[-2:]] == [
        ("mart.totals", "blocks 2 to 3: built upon fact.orders: wrong prices"),
        ("fact.orders", "blocks 2 to 3: wrong prices"),
    ]
    sound_again(shop, "fact.orders")
    assert finished(shop, "mart.totals") == [1, 2, 3]
    assert rows(shop, "mart.whole", "n") == [(30,)]


def test_a_history_reopens_what_the_blocks_had_closed_and_an_upsert_goes_back_to_the_state_that_stays(shop: Project) -> None:
    versions, states = rows(shop, "dim.past", "v"), rows(shop, "dim.now", "k", "v")
    for table in ("dim.past", "dim.now"):
        shop.ok("rollback", table, "--to", f"#{blocks(shop, table)[0]['id']}", "--reason", "wrong keys")
        assert finished(shop, table) == [1]
    assert rows(shop, "dim.past", "v", "is_current") == [(n, n > 6) for n in range(1, 11)]
    assert rows(shop, "dim.now", "k", "v") == [(0, 8), (1, 9), (2, 10), (3, 7)]
    sound_again(shop, "dim.past")
    assert finished(shop, "dim.now") == [1, 2, 3]
    assert (rows(shop, "dim.past", "v"), rows(shop, "dim.now", "k", "v")) == (versions, states)


def test_an_execution_is_taken_back_with_all_after_it_while_its_transform_is_broken(shop: Project) -> None:
    second = blocks(shop, "mart.totals")[1]["id"]
    executions = shop.ok("block", str(second), "--json").json["executions"]
    transform = shop.folder / "sql/transforms/mart/totals.sql"
    text = transform.read_text()
    transform.write_text("select no_such_column from {{ block }}")
    shop.ok("rollback", "mart.totals", "--instance", str(executions[-1]["id"]), "--reason", "a bad release")
    transform.write_text(text)
    assert finished(shop, "mart.totals") == [1]
    gone = shop.dwh("rollback", "mart.totals", "--instance", str(executions[-1]["id"]), "--reason", "again")
    assert (gone.code, "no block holds rows of it" in gone.err) == (2, True)
    void = shop.dwh("rollback", "mart.totals", "--to", f"#{second}", "--reason", "again")
    assert (void.code, "was taken back before" in void.err) == (2, True)
    sound_again(shop, "mart.totals")


def test_a_table_is_emptied_only_where_its_file_allows_it(shop: Project) -> None:
    refused = shop.dwh("rollback", "fact.orders", "--all", "--reason", "start over")
    assert (refused.code, "its file does not say allow_truncate: true" in refused.err) == (2, True)
    partly = shop.dwh("rollback", "mart.whole", "--to", f"#{blocks(shop, 'mart.whole')[0]['id']}", "--reason", "back")
    assert (partly.code, "is rebuilt as a whole with each block" in partly.err) == (2, True)
    shop.ok("rollback", "mart.whole", "--all", "--reason", "start over")
    assert rows(shop, "mart.whole", "n") == []
    assert shop.ok("verify", "--json").json == []
    shop.ok("run", "--until-dry")
    assert rows(shop, "mart.whole", "n") == [(30,)]
    assert shop.ok("verify", "--json").json == []


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["fact.orders"], "say what goes, in one way"),
        (["fact.orders", "--all", "--to", "#1"], "say what goes, in one way"),
        (["fact.orders", "--to", "2026-01-31"], "nothing to take back"),
        (["fact.orders", "--instance", "999999"], "there is no execution 999999"),
        (["fact.ordres", "--all"], "Did you mean fact.orders"),
    ],
)
def test_a_rollback_that_cannot_be_meant_changes_nothing(shop: Project, arguments: list[str], text: str) -> None:
    answer = shop.dwh("rollback", *arguments, "--reason", "x")
    assert answer.code == 2
    assert text in answer.err
    assert finished(shop, "fact.orders") == [1, 2, 3]
