"""The definitions say what the Lineage says, with and without a control store."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from dagster import AssetKey, TableSchema

from dwh_assets.config.lineage_files import load_lineage
from dwh_assets.config.settings import load_settings
from dwh_assets.orchestration.graph import definitions
from dwh_assets.orchestration.names import table_keys
from dwh_assets.orchestration.project import Project, load_project
from dwh_assets.orchestration.specs import check_specs, module_spec
from tests.engine.project import rows
from tests.orchestration.dag import Dag

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def demo(tmp_path: Path) -> Project:
    settings = load_settings(home=tmp_path, project=REPOSITORY)
    files = load_lineage(settings.lineage_folder, settings.transforms_folder)
    columns = {"fact.payments": [{"name": "amount", "type": "decimal(12,2)"}]}
    return Project(files, settings, "a test", columns)


def test_every_module_and_source_is_an_asset_and_every_dependency_an_edge(demo: Project) -> None:
    graph = definitions(demo).resolve_asset_graph()
    for module in demo.lineage.modules:
        (key,) = [k for k in table_keys(demo.lineage, module.table) if len(k.path) == 2 or k.path[-1] == module.tag]
        expected = {parent for table in module.inputs for parent in table_keys(demo.lineage, table)}
        assert graph.get(key).parent_keys == expected
    assert {AssetKey(source.name.split(".")) for source in demo.lineage.sources} <= graph.external_asset_keys


def test_an_asset_shows_what_its_file_says(demo: Project) -> None:
    module = demo.lineage.module("fact.payments")
    spec = module_spec(demo, module)
    assert (spec.key, spec.group_name, list(spec.owners)) == (AssetKey(["fact", "payments"]), "fact", ["team:finance"])
    assert spec.kinds == {"spark", "iceberg", "sql"}
    assert spec.description is not None
    assert spec.description.startswith("Payments of web orders")
    assert "select paid_at, payment_id" in spec.description
    schema = spec.metadata["dagster/column_schema"]
    assert isinstance(schema, TableSchema)
    assert (schema.columns[0].name, schema.columns[0].description) == ("amount", "euro")
    assert spec.freshness_policy is not None
    assert spec.code_version
    assert {check.name for check in check_specs(module)} == {
        "block_rows", "nulls", "late_rows", "freshness", "not_null_order_id", "not_null_amount", "unique_payment_id",
    }  # fmt: skip


def test_a_transform_that_is_gone_is_told_in_the_description_and_hides_no_other_asset(demo: Project, tmp_path: Path) -> None:
    elsewhere = Project(demo.lineage, demo.settings.model_copy(update={"project": tmp_path}), "a test")
    spec = module_spec(elsewhere, demo.lineage.module("fact.payments"))
    assert spec.description is not None
    assert spec.description.startswith("Payments of web orders")
    assert "**It cannot be loaded now.** transform fact/payments.sql: its file" in spec.description
    assert spec.code_version is None
    assert definitions(elsewhere).resolve_asset_graph()


def test_a_batch_is_a_job_and_its_frequency_a_schedule(demo: Project) -> None:
    made = definitions(demo)
    assert made.resolve_job_def("batch_month_end").description
    schedule = made.resolve_schedule_def("at_month_end")
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("0 4 1 * *", "Europe/Berlin")


def test_a_batch_loads_its_modules_until_they_are_dry(dag: Dag) -> None:
    dag.project.source("src.batched")
    dag.project.append("src.batched", rows(0, 10))
    dag.project.module("batched.rows", "src.batched", maxstep="5", stretch="1")
    dag.project.write("lineage/batches/all.yaml", "batch: all_of_it\nmodules: [batched.rows]\n")
    dag.project.apply()
    job = definitions(Project(dag.project.lineage(), dag.loaded.settings, "a test")).resolve_job_def("batch_all_of_it")
    assert job.execute_in_process(instance=dag.instance).success
    assert dag.loaded_keys("batched.rows") == {"20260301-000001", "20260301-000002"}


def test_without_a_control_store_the_definitions_come_from_the_files_and_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("DWH_HOME", str(tmp_path))
    monkeypatch.setenv("DWH_PROJECT", str(REPOSITORY))
    monkeypatch.delenv("DWH_POSTGRES_URL", raising=False)
    project = load_project()
    assert project.origin.startswith("the files of this project: no Lineage is in force yet")
    assert "definitions come from the files" in caplog.text
    assert not (tmp_path / "postgres").exists()
    assert module_spec(project, project.lineage.modules[0]).metadata["dwh/lineage"] == project.origin


def test_the_lineage_in_force_counts_once_there_is_one(dag: Dag, monkeypatch: pytest.MonkeyPatch) -> None:
    dag.project.source("src.forced")
    dag.project.module("forced.rows", "src.forced", repeat="2min", delay="30s")
    dag.project.apply()
    dag.project.remove("forced.rows")
    monkeypatch.setenv("DWH_PROJECT", str(dag.project.folder))
    project = load_project()
    module = project.lineage.module("forced.rows")
    assert module.repeat == timedelta(minutes=2)
    assert [column["name"] for column in project.columns["forced.rows"]] == ["pos", "id", "k", "v"]
    assert project.origin.startswith("the Lineage in force at")


def test_dagster_validates_a_clean_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DWH_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DWH_POSTGRES_URL", raising=False)
    command = [sys.executable, "-m", "dagster", "definitions", "validate", "-w", str(REPOSITORY / "workspace.yaml")]
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "All code locations passed validation" in ended.stderr + ended.stdout
