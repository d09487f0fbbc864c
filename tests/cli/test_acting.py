from __future__ import annotations

from pathlib import Path

import pytest

from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.manifests import data_files
from dwh_assets.warehouse.publish import snapshot_of
from tests.cli.conftest import Project


@pytest.fixture
def parked(project: Project) -> Project:
    project.ok("lineage", "apply", "--yes")
    answer = project.dwh("run", "--until-dry", "--json")
    assert (answer.code, answer.json["committed"]) == (2, 4)
    assert answer.json["parked"][0]["topic"] == "fact.orders"
    return project


def test_a_parked_block_is_retried_released_restated_and_taken_back(parked: Project):
    third = parked.block_of("fact.orders", 3)["id"]
    assert parked.ok("retry", "fact.orders", "--reason", "look again", "--json").json["block"] == third
    assert parked.dwh("run", "--until-dry", "--topic", "fact.orders").code == 2  # the check still fails

    refused = parked.dwh("release", "fact.orders", "--check", "no_such", "--reason", "x")
    assert refused.code == 2
    assert "its checks are: not_null(amount)" in refused.err
    parked.ok("release", "fact.orders", "--check", "not_null(amount)", "--reason", "a gift")
    parked.ok("run", "--until-dry")
    assert parked.block_of("fact.orders", 3)["status"] == "committed"

    second = parked.block_of("fact.orders", 2)["id"]
    [done] = parked.ok("restate", "fact.orders", "--from", f"#{second}", "--to", f"#{second}", "-r", "again", "--json").json
    assert (done["blocks"], done["result"], done["written"]) == (1, "committed", 10)
    assert "stale blocks: dwh restate mart.totals --stale" in parked.ok("status").out
    assert "mart.totals" in parked.ok("restate", "--stale", "--reason", "rebuild").out
    assert "Nothing is stale" in parked.ok("restate", "--stale", "--reason", "again").out
    assert parked.ok("verify", "--json").json == []

    parked.ok("reset", "fact.orders", "--to", "2026-01-31T00:00:10Z,10", "--reason", "take back")
    assert [b["status"] for b in parked.ok("blocks", "fact.orders", "--json").json] == ["committed"]
    off = parked.dwh("reset", "fact.orders", "--to", "2026-01-31T00:00:05Z", "--reason", "between")
    assert off.code == 2
    assert "is not the end of a block" in off.err
    parked.ok("reset", "fact.orders", "--to", "2026-01-31T00:00:28Z", "--reason", "leave out")
    assert parked.block_of("fact.orders", 2)["status"] == "skipped"
    acts = [event["code"] for event in parked.ok("log", "--events", "--json", "-n", "100").json if event["kind"] == "act"]
    assert acts[-6:] == ["RETRY", "RELEASE", "RESTATE", "RESTATE", "ROLLBACK", "RESET"]


def test_a_damaged_block_is_repaired_by_its_number(parked: Project):
    first, third = (parked.block_of("fact.orders", number)["id"] for number in (1, 3))
    [file] = _files_of(parked, "fact.orders", first)
    file.write_bytes(file.read_bytes()[:-100])
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    broken = parked.dwh("verify", "--json")
    assert broken.code == 1
    assert any(f"dwh repair {first} --reason" in finding["text"] for finding in broken.json)

    assert "name one block" in parked.dwh("repair", "--reason", "x").err
    refused = parked.dwh("repair", str(third), "--reason", "x")
    assert refused.code == 2
    assert f"block #{third} of fact.orders is parked: it has no rows to repair. Nothing was changed." in refused.err

    answer = parked.ok("repair", str(first), "--reason", "a bad disk", "--yes")
    assert f"fact.orders: block #{first} was loaded again" in answer.out
    assert parked.ok("verify", "--deep", "--json").json == []
    acts = [event for event in parked.ok("log", "--events", "--json").json if event["kind"] == "act"]
    assert acts[-1]["text"] == f"blocks 1 to 1: repair of block #{first}: a bad disk"


def _files_of(project: Project, table: str, block: int) -> list[Path]:
    catalog = Catalog(project.environment["DWH_POSTGRES_URL"], str(project.folder / ".dwh" / "warehouse"))
    found = data_files(catalog, table, snapshot_of(catalog, table))
    catalog.close()
    return [Path(file.path.removeprefix("file://").removeprefix("file:")) for file in found if file.lower["_block"] == block]


def test_a_parked_block_is_skipped_and_late_rows_are_loaded(parked: Project):
    assert parked.ok("unlock", "fact.orders", "--reason", "to be sure", "--json").json["worker"] is None
    parked.ok("skip", "fact.orders", "--reason", "worthless")
    assert parked.block_of("fact.orders", 3)["status"] == "skipped"
    parked.ok("run", "--until-dry")
    assert parked.ok("status", "-t", "fact.orders", "--json").json[0]["verdict"] == "WAIT_DEP"

    parked.deliver(range(5, 6))
    [done] = parked.ok("restate", "fact.orders", "--late", "--reason", "late delivery", "--json").json
    assert done["written"] == 11


@pytest.mark.parametrize(
    "act", ["reset --to now", "unlock", "retry", "skip", "release --check c", "restate --late", "rollback --all"]
)
def test_an_act_without_a_reason_is_refused_before_anything_is_opened(files: Project, act: str):
    name, *rest = act.split()
    answer = files.dwh(name, "fact.orders", *rest)
    assert answer.code == 2
    assert "say why with --reason" in answer.err
    assert not (files.folder / ".dwh").exists()
