"""Maintenance beside loading: readers notice nothing, loading has precedence, and what is needed stays."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dwh_assets.engine import compact as compaction
from dwh_assets.engine import exchange
from dwh_assets.engine.jobs import Result
from dwh_assets.engine.maintenance import maintain
from dwh_assets.engine.sweep import sweep
from dwh_assets.engine.verify import verify
from dwh_assets.model.errors import ActRefused, ConfigError, DamagedData
from dwh_assets.model.failpoints import FailpointError
from dwh_assets.model.module import Lineage
from dwh_assets.warehouse.branches import fork, live
from dwh_assets.warehouse.manifests import data_files
from dwh_assets.warehouse.publish import snapshot_of
from tests.engine.project import Project, rows

MOMENT = timedelta(microseconds=1)
EVERYTHING = [(n, f"k{n % 3}", n) for n in range(20)]


class PowerCut(BaseException):
    """Ends a process without a word."""


@pytest.fixture(autouse=True)
def ages(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everything is old. Each test applies only its own modules: they take the place of those of the test before."""
    changed = {"compact_files": 3, "snapshots_for": MOMENT, "orphans_after": timedelta(days=1)}
    monkeypatch.setattr(project.engine, "settings", project.engine.settings.model_copy(update=changed))
    yield
    for file in (project.folder / "lineage").rglob("*.yaml"):
        file.unlink()


def _loaded(project: Project, name: str, **fields: Any) -> str:
    """A table of five blocks, each with a file of its own, all of one day."""
    source, table = project.source(f"src.{name}"), f"m.{name}"
    project.append(source, rows(0, 20))
    project.module(table, source, **({"maxstep": "4", "stretch": "1"} | fields))
    project.apply()
    project.load(table)
    return table


def _maintain(project: Project, table: str, *tasks: str, **options: Any) -> list[Result]:
    return list(maintain(project.engine, project.engine.lineage.active(), tasks, table, **options))


def _files(project: Project, table: str) -> int:
    return len(data_files(project.engine.catalog, table, snapshot_of(project.engine.catalog, table)))


def _findings(project: Project, *tables: str) -> list[Any]:
    active = project.engine.lineage.active()
    modules = tuple(module for module in active.modules if module.table in tables)
    return [finding for finding in verify(project.engine, Lineage(modules, active.sources)) if finding.topic in tables]


def _at_check(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let something happen when a compaction is staged and not yet published."""
    check = compaction.same_content

    def meanwhile(*arguments: Any) -> bool:
        act()
        return check(*arguments)

    monkeypatch.setattr(compaction, "same_content", meanwhile)


def test_compaction_leaves_the_same_rows_in_fewer_files_and_readers_of_the_old_snapshot_notice_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = _loaded(project, "reader")
    old = snapshot_of(project.engine.catalog, table)
    reader = project.engine.session().read.option("versionAsOf", str(old)).table(f"dwh.{table}")
    seen: list[int] = []
    _at_check(monkeypatch, lambda: seen.append(reader.count()))
    told: list[tuple[str, int, int]] = []
    (result,) = _maintain(project, table, "compact", report=lambda *entry: told.append(entry))
    assert result.figures == {"days": 1, "files": 5, "files_after": 1, "rows": 20}
    assert (_files(project, table), seen, reader.count()) == (1, [20], 20)
    assert project.rows(table) == EVERYTHING
    assert told[0] == (f"compact {table} 2026-03-01", 0, 1)
    assert live(project.engine.catalog, table) == []
    assert _findings(project, table) == []
    assert _maintain(project, table, "compact")[0].figures["days"] == 0


def test_blocks_that_are_loaded_while_a_compaction_is_staged_are_not_lost_and_do_not_stop_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = _loaded(project, "rival")

    def load() -> None:
        project.append("src.rival", rows(20, 28))
        assert [outcome.result for outcome in project.load(table)] == ["committed", "committed"]

    _at_check(monkeypatch, load)
    (result,) = _maintain(project, table, "compact")
    assert (result.ended, result.figures["files"]) == ("done", 5)
    assert len(project.rows(table)) == 28
    assert _files(project, table) == 3
    assert _findings(project, table) == []


def test_rows_that_are_restated_under_a_compaction_win(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    table = _loaded(project, "restated")
    monkeypatch.setattr(exchange, "STAGES", 2)
    _at_check(monkeypatch, lambda: project.restate(table, 2, 3))
    (result,) = _maintain(project, table, "compact")
    assert (result.ended, result.figures["files"]) == ("gave up", 0)
    assert project.rows(table) == EVERYTHING
    assert live(project.engine.catalog, table) == []
    assert _findings(project, table) == []


def test_a_table_whose_rows_are_being_replaced_is_left_alone(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    table = _loaded(project, "held")
    monkeypatch.setattr(exchange, "STAGES", 1)
    monkeypatch.setattr(exchange, "POINTERS", 2)
    hold = "update dwh.target set lease_topic = 1, lease_token = 1, lease_until = now() + %(for)s where name = %(table)s"
    project.engine.database.execute(hold, table=table, **{"for": timedelta(hours=1)})
    head = snapshot_of(project.engine.catalog, table)
    assert _maintain(project, table, "compact")[0].ended == "gave up"
    assert snapshot_of(project.engine.catalog, table) == head
    project.engine.database.execute(hold, table=table, **{"for": timedelta(hours=-1)})
    assert _maintain(project, table, "compact")[0].ended == "done"


def test_a_day_that_a_begun_block_writes_is_not_compacted(project: Project) -> None:
    table = _loaded(project, "begun")
    project.append("src.begun", rows(20, 24))
    project.tick()
    claim = project.engine.claims.claim(table)
    assert _maintain(project, table, "compact")[0].figures["days"] == 0
    project.engine.claims.fail(claim, "a test", counts=False)
    project.load(table)
    assert _maintain(project, table, "compact")[0].figures["days"] == 1


@pytest.mark.parametrize("damage", ["DELETE FROM {} WHERE v = 7", "UPDATE {} SET k = NULL WHERE v = 7"])
def test_a_rewrite_that_changes_rows_is_refused(project: Project, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    table = _loaded(project, damage.split()[0].lower())
    rewrite = compaction.rewrite

    def damaged(session: Any, forked: Any, *others: Any) -> None:
        rewrite(session, forked, *others)
        session.sql(damage.format(f"dwh.{table}.branch_{forked.branch}"))

    monkeypatch.setattr(compaction, "rewrite", damaged)
    with pytest.raises(DamagedData, match="do not hold the same rows"):
        _maintain(project, table, "compact")
    assert project.rows(table) == EVERYTHING
    assert _files(project, table) == 5


def test_a_compaction_that_breaks_off_leaves_a_branch_that_the_next_one_sweeps(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = _loaded(project, "broken")
    monkeypatch.setenv("DWH_FAILPOINTS", "publish.after=raise")
    with pytest.raises(FailpointError):
        _maintain(project, table, "compact")
    assert project.rows(table) == EVERYTHING
    assert len(live(project.engine.catalog, table)) == 1
    monkeypatch.delenv("DWH_FAILPOINTS")
    assert _maintain(project, table, "compact")[0].figures["files"] == 5
    assert live(project.engine.catalog, table) == []
    assert _findings(project, table) == []


def test_a_job_whose_process_is_gone_is_taken_over_when_its_lease_has_run_out(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = _loaded(project, "gone")

    def cut(*_: Any) -> bool:
        raise PowerCut

    with monkeypatch.context() as patch:
        patch.setattr(compaction, "same_content", cut)
        with pytest.raises(PowerCut):
            _maintain(project, table, "compact")
    (left,) = live(project.engine.catalog, table)
    assert _maintain(project, table, "compact")[0].text == "another process is at it"
    assert live(project.engine.catalog, table) == [left], "a job that may live keeps its branch"
    late = "update dwh.maintenance set lease_until = now() - interval '1s' where ended_at is null"
    project.engine.database.execute(late)
    assert _maintain(project, table, "compact")[0].figures["files"] == 5
    assert live(project.engine.catalog, table) == []


def test_a_table_without_days_is_compacted_while_it_is_loaded(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    source = project.source("src.plain")
    project.append(source, rows(0, 20))
    project.module("m.plain", source, "select id, k, v, map(k, v) as m from {{ block }}", maxstep="4", stretch="1")
    project.apply()
    project.load("m.plain")

    def load() -> None:
        project.append(source, rows(20, 24))
        project.load("m.plain")

    _at_check(monkeypatch, load)
    (result,) = _maintain(project, "m.plain", "compact")
    assert (result.ended, result.figures["files"], _files(project, "m.plain")) == ("done", 5, 2)
    assert len(project.rows("m.plain")) == 24
    assert _findings(project, "m.plain") == []


def test_snapshots_expire_but_not_the_head_a_branch_or_what_an_open_attempt_reads(project: Project) -> None:
    table = _loaded(project, "snapshots")
    project.module("m.behind", table)
    project.apply()
    catalog = project.engine.catalog
    read = snapshot_of(catalog, table)
    project.tick()
    claim = project.engine.claims.claim("m.behind")
    project.engine.claims.note_staging(claim, {}, {table: read})
    project.append("src.snapshots", rows(20, 28))
    project.load(table)
    staged = fork(catalog, table, claim.execution_id).snapshot_id
    project.append("src.snapshots", rows(28, 32))
    project.load(table)
    head = snapshot_of(catalog, table)
    (rehearsed,) = _maintain(project, table, "expire_snapshots", rehearsal=True)
    (result,) = _maintain(project, table, "expire_snapshots")
    assert result == rehearsed
    assert result.figures["kept"] == 3
    assert {s.snapshot_id for s in catalog.load(table).metadata.snapshots} == {read, staged, head}
    project.engine.claims.fail(claim, "a test", counts=False)
    assert _maintain(project, table, "expire_snapshots")[0].figures == {"snapshots": 2, "kept": 1}
    project.load()
    assert project.engine.session().table(f"dwh.{table}").count() == 32, "Spark reads what is left"
    assert len(project.rows("m.behind")) == 32
    assert _findings(project, table, "m.behind") == []


def test_a_snapshot_is_kept_for_a_time_after_it_was_current_however_old_it_is(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = _loaded(project, "quiet")
    changed = project.engine.settings.model_copy(update={"snapshots_for": timedelta(seconds=2)})
    monkeypatch.setattr(project.engine, "settings", changed)
    deadline = time.monotonic() + 30
    while _maintain(project, table, "expire_snapshots", rehearsal=True)[0].figures["kept"] > 1:
        assert time.monotonic() < deadline
    old = snapshot_of(project.engine.catalog, table)
    project.append("src.quiet", rows(20, 24))
    project.load(table)
    _maintain(project, table, "expire_snapshots")
    assert project.engine.catalog.load(table).snapshot_by_id(old) is not None, "a reader may have opened it just now"


def test_a_table_that_changes_often_forgets_its_oldest_snapshots_however_young(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = _loaded(project, "busy")
    project.module("m.after", table)
    project.apply()
    engine, read = project.engine, snapshot_of(project.engine.catalog, table)
    project.tick()
    claim = engine.claims.claim("m.after")
    engine.claims.note_staging(claim, {}, {table: read})
    for n in range(20, 36, 4):
        project.append("src.busy", rows(n, n + 4))
        project.load(table)

    def snapshots() -> list[int]:
        return [snapshot.snapshot_id for snapshot in engine.catalog.load(table).metadata.snapshots]

    def swept(most: int) -> list[int]:
        changed = {"snapshots_for": timedelta(days=7), "snapshots_most": most}
        monkeypatch.setattr(engine, "settings", engine.settings.model_copy(update=changed))
        sweep(engine, engine.lineage.active())
        return snapshots()

    before = snapshots()
    assert swept(len(before)) == before, "there are no more than that"
    assert swept(2) == [read, *before[-2:]], "an attempt reads it"
    engine.claims.fail(claim, "a test", counts=False)
    assert swept(1) == before[-1:]
    project.append("src.busy", rows(36, 40))
    project.load()
    assert sorted(n for (n,) in project.rows("m.after", "id")) == list(range(40))
    assert _findings(project, table, "m.after") == []


def test_orphans_go_when_they_are_old_and_nothing_else_goes(project: Project) -> None:
    table = _loaded(project, "orphans")
    folder = Path(project.engine.catalog.load(table).location())
    young, old = folder / "data" / "young.parquet", folder / "data" / "pos_day=2026-03-01" / "old.parquet"
    foreign = folder / "notes.txt"
    for file in (young, old, foreign):
        file.write_text("x")
    _maintain(project, table, "compact", "expire_snapshots")
    everything = [file for file in folder.rglob("*") if file.is_file()]
    for file in set(everything) - {young}:
        os.utime(file, (0, 0))
    (rehearsed,) = _maintain(project, table, "remove_orphans", rehearsal=True)
    assert old.exists()
    (result,) = _maintain(project, table, "remove_orphans")
    assert result == rehearsed
    assert result.figures["files"] > 5, "the file of nobody, and those of the snapshots that have expired"
    assert (young.exists(), old.exists(), foreign.exists()) == (True, False, True)
    assert project.rows(table) == EVERYTHING
    assert project.engine.session().table(f"dwh.{table}").count() == 20
    assert _findings(project, table) == []


def test_keep_removes_old_blocks_that_every_reader_has_passed_and_verify_stays_clean(project: Project) -> None:
    table = _loaded(project, "old", keep="1d")
    project.module("m.after_old", table, maxstep="10", stretch="1")
    project.apply()
    assert _maintain(project, table, "keep")[0].figures == {"blocks": 0, "rows": 0}, "nobody has read them yet"
    assert project.rows(table) == EVERYTHING
    project.load("m.after_old")
    _maintain(project, table, "compact")  # so that files hold blocks that go and blocks that stay
    assert _maintain(project, table, "keep", rehearsal=True)[0].figures == {"blocks": 4, "rows": 16}
    (result,) = _maintain(project, table, "keep")
    assert (result.figures, result.ended) == ({"blocks": 4, "rows": 16}, "done")
    assert project.rows(table) == EVERYTHING[16:], "the block at the reader's cursor stays"
    assert project.rows("m.after_old") == EVERYTHING
    assert _findings(project, table, "m.after_old") == []
    with pytest.raises(ActRefused, match="has no committed blocks"):
        project.restate(table, 1, 3)
    with pytest.raises(ActRefused, match="made anew from what is left, rows of this table would be lost"):
        project.restate("m.after_old", 1, 2)
    project.append("src.old", rows(20, 24))
    project.load()
    assert (len(project.rows(table)), len(project.rows("m.after_old"))) == (8, 24)
    assert _findings(project, table, "m.after_old") == []


def test_keep_waits_for_stale_blocks_and_restatements_of_its_readers(project: Project) -> None:
    table = _loaded(project, "needed", keep="1d")
    project.module("m.after_needed", table, maxstep="10", stretch="1")
    project.apply()
    project.load("m.after_needed")
    stale = (
        "update dwh.block set status = %(status)s where seq = 2 and topic_id = (select id from dwh.topic where name = %(topic)s)"
    )
    project.engine.database.execute(stale, status="stale", topic="m.after_needed")
    assert _maintain(project, table, "keep")[0].figures == {"blocks": 2, "rows": 8}, (
        "the third one ends in the stale block's range"
    )
    project.engine.database.execute(stale, status="committed", topic="m.after_needed")
    assert _maintain(project, table, "keep")[0].figures == {"blocks": 2, "rows": 8}
    assert _findings(project, table) == []


def test_keep_breaks_off_without_a_trace_and_goes_on_the_next_time(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    table = _loaded(project, "cut", keep="1d")
    with monkeypatch.context() as patch:
        patch.setenv("DWH_FAILPOINTS", "publish.after=raise")
        with pytest.raises(FailpointError):
            _maintain(project, table, "keep")
    assert project.rows(table) == EVERYTHING
    assert _findings(project, table) == []
    assert _maintain(project, table, "keep")[0].figures == {"blocks": 5, "rows": 20}
    assert project.rows(table) == []
    assert _findings(project, table) == []


def test_a_table_that_is_not_built_here_is_not_maintained_here(project: Project) -> None:
    with pytest.raises(ConfigError, match=r"src\.x is not built here"):
        _maintain(project, "src.x", "compact")
