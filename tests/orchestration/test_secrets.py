"""A canary in every password: after loads, errors and looks it is in no log, message, table, event, page or process list."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import psutil
import psycopg
import pytest
from confluent_kafka import Producer
from dagster import DagsterInstance
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from dwh_assets.config.machine import free_port
from dwh_assets.config.settings import load_settings
from dwh_assets.engine.engine import open_engine
from dwh_assets.orchestration.instance import prepare_home
from dwh_assets.orchestration.reconcile import report_forgotten
from dwh_assets.warehouse.server import SparkServer, shared_environment
from dwh_assets.warehouse.session import open_session
from tests.cli.conftest import Project, environment, write_files
from tests.conftest import run_sql
from tests.ingest.secured import PASSWORD, SECURITY, USER, SecuredKafka

CANARY = "c4narybird"
FILES = {
    "lineage/sources/stage.yaml": "name: stage.orders\nkind: postgres\nrelation: shop.orders\nurl_env: SHOP_URL\ndelay: 1s\n",
    "sql/transforms/mart/totals.sql": "select max(pos) as pos, max(id) as id, sum(amount) / 0 as total from {{ block }}\n",
    "lineage/schemas/click.json": '{"type": "object", "properties": {"page": {"type": "integer"}}}',
    "lineage/stage/clicks.yaml": "table: stage.clicks\ndepends_on: [broker.clicks]\nprocessor: ingest\n",
}
CLICKS = """name: broker.clicks
kind: kafka
kafka: {{topic: clicks, brokers: ['{brokers}'], {security}}}
events: {{format: json, schemas: {{1: schemas/click.json}}, key: [page]}}
"""
ROWS = """insert into shop.orders select timestamptz '2026-01-31 00:00:00+00' + i * interval '1 second', i, i
          from generate_series(1, 25) i"""
LOOKS = (
    "lineage check", "lineage diff", "status", "status --json", "why mart.totals", "why fact.orders --json", "blocks fact.orders",
    "block 2 --sample", "log", "log --events --json", "errors --json", "alerts --json", "report completeness", "report html",
    "trace fact.orders 5", "verify --json",
)  # fmt: skip


@pytest.fixture
def canaries(database_url: str) -> Iterator[str]:
    """The URL of this test's database with a login whose password is a canary."""
    run_sql(database_url, f"drop role if exists canary; create role canary superuser login password '{CANARY}'")
    parts = conninfo_to_dict(database_url)
    for statement in ("create schema shop", "create table shop.orders (pos timestamptz, id bigint, amount bigint)", ROWS):
        run_sql(database_url, statement)
    yield f"postgresql://canary:{CANARY}@{parts['host']}:{parts['port']}/{parts['dbname']}"
    run_sql(database_url, "reassign owned by canary to dwh")
    run_sql(database_url, "drop role canary")


@pytest.fixture
def project(canaries: str, spark_server: SparkServer, kafka: SecuredKafka, tmp_path: Path) -> Project:
    write_files(tmp_path, **FILES, **{"lineage/sources/clicks.yaml": CLICKS.format(brokers=kafka.secured(), security=SECURITY)})
    producer = Producer({"bootstrap.servers": kafka.start()})
    producer.produce("clicks", b'{"page": 1}')
    producer.produce("clicks", b"no json")
    assert producer.flush(30) == 0
    more = {
        "DWH_POSTGRES_URL": canaries,
        "SHOP_URL": canaries,
        "KAFKA_USER": USER,
        "KAFKA_PASSWORD": PASSWORD,
        "DWH_SPARK_REMOTE": spark_server.start(),
        "DWH_LOG_LEVEL": "DEBUG",
    }
    return Project(tmp_path, environment(tmp_path, **more))


@contextmanager
def watching_processes() -> Iterator[set[str]]:
    """Collects every process that shows the canary in its command line."""
    seen: set[str] = set()
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.2):
            for process in psutil.process_iter(["cmdline"]):
                if CANARY in " ".join(process.info["cmdline"] or ()):
                    seen.add(str(process))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seen
    finally:
        done.set()
        watcher.join()


def said(project: Project) -> dict[str, str]:
    """What the commands say: of a load that goes well, of errors, and of looking at it all."""
    told = {}
    for words in ("lineage apply --yes", "run --until-dry", *LOOKS, "restate fact.orders --block 1 --reason x --yes"):
        answer = project.dwh(*words.split())
        told[words] = answer.out + answer.err
    for name, url in unusable(project.environment["SHOP_URL"]).items():
        for variable, words in (("SHOP_URL", "run --until-dry"), ("DWH_POSTGRES_URL", "status")):
            more = {variable: url, "DWH_DEADLINE_SECONDS": "1"}
            answer = Project(project.folder, project.environment | more).dwh(*words.split())
            told[f"{words} with {name} {variable}"] = answer.out + answer.err
    wrong = Project(project.folder, project.environment | {"KAFKA_PASSWORD": f"{CANARY}x"})
    told["wrong KAFKA_PASSWORD"] = wrong.dwh("run", "--until-dry").out + wrong.dwh("why", "stage.clicks").out
    return told


def unusable(url: str) -> dict[str, str]:
    """URLs with a password that lead nowhere: no server, not a URL, a wrong password."""
    port = str(conninfo_to_dict(url)["port"])
    malformed = f"postgresql:/canary:{CANARY}@/:x"
    return {"lost": url.replace(port, str(free_port())), "malformed": malformed, "wrong": url.replace(CANARY, f"{CANARY}x")}


def stored(url: str) -> Iterator[tuple[str, str]]:
    """Every row of every table, Dagster's own included."""
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "select schemaname, tablename from pg_tables where schemaname not in ('pg_catalog', 'information_schema')"
        ).fetchall()
        for schema, table in tables:
            query = sql.SQL("select t::text from {} t").format(sql.Identifier(schema, table))
            for (row,) in connection.execute(query):
                yield f"{schema}.{table}", row
        for (text,) in connection.execute("select query || application_name from pg_stat_activity"):
            yield "pg_stat_activity", text


def shown_in_dagster(project: Project) -> int:
    """Have Dagster told of every block: its events and their metadata are rows of the store then."""
    with patch.dict("os.environ", project.environment):
        settings = load_settings()
        folder = prepare_home(settings)
        with DagsterInstance.from_config(str(folder)) as instance, open_engine(settings) as engine:
            shown = report_forgotten(instance, engine, engine.lineage.active(), age=0)
            rows = engine.session().sql("set").toArrow().to_pylist()
            assert [row for row in rows if CANARY in str(row)] == []  # what Spark shows of its settings
            frame = engine.session().sql("explain extended select * from fact.orders").toArrow()
            assert CANARY not in str(frame.to_pylist())
            return shown


def test_a_password_is_nowhere_to_be_found(project: Project, canaries: str, run_folder: Path) -> None:
    with watching_processes() as processes:
        told = said(project)
        assert shown_in_dagster(project) > 0
    assert "fact.orders" in told["status"]
    assert "stage.clicks" in told["log"]
    assert "the broker refuses us" in told["wrong KAFKA_PASSWORD"]
    assert "DIVIDE_BY_ZERO" in told["errors --json"]
    assert [words for words, text in told.items() if CANARY in text] == []
    assert processes == set()
    assert [(place, row) for place, row in stored(canaries) if CANARY in row] == []
    files = [file for folder in (project.folder, run_folder / "logs") for file in folder.rglob("*") if file.is_file()]
    assert any(file.name == "report.html" for file in files)
    assert any(file.name == "spark.log" for file in files)
    assert [str(file) for file in files if CANARY.encode() in file.read_bytes()] == []


@pytest.mark.exhaustive
def test_what_a_crashed_server_leaves_is_for_its_owner_alone_and_holds_no_password(
    canaries: str, run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_URL", canaries)
    home = run_folder / "crashing"
    server = SparkServer(load_settings(home=home, spark_remote=None, spark_memory="1g"))
    session = open_session(server.start(), canaries, str(home / "warehouse"))
    session.sql("create namespace crashing").collect()
    process = server.process()
    assert process is not None
    process.send_signal(signal.SIGSEGV)
    process.wait(60)
    (told,) = (home / "logs" / "crashes").iterdir()
    assert told.parent.stat().st_mode & 0o077 == 0
    assert "SIGSEGV" in told.read_text(errors="replace")
    files = [file for file in home.rglob("*") if file.is_file()]
    assert [str(file) for file in files if CANARY.encode() in file.read_bytes()] == []
    assert [file.name for file in files if file.suffix == ".hprof" or file.name.startswith("core")] == []


def test_a_server_that_is_started_does_not_inherit_passwords() -> None:
    given = {
        "SHOP_URL": f"postgresql://u:{CANARY}@h/d",
        "DWH_POSTGRES_URL": CANARY,
        "PATH": "/bin",
        "HTTP_PROXY": "http://proxy:3128",
    }
    assert shared_environment(given) == {"PATH": "/bin", "HTTP_PROXY": "http://proxy:3128"}
