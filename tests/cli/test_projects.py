"""dwh init, dwh doctor, dwh config: from an empty folder to one that is known to work."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dwh_assets.cli import projects
from dwh_assets.config.machine import free_port
from tests.cli.conftest import Answer, Project, environment

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path, environment(tmp_path / "shop"))


def test_init_makes_a_project_of_the_shape_of_the_demo_whose_files_are_sound(empty: Project) -> None:
    said = empty.ok("init", "shop").out
    assert "cd shop" in said
    shop = empty.folder / "shop"
    for name in ("dwh.toml", "workspace.yaml", ".gitignore", "README.md", "lineage/sources", "sql/transforms", "tests"):
        assert (shop / name).exists()
        assert (REPOSITORY / name).exists()
    assert empty.ok("lineage", "check", "--json").json["modules"] == 2
    assert empty.ok("config", "show", "spark_memory", "--json").json[0]["origin"] == "file"
    ended = subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=shop, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize("name", [".", "there"])
def test_init_takes_an_empty_folder_as_it_is(empty: Project, name: str) -> None:
    folder = empty.folder / name
    folder.mkdir(exist_ok=True)
    before = folder.stat().st_ino
    empty.ok("init", name)
    assert folder.stat().st_ino == before
    assert (folder / "dwh.toml").exists()


def test_init_refuses_a_folder_with_something_in_it_and_leaves_it_alone(empty: Project) -> None:
    (empty.folder / "full").mkdir()
    (empty.folder / "full" / "mine.txt").write_text("mine")
    (empty.folder / "file").write_text("")
    assert "holds mine.txt. Nothing was made. Name a folder that is new or empty" in empty.dwh("init", "full").err
    assert "is a file" in empty.dwh("init", "file").err
    assert [path.name for path in (empty.folder / "full").iterdir()] == ["mine.txt"]
    empty.ok("init", "shop")
    again = empty.dwh("init", "shop")
    assert (again.code, "It is a project already" in again.err) == (2, True)


def test_an_init_that_is_interrupted_leaves_nothing(empty: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(projects, "_put_in_place", interrupted)
    answer = empty.dwh("init", "shop")
    assert answer.code == 130
    assert "dwh: interrupted" in answer.err
    assert list(empty.folder.iterdir()) == []


def doctor(project: Project) -> tuple[Answer, dict[str, str]]:
    answer = project.dwh("doctor", "--json")
    return answer, {f"{line['name']}: {line['text']}": line["state"] for line in answer.json}


def test_doctor_looks_at_everything_starts_nothing_and_leaves_nothing(empty: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    empty.ok("init", "shop")
    monkeypatch.setenv("DWH_SLOT", "3")
    _, found = doctor(empty)
    names = {name.partition(":")[0] for name in found}
    assert names >= {
        "Python",
        "packages",
        "Java",
        "memory",
        "disk",
        "ports",
        "Postgres",
        "Spark",
        "project",
        "Lineage",
        "settings",
    }
    assert found["settings: DWH_SLOT is no setting. Did you mean DWH_SLOTS?"] == "warn"
    assert not (empty.folder / "shop" / ".dwh").exists()
    assert "warn" in empty.dwh("doctor").out


def test_doctor_says_what_is_bad_and_what_to_do(empty: Project) -> None:
    empty.ok("init", "shop")
    port, shop = free_port(), empty.folder / "shop"
    (shop / "lineage" / "fact" / "orders.yaml").write_text("table: fact.orders\nrepeat: soon\n")
    (shop / "lineage" / "sources" / "crm.yaml").write_text("name: crm.a\nkind: postgres\nurl_env: SHOP_URL\n")
    empty.environment.update(
        DWH_SPARK_REMOTE=f"sc://127.0.0.1:{port}", DWH_POSTGRES_URL=f"postgresql://ann:canary@127.0.0.1:{port}/dwh"
    )
    answer, found = doctor(empty)
    assert answer.code == 1
    assert "canary" not in answer.out
    bad = {name.partition(":")[0] for name, state in found.items() if state == "bad"}
    assert bad == {"Spark", "Postgres", "Lineage"}
    assert all(line["todo"] for line in answer.json if line["state"] != "ok")


def test_doctor_names_sources_that_cannot_be_read(empty: Project) -> None:
    empty.ok("init", "shop")
    shop = empty.folder / "shop"
    (shop / "lineage" / "sources" / "crm.yaml").write_text(
        "- {name: crm.a, kind: postgres, url_env: SHOP_URL}\n"
        f"- {{name: ev.b, kind: kafka, kafka: {{topic: b, brokers: ['127.0.0.1:{free_port()}']}},"
        " events: {format: json, schemas: {1: schemas/order_1.json}}}\n"
    )
    (shop / "inbox" / "orders").rename(shop / "elsewhere")
    answer, found = doctor(empty)
    bad = {name.partition(":")[0] for name, state in found.items() if state == "bad"}
    assert answer.code == 1
    assert bad - {"Postgres"} == {"source crm.a", "source files.orders", "Kafka"}


def test_doctor_knows_a_postgres_and_whether_its_schema_is_ours(empty: Project, database_url: str, empty_url: str) -> None:
    empty.ok("init", "shop")
    empty.environment["DWH_POSTGRES_URL"] = database_url
    assert doctor(empty)[1]["schema: is that of this code"] == "ok"
    empty.environment["DWH_POSTGRES_URL"] = empty_url
    assert doctor(empty)[1]["schema: none yet; the first command makes it"] == "ok"


def test_doctor_outside_of_a_project_says_how_to_get_one(empty: Project) -> None:
    answer = empty.dwh("doctor")
    assert answer.code == 1
    assert "`dwh init DIR` makes a project" in answer.out


def test_roles_are_made_with_the_project_on_request(empty: Project, empty_url: str) -> None:
    empty.environment["DWH_POSTGRES_URL"] = empty_url
    assert "rights given to dwh_owner" in empty.ok("init", "shop", "--roles").out


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(["uv", "build", "--wheel", "-q", "-o", str(folder)], cwd=REPOSITORY, check=True, env=outside())
    return next(folder.glob("*.whl"))


def outside() -> dict[str, str]:
    """The environment of a person who has not heard of this repository."""
    known = ("VIRTUAL_ENV", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if name not in known and not name.startswith("DWH_")}


@pytest.mark.exhaustive
def test_the_wheel_holds_every_file_that_the_product_reads(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        held = set(opened.namelist())
    product = [path for path in (REPOSITORY / "dwh_assets").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    wanted = {str(path.relative_to(REPOSITORY)) for path in product}
    wanted |= {f"dwh_assets/_{path.relative_to(REPOSITORY)}" for path in (REPOSITORY / "sql" / "control").rglob("*.sql")}
    assert wanted - held == set()
    assert not any("transforms" in name for name in held if name.startswith("dwh_assets/_sql"))


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_the_installed_wheel_loads_a_new_project_outside_of_the_repository(wheel: Path, run_folder: Path) -> None:
    folder = run_folder / "installed"  # open to the user that Postgres runs as
    venv, shop = folder / "venv", folder / "shop"
    folder.mkdir()

    def said(*words: str | Path, where: Path = folder) -> str:
        ended = subprocess.run([str(word) for word in words], cwd=where, env=outside(), capture_output=True, text=True)
        assert ended.returncode == 0, f"{words}\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout

    said("uv", "venv", "-q", "--python", sys.executable, venv)
    said("uv", "pip", "install", "-q", "--python", venv / "bin" / "python", wheel)
    dwh = venv / "bin" / "dwh"
    said(dwh, "init", "shop")
    said(dwh, "lineage", "check", where=shop)
    said(dwh, "lineage", "apply", "--yes", where=shop)
    try:
        said(dwh, "run", "--until-dry", where=shop)
        assert "7" in said(dwh, "sql", "select count(*) as orders from fact.orders", "--csv", where=shop)
        assert "every invariant holds" in said(dwh, "verify", where=shop)
    finally:
        said(dwh, "down", where=shop)
