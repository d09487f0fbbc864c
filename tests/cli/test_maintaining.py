"""dwh maintain, as a person types it."""

from __future__ import annotations

from tests.cli.conftest import Project


def test_maintenance_says_what_it_would_do_and_what_it_did(project: Project) -> None:
    project.ok("lineage", "apply", "--yes")
    project.dwh("run", "--until-dry")
    project.environment["DWH_SNAPSHOTS_FOR"] = "1s"
    project.environment["DWH_COMPACT_FILES"] = "2"
    rehearsed = project.ok("maintain", "compact", "expire_snapshots", "--dry-run", "--json").json
    assert {(entry["task"], entry["dry_run"]) for entry in rehearsed} == {("compact", True), ("expire_snapshots", True)}
    told = project.ok("maintain", "expire_snapshots", "remove_orphans", "prune_control").out
    assert "expire_snapshots" in told
    assert "snapshots" in told
    assert "Nothing is old or small enough." in project.ok("maintain", "remove_orphans", "prune_control").out
    assert project.ok("verify", "--json").json == []


def test_an_unknown_task_or_table_is_refused(loaded: Project) -> None:
    unknown = loaded.dwh("maintain", "vacuum")
    assert (unknown.code, "the tasks are keep, compact" in unknown.err) == (2, True)
    outside = loaded.dwh("maintain", "--table", "stage.orders")
    assert (outside.code, "stage.orders is not built here" in outside.err) == (2, True)
