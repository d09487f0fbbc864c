"""The completeness audit: changed base rows of old blocks are found, told of and loaded again, and nothing else is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from dwh_assets.engine.audit import Audit, Finding, audit_round, audited_topics, heal
from dwh_assets.engine.maintenance import maintain
from dwh_assets.model.module import Lineage
from dwh_assets.warehouse.expiring import expire
from tests.engine.project import Project, at, rows

LAKE, SHOP = "a.lake", "a.shop"
NEVER = lambda: False  # noqa: E731


@pytest.fixture
def loaded(own_project: Project, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The same twelve rows in a table of files and in one of Postgres, in blocks of three."""
    monkeypatch.setenv("SHOP_URL", database_url)
    own_project.source("src.lake")
    own_project.append("src.lake", rows(0, 12))
    run(own_project, "create schema shop; create table shop.orders (pos timestamptz, id bigint, k text, v bigint, j json)")
    run(own_project, "create index on shop.orders (pos, id)")
    for row in rows(0, 12):
        run(own_project, "insert into shop.orders values (%s, %s, %s, %s, '{}')", row["pos"], int(row["id"]), row["k"], row["v"])
    own_project.write(
        "lineage/sources/src.shop.yaml", "name: src.shop\nkind: postgres\nrelation: shop.orders\nurl_env: SHOP_URL\n"
    )
    own_project.module(LAKE, "src.lake", maxstep="3", stretch="1")
    own_project.module(SHOP, "src.shop", maxstep="3", stretch="1")
    own_project.apply()
    own_project.load()
    assert [len(own_project.blocks(topic)) for topic in (LAKE, SHOP)] == [4, 4]
    return own_project


def run(project: Project, statement: str, *params: Any) -> None:
    with psycopg.connect(project.engine.postgres_url, autocommit=True) as connection:
        connection.execute(statement.encode(), params or None)


def audit(project: Project) -> list[Finding]:
    """Look at every block once, and queue what is to be healed."""
    lineage = project.engine.lineage.active()
    topics = audited_topics(lineage)
    round_ = Audit(project.engine, lineage, topics)
    now = project.engine.database.clock()
    round_.run(now, now)
    list(heal(project.engine, topics))
    return sorted(round_.findings, key=lambda finding: (finding.topic, finding.block_id))


def told(project: Project) -> list[int]:
    project.engine.alerts.find()
    return sorted(
        alert["block_id"] for alert in project.engine.alerts.listed() if alert["kind"] == "audit" and not alert["resolved_at"]
    )


def found(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.topic, finding.found) for finding in findings]


def healed(project: Project) -> None:
    """One block of a topic is queued at a time."""
    for _ in range(4):
        list(heal(project.engine, audited_topics(project.engine.lineage.active())))
        project.load()


def test_planted_inserts_updates_and_deletes_in_old_blocks_are_found_and_healed(loaded: Project) -> None:
    assert audit(loaded) == audit(loaded) == []
    spark = loaded.engine.session()
    run(loaded, "insert into shop.orders values (%s, 100, 'late', 100, '{}')", at(1.5))
    run(loaded, "update shop.orders set v = 77 where id = 4")
    run(loaded, "update shop.orders set j = '{\"a\": 1}' where id = 7")
    run(loaded, "delete from shop.orders where id = 11")
    loaded.append("src.lake", [{"pos": at(1.5), "id": 100, "k": "late", "v": 100}])
    spark.sql("update dwh.src.lake set v = 77 where id = 4")
    spark.sql("delete from dwh.src.lake where id = 11")
    findings = audit(loaded)
    kinds = [
        (LAKE, "more"),
        (LAKE, "values"),
        (LAKE, "fewer"),
        (SHOP, "more"),
        (SHOP, "values"),
        (SHOP, "values"),
        (SHOP, "fewer"),
    ]
    assert found(findings) == kinds
    assert told(loaded) == sorted(finding.block_id for finding in findings)
    assert loaded.restatements(LAKE) == loaded.restatements(SHOP) == [(1, 1, "open")]  # just that block
    healed(loaded)
    values = sorted([0, 1, 2, 3, 77, 5, 6, 7, 8, 9, 10, 100])
    assert sorted(v for (v,) in loaded.rows(SHOP, "v")) == sorted(v for (v,) in loaded.rows(LAKE, "v")) == values
    assert audit(loaded) == [] == told(loaded)
    assert loaded.verify() == []


def test_what_is_no_change_raises_no_alarm(loaded: Project) -> None:
    """Rows rewritten into other files, a new column, an expired snapshot; but an update after all that is found."""
    assert audit(loaded) == []
    spark = loaded.engine.session()
    run(loaded, "alter table shop.orders add column more int default 5")
    spark.sql("alter table dwh.src.lake add column more int")
    spark.sql("update dwh.src.lake set k = k")  # other files with the same values
    assert audit(loaded) == []
    expire(loaded.engine.catalog, "src.lake", loaded.engine.database.clock(), 1000, set)
    spark.sql("update dwh.src.lake set v = v where id = 4")
    assert audit(loaded) == []
    spark.sql("update dwh.src.lake set v = 78 where id = 4")
    run(loaded, "delete from shop.orders where id < 3")  # purged there, not to be lost here
    assert found(audit(loaded)) == [(LAKE, "values"), (SHOP, "gone")]
    healed(loaded)
    assert sorted(v for (v,) in loaded.rows(LAKE, "v")) == sorted([*range(4), 78, *range(5, 12)])
    assert sorted(v for (v,) in loaded.rows(SHOP, "v")) == list(range(12))


def test_a_policy_of_alert_tells_and_changes_nothing_and_off_does_not_look(loaded: Project) -> None:
    loaded.module(LAKE, "src.lake", maxstep="3", stretch="1", audit='"off"')
    loaded.module(SHOP, "src.shop", maxstep="3", stretch="1", audit="alert", keep="1h")
    loaded.apply()
    list(maintain(loaded.engine, loaded.engine.lineage.active(), ["keep"], SHOP))
    loaded.load()
    run(loaded, "update shop.orders set v = v + 1")
    assert audit(loaded) == []  # what has expired here is no concern any more
    run(loaded, "update dwh.block set expired_at = null")
    run(loaded, "update dwh.load_stat set audited_at = null")
    findings = audit(loaded)
    assert found(findings) == [(SHOP, "values")] * 4
    assert "dwh repair" in findings[0].text
    assert loaded.restatements(SHOP) == loaded.restatements(LAKE) == []
    run(loaded, "update shop.orders set v = v - 1")
    assert audit(loaded) == [] == told(loaded)  # it is as it was


def test_a_round_reads_no_more_than_its_share_newest_first_and_the_next_goes_on(
    loaded: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    lineage = loaded.engine.lineage.active()
    limited = loaded.engine.settings.model_copy(update={"audit_rows": 10})
    monkeypatch.setattr(loaded.engine, "settings", limited)
    only = Lineage(tuple(m for m in lineage.modules if m.name == SHOP), lineage.sources)
    assert audit_round(loaded.engine, only, 0.4, NEVER) == []
    assert audited(loaded) == [4]
    audit_round(loaded.engine, only, 1.0, lambda: True)
    assert audited(loaded) == [4]  # while others wait
    audit_round(loaded.engine, only, 1.0, NEVER)
    assert audited(loaded) == [2, 3, 4]
    audit_round(loaded.engine, only, 1.0, NEVER)
    assert audited(loaded) == [1, 2, 3, 4]
    audit_round(loaded.engine, only, 1.0, NEVER)
    assert len(loaded.engine.database.fetch("select from dwh.maintenance where task = 'audit'")) == 4  # nothing was left to do


def audited(project: Project) -> list[int]:
    query = "select b.seq from dwh.load_stat s join dwh.block b on b.id = s.block_id where s.audited_at is not null order by 1"
    return [row["seq"] for row in project.engine.database.fetch(query)]


def test_the_hour_is_all_that_a_round_may_use(loaded: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded.engine, "settings", loaded.engine.settings.model_copy(update={"audit_rows": 3}))
    lineage = loaded.engine.lineage.active()
    audit_round(loaded.engine, lineage, 1.0, NEVER)
    seen = audited(loaded)
    assert seen
    audit_round(loaded.engine, lineage, 1.0, NEVER)
    assert audited(loaded) == seen
    run(loaded, "update dwh.maintenance set started_at = started_at - %s", timedelta(hours=2))
    audit_round(loaded.engine, lineage, 1.0, NEVER)
    assert len(audited(loaded)) > len(seen)
