from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dwh_assets.config.machine import free_port
from tests.cli.conftest import Project, write_files


def test_help_groups_the_commands_and_documents_the_exit_codes(files: Project):
    text = files.ok("--help").out
    assert text.index("Load") < text.index("Look") < text.index("Act by hand") < text.index("Prove")
    assert "130 interrupted" in text
    assert files.ok("--version").out.startswith("dwh ")


def test_the_command_alone_shows_what_there_is(files: Project):
    answer = files.dwh()
    assert "Start here: dwh init shop" in answer.out
    assert answer.err == ""


def test_the_files_are_checked_without_any_server(files: Project):
    found = files.ok("lineage", "check", "--json").json
    assert (found["modules"], found["sources"], found["batches"], found["problems"]) == (2, 1, 0, [])
    assert not (files.folder / ".dwh").exists()


def test_a_bad_duration_names_file_line_and_what_is_allowed(files: Project):
    write_files(files.folder, **{"lineage/mart/totals.yaml": "table: mart.totals\ndepends_on: [fact.orders]\nrepeat: soon\n"})
    answer = files.dwh("lineage", "check")
    assert answer.code == 2
    assert "mart/totals.yaml:3" in answer.err
    assert "repeat" in answer.err
    assert "30s" in answer.err


def test_the_schema_for_editors_can_be_written_to_a_file(files: Project):
    file = files.folder / "schema.json"
    files.ok("lineage", "schema", "--output", str(file))
    assert json.loads(file.read_text()) == files.ok("lineage", "schema").json


def test_a_folder_without_a_warehouse_is_told_how_to_get_one(files: Project):
    answer = files.dwh("status")
    assert answer.code == 2
    assert "`dwh up` makes one there" in answer.err


def test_a_control_store_that_is_down_is_said_after_the_deadline(files: Project):
    secret = "canary-secret"
    url = f"postgresql://dwh:{secret}@127.0.0.1:{free_port()}/dwh"
    files.environment.update(DWH_POSTGRES_URL=url, DWH_DEADLINE_SECONDS="1")
    answer = files.dwh("status")
    assert answer.code == 3
    assert "gave no connection within 1 s" in answer.err
    assert "Traceback" not in answer.err
    assert secret not in answer.err + (files.folder / ".dwh" / "logs" / "dwh.log").read_text()


def test_an_unexpected_error_is_short_on_the_terminal_and_whole_in_the_logs(files: Project, monkeypatch: pytest.MonkeyPatch):
    def broken(*arguments: object) -> None:
        raise RuntimeError("the unthinkable")

    monkeypatch.setattr("dwh_assets.config.lineage_files.load_lineage", broken)
    answer = files.dwh("lineage", "check")
    assert answer.code == 1
    assert "RuntimeError: the unthinkable" in answer.err
    assert "Traceback" not in answer.err
    [file] = (files.folder / ".dwh" / "logs").glob("error-*.txt")
    assert str(file) in answer.err.replace("\n", "")
    assert "Traceback" in file.read_text()


@pytest.mark.parametrize(("variable", "value"), [("DWH_SLOTS", "none"), ("DWH_LOG_FORMAT", "xml")])
def test_a_setting_that_does_not_fit_is_named(files: Project, variable: str, value: str):
    files.environment[variable] = value
    answer = files.dwh("lineage", "check")
    assert answer.code == 2
    assert variable in answer.err


def test_json_and_csv_exclude_each_other(files: Project):
    assert files.dwh("status", "--json", "--csv").code == 2


def test_a_reader_that_closes_the_pipe_hears_no_complaint(files: Project):
    command = f"{Path(sys.executable).parent / 'dwh'} lineage schema | head -n 1"
    ended = subprocess.run(command, shell=True, env=os.environ | files.environment, capture_output=True, text=True)
    assert (ended.stdout.strip(), ended.stderr) == ("{", "")


def test_python_of_the_project_is_found_in_its_folder_from_anywhere(project: Project):
    (project.folder / "rows_beside_the_lineage.py").write_text("def doubled(block):\n    return block.union(block)\n")
    file = project.folder / "lineage/fact/orders.yaml"
    file.write_text(file.read_text() + 'transforms: ["rows_beside_the_lineage:doubled"]\n')
    assert len(project.ok("preview", "fact.orders", "--json").json["rows"]) == 20
