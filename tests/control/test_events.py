"""The event log only grows; old events leave it by one function."""

from __future__ import annotations

import pytest

from dwh_assets.control.database import Database
from dwh_assets.control.events import note_event
from dwh_assets.model.errors import NotPermitted
from dwh_assets.model.module import Lineage
from tests.control.small import MODULE, SOURCE, Store, ready


def codes(database: Database) -> list[str]:
    return [row["code"] for row in database.fetch("select code from dwh.event_log order by id")]


def together(database: Database, *statements: str) -> None:
    """In one transaction."""
    with database.transaction() as connection:
        for statement in statements:
            connection.execute(statement.encode())


@pytest.mark.parametrize(
    "statement", ["delete from dwh.event_log", "update dwh.event_log set who = 'me'", "truncate dwh.event_log"]
)
def test_even_its_owner_cannot_change_the_event_log(database: Database, statement: str) -> None:
    note_event(database, "NOTE", "kept", "ann")
    with pytest.raises(NotPermitted, match="append-only"):
        database.execute(statement.encode())
    with pytest.raises(NotPermitted):
        together(database, "set local session_replication_role = replica", statement)
    assert codes(database) == ["NOTE"]


def test_old_events_are_expired_by_the_one_function_that_may_and_it_says_so(database: Database) -> None:
    database.execute(
        "insert into dwh.event_log (at, kind, code, who, text) values (now() - interval '1 year', 'custom', 'OLD', 'x', 'x')"
    )
    note_event(database, "NEW", "kept", "ann")
    row = database.fetch_one("select dwh.expire_events(now() - interval '30 days') as gone")
    assert row == {"gone": 1}
    assert codes(database) == ["NEW", "EXPIRED"]
    assert database.fetch_one("select dwh.expire_events('2020-01-01') as gone") == {"gone": 0}
    assert codes(database) == ["NEW", "EXPIRED"]


def test_the_right_to_expire_ends_with_the_function(database: Database) -> None:
    note_event(database, "NOTE", "kept", "ann")
    with pytest.raises(NotPermitted):
        together(database, "select dwh.expire_events('2020-01-01')", "delete from dwh.event_log")
    assert codes(database) == ["NOTE"]


def test_a_custom_event_says_who_when_and_what(database: Database) -> None:
    ready(database)
    note_event(database, "DEPLOY", "version 12 went live", "ann", MODULE.name)
    [event] = Store(database).events("DEPLOY")
    assert (event["kind"], event["who"], event["topic"]) == ("custom", "ann", MODULE.name)
    assert event["at"] is not None


def test_what_an_apply_does_is_logged_in_its_transaction_and_before_it_is_done(database: Database) -> None:
    store = Store(database)
    store.lineage.apply(Lineage((MODULE,), (SOURCE,)), "ann", "a new table")
    event = store.events("LINEAGE")[-1]
    assert (event["kind"], event["who"], event["text"]) == ("act", "ann", "add module fact.sales: a new table")
    order = database.fetch_one(
        "select e.xmin = m.xmin as same, e.cmin::text::int < m.cmin::text::int as before "
        "from dwh.event_log e join dwh.module m on m.name = e.topic"
    )
    assert order == {"same": True, "before": True}


def test_an_override_is_logged_as_an_act_and_takes_nothing_from_who_runs(database: Database) -> None:
    store = ready(database, 1)
    claim = store.claims().claim("fact.sales")
    store.acts.override("fact.sales", "month end")
    store.commit(claim)
    [event] = store.events("OVERRIDE")
    assert (event["kind"], event["who"], event["text"]) == ("act", "ann", "month end")
