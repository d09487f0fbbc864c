"""Every command with wrong names, a narrow terminal, a broken project, and Ctrl-C in its middle: clear, and nothing half done."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
import typer.main

from dwh_assets.cli.main import app
from dwh_assets.control.database import Database
from tests.cli.conftest import Project, environment, write_files
from tests.cli.test_running import wait_until
from tests.control.small import ready

WRONG = "fact.salse"
# What a command wants beside its options, where a name alone would not do.
GIVEN = {
    "trace": "id=1",
    "reset": "--to now",
    "release": "--check x",
    "next-run": "cancel",
    "restate": "--from 1",
    "rollback": "--all",
    "kafka seek": "--to earliest",
}
NAMED = (  # commands that take the name of a topic, module or table
    "why", "blocks", "retry", "skip", "unlock", "reset", "release", "status -t", "log -t", "errors -t", "alerts -t",
    "lineage show", "lineage history", "restate", "rollback", "pause", "resume", "backfill", "audit", "replay", "start",
    "next-run", "deadletter list", "deadletter show", "deadletter replay", "kafka seek", "advise -t", "trace", "table",
    "profile", "preview",
)  # fmt: skip


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command of the tree."""
    tree: Any = group or typer.main.get_command(app)
    for name, command in tree.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


ALL = dict(commands())


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_fits_a_narrow_terminal_and_a_wrong_option_is_refused(files: Project, path: tuple[str, ...]) -> None:
    files.environment["COLUMNS"] = "40"
    said = files.ok(*path, "--help").out
    assert max(map(len, said.splitlines())) <= 40
    wrong = files.dwh(*path, "--hlep")
    assert wrong.code == 2
    assert "No such option" in wrong.err
    assert "Traceback" not in wrong.err


@pytest.mark.parametrize(("wrong", "near"), [("statsu", "status"), ("lineage chekc", "check"), ("confg", "config")])
def test_a_wrong_command_names_the_near_one(files: Project, wrong: str, near: str) -> None:
    answer = files.dwh(*wrong.split())
    assert answer.code == 2
    assert f"Did you mean '{near}'" in " ".join(answer.err.split()).replace("│ ", "").replace(" │", "")


@pytest.fixture(scope="module")
def stored(module_database: Database, module_url: str, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A control store with one topic, fact.sales, and no Spark. Wrong names change nothing, so that tests can share it."""
    ready(module_database, 1)
    folder = tmp_path_factory.mktemp("stored")
    write_files(folder)
    return Project(folder, environment(folder, DWH_POSTGRES_URL=module_url, DWH_SPARK_REMOTE="sc://127.0.0.1:1"))


@pytest.mark.parametrize("command", NAMED)
def test_a_wrong_name_of_a_topic_or_table_names_the_near_one_and_changes_nothing(stored: Project, command: str) -> None:
    words = command.split()
    path = tuple(word for word in words if not word.startswith("-"))
    reason = ["--reason", "a test"] if any(option.name == "reason" for option in ALL[path].params) else []
    answer = stored.dwh(*words, WRONG, *GIVEN.get(command, "").split(), *reason)
    assert answer.code == 2, answer.out + answer.err
    near = "fact.orders" if command in ("replay", "preview") else "fact.sales"  # these two read the files of the project
    assert re.search(rf"Did you mean [\w. ]*{near}", answer.err.replace("\n", " "))
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("report not-suceeded", "Did you mean not-succeeded"),
        ("batch show nightli", "there is no batch 'nightli'"),
        ("block 999", "there is no block #999"),
        ("config show sluts", "Did you mean slots"),
        ("maintain --table fact.salse", "fact.sales"),
        ("drop fact.salse --reason x", "Did you mean fact.sales"),
    ],
)
def test_other_wrong_names_are_answered_with_right_ones(stored: Project, command: str, said: str) -> None:
    answer = stored.dwh(*command.split())
    assert answer.code == 2, answer.out
    assert said in answer.err.replace("\n", " ")


def test_a_narrow_terminal_loses_no_name_and_a_pipe_gets_no_colour(stored: Project) -> None:
    narrow = Project(stored.folder, stored.environment | {"COLUMNS": "40"})
    assert "fact.sales" in narrow.ok("status").out
    piped = Project(stored.folder, {name: value for name, value in stored.environment.items() if name != "NO_COLOR"})
    assert "\x1b[" not in piped.ok("status").out


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"sql/transforms/fact/orders.sql": None}, "orders.sql"),
        ({"sql/transforms/fact/orders.sql": b"\xff\xfe"}, "orders.sql"),
        ({"lineage/fact/orders.yaml": b"\xff\xfe\x00"}, "orders.yaml"),
        ({"dwh.toml": b"\xff"}, "dwh.toml"),
    ],
    ids=["a folder instead of a file", "SQL that is no text", "YAML that is no text", "settings that are no text"],
)
def test_a_broken_project_folder_is_told_by_the_file(files: Project, broken: dict[str, bytes | None], said: str) -> None:
    for name, content in broken.items():
        path = files.folder / name
        path.unlink(missing_ok=True)
        path.mkdir() if content is None else path.write_bytes(content)
    answer = files.dwh("lineage", "check")
    assert answer.code == 2, answer.out
    assert said in answer.err
    assert "unexpected" not in answer.err


def test_a_schema_that_cannot_be_written_is_told_by_its_file(files: Project) -> None:
    answer = files.dwh("lineage", "schema", "-o", str(files.folder / "nodir" / "x.json"))
    assert answer.code == 2
    assert "nodir/x.json" in answer.err.replace("\n", "")
    assert "unexpected" not in answer.err


def test_a_home_that_is_a_file_is_told(files: Project) -> None:
    (files.folder / "home").write_text("")
    files.environment["DWH_HOME"] = str(files.folder / "home")
    answer = files.dwh("run")
    assert answer.code == 2
    assert f"{files.folder / 'home'}" in answer.err.replace("\n", "")
    assert "unexpected" not in answer.err


# Of some commands one of several is needed.
CHOICES: dict[tuple[str, ...], list[str]] = {
    ("export",): ["7"], ("repair",): ["7"], ("restate",): ["--stale"], ("rollback",): ["--all"],
}  # fmt: skip


ARGUMENTS = {"key": "id=7", "code": "proceed"}


def arguments(path: tuple[str, ...]) -> list[str]:
    wanted = [p for p in ALL[path].params if p.required or (p.name == "reason" and path[0] != "lineage")]
    given = "now.csv" if path == ("export",) else "now"
    options = [word for p in wanted if p.param_type_name == "option" for word in (p.opts[0], given)]
    named = [ARGUMENTS.get(p.name, "7") for p in wanted if p.param_type_name == "argument"]
    return [*path, *named, *CHOICES.get(path, ()), *options]


SERVERLESS = {  # or with servers of their own, or refused before they ask
    ("init",),
    ("doctor",),
    ("config", "show"),
    ("lineage", "check"),
    ("lineage", "schema"),
    ("bench",),
    ("clean",),
    ("down",),
    ("chaos",),
    ("restore",),
    ("test",),
}
INTERRUPTED = [path for path in ALL if path not in SERVERLESS]
FEW = [("status",)]


def _interrupted(path: tuple[str, ...], folder: Path) -> None:
    """The control store accepts and says nothing, so the command stands in its middle when Ctrl-C comes."""
    write_files(folder)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://dwh@127.0.0.1:{silent.getsockname()[1]}/dwh?connect_timeout=60"
        own = environment(folder, DWH_POSTGRES_URL=url, DWH_SPARK_REMOTE="sc://127.0.0.1:1", DWH_DEADLINE_SECONDS="60")
        command = [sys.executable, "-m", "dwh_assets.cli", *arguments(path)]
        process = subprocess.Popen(
            command, env=os.environ | own, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        silent.settimeout(120)
        try:
            connection, _ = silent.accept()
        except TimeoutError:
            process.kill()
            pytest.fail(f"{path} did not ask the control store: {process.communicate()}")
        with connection:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
    assert process.returncode == 130, (out, err)
    assert "interrupted" in err or "stopping" in err
    assert "Traceback" not in out + err


@pytest.mark.parametrize("path", FEW, ids=" ".join)
def test_ctrl_c_in_the_middle_is_said_in_one_line(path: tuple[str, ...], tmp_path: Path) -> None:
    _interrupted(path, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", [path for path in INTERRUPTED if path not in FEW], ids=" ".join)
def test_ctrl_c_in_the_middle_of_any_command_is_said_in_one_line(path: tuple[str, ...], tmp_path: Path) -> None:
    _interrupted(path, tmp_path)


def test_ctrl_c_while_blocks_are_restated_shows_nothing_and_says_that_the_wish_stays(project: Project) -> None:
    project.ok("lineage", "apply", "--yes")
    project.dwh("run", "--until-dry")
    before = project.ok("blocks", "fact.orders", "--json").json
    own = project.environment | {"DWH_FAILPOINTS": "commit.before=stop", "DWH_LEASE_SECONDS": "2"}
    words = ["restate", "fact.orders", "--from", "1", "--reason", "test", "--yes"]
    command = [sys.executable, "-m", "dwh_assets.cli", *words]
    process = subprocess.Popen(command, env=os.environ | own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    stopped = psutil.Process(process.pid)
    wait_until(lambda: stopped.status() in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE), "the restatement did not begin")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, (out, err)
    assert "stays asked for" in err.replace("\n", " ")
    assert project.ok("blocks", "fact.orders", "--json").json == before
    wait_until(lambda: _restated(project), "nobody carried it out")


def _restated(project: Project) -> bool:
    """The lease of the interrupted attempt may still run."""
    project.dwh("run", "--until-dry")
    with psycopg.connect(project.environment["DWH_POSTGRES_URL"]) as connection:
        return connection.execute("select status from dwh.restatement").fetchall() == [("committed",)]
