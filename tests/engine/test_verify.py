"""Verify finds planted damage of every kind, and nothing where there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dwh_assets.engine import verify
from tests.engine.project import Project, at, rows

TABLE, SOURCE = "v.rows", "src.v"
Damage = Callable[[Project], object]


def _spark(statement: str) -> Damage:
    """A statement on main, past every protection of the engine."""
    return lambda project: project.engine.session().sql(statement)


DAMAGE: dict[str, tuple[Damage, str, str]] = {
    "a row is gone": (
        _spark("delete from dwh.v.rows where v = 1"),
        "I1",
        "holds 2 rows of this block, the ledger says 3",
    ),
    "a row is doubled": (
        _spark("insert into dwh.v.rows select * from dwh.v.rows where v = 1"),
        "I1",
        "holds 4 rows of this block, the ledger says 3",
    ),
    "a row of an unknown block": (
        _spark("insert into dwh.v.rows select pos, id, k, v, 999999L, _execution, _loaded_at from dwh.v.rows where v = 1"),
        "I5",
        "shows 1 rows of a block that is unknown",
    ),
    "another cursor": (
        lambda p: p.engine.database.execute("update dwh.topic set last_id = 77"),
        "I3",
        "but the last finished block ends at",
    ),
    "another count in the ledger": (
        lambda p: p.engine.database.execute("update dwh.load_stat set rows = rows + 1 where max_id = 2"),
        "I1",
        "holds 3 rows of this block, the ledger says 4",
    ),
    "source rows are gone": (
        lambda p: p.engine.catalog.load(SOURCE).delete("v == 4"),
        "I1",
        "src.v holds 2 rows",
    ),
    "an attempt without an end": (
        lambda p: p.engine.database.execute(
            "update dwh.execution set execution_code = 'Executing', ended_at = null "
            "where id = (select max(id) from dwh.execution)"
        ),
        "I6",
        "is Executing, but nobody holds the topic",
    ),
}


@pytest.fixture
def loaded(own_project: Project) -> Project:
    own_project.source(SOURCE)
    own_project.append(SOURCE, rows(0, 6))
    own_project.module(TABLE, SOURCE, maxstep="3", stretch="1")
    own_project.apply()
    own_project.load()
    return own_project


def test_a_sound_warehouse_has_no_findings_and_each_damage_is_named(loaded: Project) -> None:
    """One warehouse for all: each damage is undone in the catalog and in the control store before the next."""
    assert loaded.verify() == []
    database = loaded.engine.database
    saved = "select table_namespace as s, table_name as n, metadata_location as l from iceberg.iceberg_tables"
    pointers = database.fetch(saved)
    tables = ("topic", "load_stat", "execution")
    for table in tables:
        database.execute(f"create table saved_{table} as select * from dwh.{table}".encode())
    for name, (damage, invariant, text) in DAMAGE.items():
        damage(loaded)
        found = loaded.verify()
        assert any(f.invariant == invariant and text in f.text and f.severity == "error" for f in found), (name, found)
        for pointer in pointers:
            database.execute(
                "update iceberg.iceberg_tables set metadata_location = %(l)s "
                "where table_namespace = %(s)s and table_name = %(n)s",
                **pointer,
            )
        database.execute("update dwh.topic t set last_id = s.last_id from saved_topic s where s.id = t.id")
        database.execute("update dwh.load_stat l set rows = s.rows from saved_load_stat s where s.block_id = l.block_id")
        database.execute(
            "update dwh.execution e set execution_code = s.execution_code, ended_at = s.ended_at from saved_execution s "
            "where s.id = e.id"
        )
    assert loaded.verify() == []
    assert loaded.cursor(TABLE).pos == at(5)


def test_blocks_that_are_committed_while_it_looks_are_no_findings(loaded: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    count = verify.rows_and_writers
    arrived = iter(range(6, 100))

    def count_while_another_block_is_committed(*asked: Any) -> Any:
        seen, number = count(*asked), next(arrived)
        loaded.append(SOURCE, rows(number, number + 1))
        loaded.load()
        return seen

    monkeypatch.setattr(verify, "rows_and_writers", count_while_another_block_is_committed)
    assert loaded.verify() == []
    assert next(arrived) == 8  # it looked twice
    loaded.engine.database.execute("update dwh.load_stat set rows = rows + 1 where max_id = 2")
    assert [finding.text for finding in loaded.verify()] == [f"{TABLE} holds 3 rows of this block, the ledger says 4"]
