"""Each role logs in for real and tries, table by table, everything that any role may do."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from dwh_assets.control.database import Database
from dwh_assets.control.migrate import Schema, migrate
from dwh_assets.control.roles import ROLES, VARIABLES, apply_roles
from dwh_assets.control.statements import migrations
from dwh_assets.model.errors import ConfigError, NotPermitted
from tests.conftest import run_sql
from tests.control.small import MODULE, Store, ready

PASSWORDS = {VARIABLES[name]: f"secret-{name}" for name in ROLES}
LOOK, GROW, WORK, ALL = "select", "select insert", "select insert update", "select insert update delete"
PARTS = "select parts"  # UPDATE of some columns only

# The decision for each table of the control store: what the worker, the steward and the viewer may do with it.
RIGHTS: dict[str, tuple[str, str, str]] = {
    "dwh.migration": (LOOK, LOOK, LOOK),
    "dwh.source": (PARTS, WORK, LOOK),
    "dwh.target": (PARTS, WORK, LOOK),
    "dwh.module": (LOOK, WORK, LOOK),
    "dwh.module_version": (LOOK, GROW, LOOK),
    "dwh.module_dependency": (LOOK, ALL, LOOK),
    "dwh.topic": (PARTS, WORK, LOOK),
    "dwh.block": (ALL, ALL, LOOK),
    "dwh.dead_letter": (ALL, ALL, LOOK),
    "dwh.restatement": (ALL, ALL, LOOK),
    "dwh.execution": (ALL, ALL, LOOK),
    "dwh.load_stat": (ALL, ALL, LOOK),
    "dwh.event_log": (GROW, GROW, LOOK),
    "dwh.worker": (ALL, WORK, LOOK),
    "dwh.request": (ALL, WORK, LOOK),
    "dwh.assignment": (ALL, WORK, LOOK),
    "dwh.phase": (ALL, WORK, LOOK),
    "dwh.manager": (ALL, LOOK, LOOK),
    "dwh.message": (ALL, GROW, LOOK),
    "dwh.message_reader": (ALL, LOOK, LOOK),
    "dwh.lateness": (ALL, WORK, LOOK),
    "dwh.lateness_seen": (ALL, LOOK, LOOK),
    "dwh.column_lineage": (GROW, GROW, LOOK),
    "dwh.alert": (ALL, ALL, LOOK),
    "dwh.alert_delivery": (ALL, ALL, LOOK),
    "dwh.batch": (PARTS, WORK, LOOK),
    "dwh.batch_module": (LOOK, ALL, LOOK),
    "dwh.batch_hierarchy": (LOOK, ALL, LOOK),
    "dwh.batch_instance": (ALL, ALL, LOOK),
    "dwh.parameter": (LOOK, ALL, LOOK),
    "dwh.parameter_version": (LOOK, GROW, LOOK),
    "dwh.maintenance": (ALL, WORK, LOOK),
    "iceberg.iceberg_tables": (WORK, WORK, LOOK),
    "iceberg.iceberg_namespace_properties": (WORK, WORK, LOOK),
}
VOCABULARIES = {"dwh", "sch", "kettle", "direct", "broker", "ems"}
VIEWS = "select schemaname, viewname from pg_views where schemaname = any (%s)"
TABLES = """
    select format('%s.%s', schemaname, tablename) as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema', 'dagster') order by 1"""
COLUMN = """
    select column_name from information_schema.columns
    where format('%%s.%%s', table_schema, table_name) = %s and is_identity = 'NO' and is_generated = 'NEVER'
    order by ordinal_position"""
TRIES = {
    "select": "select {column} from {table} limit 0",
    "insert": "insert into {table} ({column}) select {column} from {table} where false",
    "update": "update {table} set {column} = {column} where false",
    "delete": "delete from {table} where false",
    "truncate": "truncate {table}",
    "drop": "drop table {table} cascade",
    "alter": "alter table {table} add column evil text",
    "trigger": "create trigger evil before insert on {table} for each row execute function suppress_redundant_updates_trigger()",
}


def login(url: str, name: str) -> str:
    parts = conninfo_to_dict(url)
    return f"postgresql://{ROLES[name]}:secret-{name}@{parts['host']}:{parts['port']}/{parts['dbname']}"


@pytest.fixture(scope="module")
def ruled(module_url: str, module_database: Database) -> str:
    assert apply_roles(module_database, PASSWORDS) == list(ROLES.values())
    return module_url


@pytest.fixture(params=ROLES)
def role(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def connection(ruled: str, role: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(login(ruled, role), autocommit=True) as connection:
        yield connection


def may(connection: psycopg.Connection, statement: sql.Composed | bytes) -> bool:
    """Whether this login may do it; it is taken back again."""
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(statement)
    except psycopg.errors.InsufficientPrivilege:
        return False
    return True


def test_there_is_a_decision_for_every_table(ruled: str, module_database: Database) -> None:
    assert sorted(RIGHTS) == [row["name"] for row in module_database.fetch(TABLES)]


@pytest.mark.parametrize("table", RIGHTS)
def test_a_role_may_do_what_was_decided_and_nothing_else(connection: psycopg.Connection, role: str, table: str) -> None:
    columns = [row[0] for row in connection.execute(COLUMN, (table,))]
    decided = RIGHTS[table][list(ROLES).index(role)]
    names = {"table": sql.Identifier(*table.split(".")), "column": sql.Identifier(columns[0])}
    able = [word for word, text in TRIES.items() if may(connection, sql.SQL(text).format(**names))]  # pyright: ignore[reportArgumentType]
    assert able == decided.replace(" parts", "").split()
    passed_on = connection.execute(
        "select has_table_privilege(%s, 'select with grant option, insert with grant option')", (table,)
    )
    assert passed_on.fetchone() == (False,)
    if decided == PARTS:
        text = sql.SQL(TRIES["update"])  # pyright: ignore[reportArgumentType]
        some = [may(connection, text.format(**{**names, "column": sql.Identifier(column)})) for column in columns]
        assert any(some)
        assert not all(some)


def test_a_role_reads_every_view_and_makes_nothing(connection: psycopg.Connection, role: str) -> None:
    views = connection.execute(VIEWS, (list(VOCABULARIES),)).fetchall()
    assert {schema for schema, _ in views} == VOCABULARIES
    for schema, view in views:
        assert may(connection, sql.SQL("select * from {} limit 0").format(sql.Identifier(schema, view))), view
    for statement in (b"create table dwh.evil ()", b"create schema evil", b"create role evil", b"create table public.evil ()"):
        assert not may(connection, statement), statement
    assert not may(connection, b"set role dwh_owner")
    assert may(connection, b"create table dagster.own ()") == (role == "worker")
    assert may(connection, b"select dwh.expire_events('2000-01-01')") == (role == "worker")
    assert not may(connection, b"copy dwh.event_log to program 'true'")


def test_the_event_log_grows_and_only_the_function_for_it_removes(ruled: str) -> None:
    with psycopg.connect(login(ruled, "worker"), autocommit=True) as connection:
        connection.execute("insert into dwh.event_log (at, kind, code, who, text) values ('2001-01-01', 'act', 'X', 'w', 'old')")
        connection.execute("set dwh.expiring_events = 'yes'")  # what the trigger asks for is no right
        assert not may(connection, b"delete from dwh.event_log")
        assert connection.execute("select dwh.expire_events('2002-01-01')").fetchone() == (1,)


def test_nobody_logs_in_as_the_owner_or_with_a_wrong_password(ruled: str) -> None:
    for name in ("dwh_owner", "dwh_viewer"):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(login(ruled, "worker").replace("dwh_worker", name))


def test_a_worker_claims_stages_and_commits_and_a_steward_applies_and_acts(database_url: str, database: Database) -> None:
    apply_roles(database, PASSWORDS)
    worker, steward = (Database(login(database_url, name), deadline=20) for name in ("worker", "steward"))
    try:
        assert migrate(worker) == migrate(steward) == []
        store, hand = ready(steward, 3, 6), Store(steward)
        work = Store(worker)
        work.observe()
        claim = work.claims().claim("fact.sales")
        work.claims().note_staging(claim, {"fact.sales": {"branch": "e1", "fork": 1}}, {})
        work.commit(claim)
        hand.acts.unlock("fact.sales", "stuck")
        work.commit(work.claims().claim("fact.sales"))
        assert [event["who"] for event in store.events("UNLOCK")] == ["ann"]
        assert work.apply(MODULE) == []  # it is in force
        with pytest.raises(NotPermitted, match=r"this login, dwh_worker, may not do that .*: permission denied for table module"):
            work.apply()
        with pytest.raises(NotPermitted):
            worker.execute("update dwh.topic set active = false")
    finally:
        worker.close()
        steward.close()


def test_new_views_keep_the_rights_and_a_login_without_them_is_told_to_migrate(empty_url: str) -> None:
    owner = Database(empty_url, deadline=20)
    migrate(owner, Schema(migrations(), []))
    apply_roles(owner, PASSWORDS)
    viewer = Database(login(empty_url, "viewer"), deadline=20)
    try:
        with pytest.raises(ConfigError, match="this login may not do it"):
            migrate(viewer)
        assert migrate(owner) == ["views"]
        assert viewer.fetch("select * from dwh.status") == []
        with pytest.raises(ConfigError, match="may not make roles"):
            apply_roles(viewer, PASSWORDS)
        assert apply_roles(owner, {}) == []  # safe to repeat
    finally:
        viewer.close()
        owner.close()


@pytest.fixture
def owned(empty_url: str) -> Iterator[str]:
    """The URL of a database whose owner may create roles, and nothing else that a superuser may."""
    parts = conninfo_to_dict(empty_url)
    run_sql(empty_url, "create role landlord login createrole password 'secret-landlord'")
    for role in ("dwh_owner", *ROLES.values()):  # as if it had made them
        run_sql(empty_url, f"do $$ begin create role {role}; exception when duplicate_object then end $$")
        run_sql(empty_url, f"grant {role} to landlord with admin true, inherit false, set false")
    run_sql(empty_url, sql.SQL("alter database {} owner to landlord").format(sql.Identifier(str(parts["dbname"]))))
    yield f"postgresql://landlord:secret-landlord@{parts['host']}:{parts['port']}/{parts['dbname']}"
    run_sql(empty_url, "reassign owned by landlord to current_user")
    run_sql(empty_url, "drop owned by landlord")
    run_sql(empty_url, "drop role landlord")


def test_an_owner_without_a_superusers_rights_gives_them_again_when_dagster_has_made_its_tables(owned: str) -> None:
    owner = Database(owned, deadline=20)
    try:
        migrate(owner, Schema(migrations(), []))
        apply_roles(owner, PASSWORDS)
        run_sql(login(owned, "worker"), "create table dagster.runs (id int)")
        apply_roles(owner, {})
        with psycopg.connect(login(owned, "viewer"), autocommit=True) as viewer:
            assert may(viewer, b"select * from dagster.runs")
        assert migrate(owner) == ["views"]
    finally:
        owner.close()
