"""Alerts reach their targets: each once, later when a target is down or quiet, and without a secret in any text."""

from __future__ import annotations

import logging
import multiprocessing
from base64 import b64decode
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dwh_assets.config.settings import Settings, load_settings
from dwh_assets.control.alerts import AlertStore
from dwh_assets.control.database import Database
from dwh_assets.engine.alert_targets import targets_of
from dwh_assets.engine.alerts import AlertRounds, alert_round
from dwh_assets.engine.deliver import deliver
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.loop import Loop
from dwh_assets.model.errors import ConfigError
from tests.control.small import TOPIC, ready
from tests.engine.listeners import MailListener, WebListener, serving


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def web() -> Iterator[WebListener]:
    server = WebListener()
    with serving(server):
        yield server
        server.let_go.set()


@pytest.fixture
def mail() -> Iterator[MailListener]:
    server = MailListener()
    with serving(server):
        yield server


@pytest.fixture
def store(database: Database) -> AlertStore:
    return AlertStore(database)


def fail(store: AlertStore, key: str = "1", text: str = "it failed") -> None:
    assert store.raise_alert("block_parked", key, TOPIC, 7, "error", text)


def told(store: AlertStore, settings: Settings) -> None:
    deliver(store, targets_of(settings))


def at_once(store: AlertStore) -> None:
    """Let the back-off pass without waiting for it."""
    store.database.execute("update dwh.alert_delivery set next_try = now() where next_try is not null")


def mail_settings(mail: MailListener, **more: Any) -> Settings:
    given = {"alert_smtp_host": "127.0.0.1", "alert_smtp_port": mail.port, "alert_smtp_from": "dwh@example.org"}
    return load_settings(**given | {"alert_smtp_to": "ann@example.org, bob@example.org"} | more)


def delivery(store: AlertStore, target: str) -> dict[str, Any]:
    return store.listed()[0]["deliveries"][target]


def test_each_target_is_told_each_alert_once(
    store: AlertStore, web: WebListener, mail: MailListener, caplog: pytest.LogCaptureFixture
) -> None:
    slack = WebListener()
    settings = mail_settings(mail, alert_webhook=web.url, alert_slack=slack.url)
    fail(store, "1", "<!channel> rows & more")
    with serving(slack):
        told(store, settings)
        told(store, settings)
        fail(store, "2", "another")
        told(store, settings)
    assert [[alert["text"] for alert in body["alerts"]] for body in web.bodies] == [["<!channel> rows & more"], ["another"]]
    assert (web.bodies[0]["alerts"][0]["kind"], web.bodies[0]["alerts"][0]["block"]) == ("block_parked", 7)
    assert slack.bodies[0] == {"text": "error, block_parked: &lt;!channel&gt; rows &amp; more"}
    assert len(slack.bodies) == 2
    assert [m.getMessage() for m in caplog.records if m.name == "dwh.alerts"] == [
        "block_parked: <!channel> rows & more",
        "block_parked: another",
    ]
    assert len(mail.mails) == 2
    assert f"Subject: dwh: block_parked {TOPIC}" in mail.mails[0]
    assert "<!channel> rows & more" in mail.mails[0]
    assert {line for line in mail.said if line.startswith("rcpt")} == {"rcpt TO:<ann@example.org>", "rcpt TO:<bob@example.org>"}


def test_what_is_due_together_is_one_message_that_people_can_read(
    store: AlertStore, web: WebListener, mail: MailListener
) -> None:
    for number in range(25):
        fail(store, str(number), f"failure {number}.")
    told(store, mail_settings(mail, alert_webhook=web.url))
    (body,), (text,) = web.bodies, mail.mails
    assert len(body["alerts"]) == 25
    assert "Subject: dwh: 25 alerts" in text
    assert "failure 19." in text
    assert "failure 20." not in text
    assert "and 5 more; `dwh alerts` lists them" in text


def _deliver_in_a_process(database_url: str, url: str) -> None:
    database = Database(database_url, deadline=20)
    targets = targets_of(load_settings(alert_webhook=url))
    _barrier.wait(60)
    for _ in range(6):
        deliver(AlertStore(database), targets)
    database.close()


def _keep(barrier: Any) -> None:
    global _barrier
    _barrier = barrier


def test_two_processes_that_deliver_at_once_tell_each_alert_once(store: AlertStore, web: WebListener) -> None:
    store.database.execute(
        "insert into dwh.alert (kind, key, topic, severity, text) "
        "select 'run_failed', n::text, null, 'error', 'x' from generate_series(1, 1000) n"
    )
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, spawn, _keep, (spawn.Barrier(2),)) as pool:
        for ended in [pool.submit(_deliver_in_a_process, store.database.url, web.url) for _ in range(2)]:
            ended.result(120)
    assert sorted(web.ids) == list(range(1, 1001))


@pytest.mark.parametrize("status", [500, 302, 404])
def test_a_target_that_is_down_at_first_is_told_later_and_stops_no_other(
    store: AlertStore, web: WebListener, mail: MailListener, status: int
) -> None:
    settings = mail_settings(mail, alert_webhook=web.url)
    web.status = status
    fail(store)
    told(store, settings)
    told(store, settings)
    assert (web.bodies, web.gets, len(mail.mails)) == ([], 0, 1)
    failed = delivery(store, "webhook")
    assert (failed["attempts"], failed["problem"]) == (1, f"it answered with HTTP status {status}")
    web.status = 200
    at_once(store)
    told(store, settings)
    told(store, settings)
    assert (len(web.bodies), len(mail.mails)) == (1, 1)
    assert delivery(store, "webhook")["problem"] is None


def window(begin: timedelta, end: timedelta) -> str:
    now = datetime.now(UTC)
    return f"{now + begin:%H:%M}-{now + end:%H:%M}"


def test_alerts_of_quiet_hours_are_sent_when_they_end(store: AlertStore, web: WebListener, mail: MailListener) -> None:
    quiet = window(timedelta(hours=-1), timedelta(hours=1))
    over = window(timedelta(hours=-3), timedelta(hours=-1))
    fail(store)
    told(store, mail_settings(mail, alert_webhook=web.url, alert_webhook_quiet=quiet))
    assert (len(web.bodies), len(mail.mails)) == (0, 1)
    assert store.resolve("1")
    told(store, mail_settings(mail, alert_webhook=web.url, alert_webhook_quiet=over))
    assert len(web.bodies) == 1
    assert "it failed (over since " in web.bodies[0]["text"]


def test_quiet_hours_follow_their_time_zone(store: AlertStore, web: WebListener) -> None:
    quiet = window(timedelta(hours=4), timedelta(hours=6))  # now, five hours east
    fail(store)
    told(store, load_settings(alert_webhook=web.url, alert_webhook_quiet=quiet, alert_timezone="Etc/GMT-5"))
    assert web.bodies == []
    told(store, load_settings(alert_webhook=web.url, alert_webhook_quiet=quiet))
    assert len(web.bodies) == 1


def test_an_open_alert_is_repeated_to_the_target_that_wants_it(store: AlertStore, web: WebListener, mail: MailListener) -> None:
    settings = mail_settings(mail, alert_webhook=web.url, alert_webhook_repeat="4h")
    fail(store)
    told(store, settings)
    store.database.execute("update dwh.alert_delivery set sent_at = sent_at - interval '5 hours'")
    told(store, settings)
    told(store, settings)
    assert (len(web.bodies), len(mail.mails)) == (2, 1)
    store.database.execute("update dwh.alert_delivery set sent_at = sent_at - interval '5 hours'")
    assert store.resolve("1")
    told(store, settings)
    assert len(web.bodies) == 2


UNREACHABLE = [
    "http://127.0.0.1:1/canary",
    "http://canary:canary@127.0.0.1:1/",
    "http://127.0.0.1:1/canary\x7f",
    "https://{host}/canary",
]


@pytest.mark.parametrize("url", UNREACHABLE)
def test_no_address_is_shown_when_a_target_fails(
    store: AlertStore, web: WebListener, caplog: pytest.LogCaptureFixture, url: str
) -> None:
    url = url.format(host=f"127.0.0.1:{web.server_port}")
    settings = load_settings(alert_webhook=url, alert_slack=url)
    fail(store)
    told(store, settings)
    seen = f"{caplog.text} {store.listed()} {targets_of(settings)} {settings}"
    assert delivery(store, "webhook")["problem"]
    assert "did not reach slack" in caplog.text
    assert "canary" not in seen


def test_no_password_is_shown_when_a_mail_server_refuses_it(
    store: AlertStore, mail: MailListener, caplog: pytest.LogCaptureFixture
) -> None:
    settings = mail_settings(mail, alert_smtp_user="ann", alert_smtp_password="canary")
    fail(store)
    mail.takes_password = False
    told(store, settings)
    assert delivery(store, "smtp")["problem"] == "it answered with SMTP status 535 (SMTPAuthenticationError)"
    seen, said = f"{caplog.text} {store.listed()} {settings}", mail.said[-2].split()[-1]
    assert b64decode(said) == b"\0ann\0canary"
    assert "canary" not in seen
    assert said not in seen
    mail.takes_password = True
    at_once(store)
    told(store, settings)
    assert len(mail.mails) == 1


def test_a_mail_server_that_does_not_encrypt_is_given_neither_password_nor_mail(store: AlertStore, mail: MailListener) -> None:
    fail(store)
    told(store, mail_settings(mail, alert_smtp_starttls=True, alert_smtp_user="ann", alert_smtp_password="canary"))
    assert mail.mails == []
    assert not any(line.startswith("AUTH") for line in mail.said)
    assert delivery(store, "smtp")["problem"] == "SMTPNotSupportedError"


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"alert_webhook": "ftp://canary"}, "DWH_ALERT_WEBHOOK: is not a web address"),
        ({"alert_slack": "http://[canary"}, "DWH_ALERT_SLACK: is not a web address"),
        ({"alert_slack_quiet": "22-6"}, "DWH_ALERT_SLACK_QUIET: '22-6' is not a daily window"),
        ({"alert_smtp_repeat": "often"}, "DWH_ALERT_SMTP_REPEAT: 'often' is not a duration"),
        ({"alert_timezone": "Mars"}, "DWH_ALERT_TIMEZONE: unknown time zone"),
        ({"alert_smtp_host": "mail"}, "DWH_ALERT_SMTP_HOST needs DWH_ALERT_SMTP_FROM and DWH_ALERT_SMTP_TO"),
    ],
)
def test_a_setting_that_does_not_fit_is_named_and_no_address_shown(given: dict[str, str], hint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_settings(**given)
    assert hint in str(refused.value)
    assert "canary" not in str(refused.value)


@pytest.fixture
def engine(database_url: str, tmp_path: Path, web: WebListener) -> Iterator[Engine]:
    """An engine whose only work is to tell of one parked block: its module is gone."""
    engine = Engine(load_settings(home=tmp_path, alert_webhook=web.url, tick_seconds=0.02), database_url)
    store = ready(engine.database, 1)
    store.claims().fail(store.claims().claim(TOPIC), "ValueError: no such thing", counts=True, park=True)
    store.apply(sources=())
    yield engine
    engine.close()


def test_the_loop_tells_of_what_it_left_behind_before_it_ends(engine: Engine, web: WebListener) -> None:
    web.status = 500
    assert Loop(engine).run(until_dry=True) == 0
    web.status = 200
    at_once(engine.alerts)
    assert Loop(engine).run(until_dry=True) == 0
    (body,) = web.bodies
    assert "is parked: ValueError: no such thing" in body["text"]


def test_a_target_that_does_not_answer_holds_up_no_tick(
    engine: Engine, web: WebListener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dwh_assets.engine.alert_targets.SECONDS", 60)
    web.let_go.clear()
    with AlertRounds(engine) as rounds:
        rounds.begin_if_due()
        assert web.asked.wait(20)
        rounds.begin_if_due()
        Loop(engine).tick()
        assert web.bodies == []
        web.let_go.set()
    assert len(web.bodies) == 1


def test_a_target_that_never_answers_is_given_up_after_its_time(
    engine: Engine, web: WebListener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dwh_assets.engine.alert_targets.SECONDS", 0.2)
    web.let_go.clear()
    alert_round(engine)
    assert delivery(engine.alerts, "webhook")["problem"] == "it did not answer in time"


def test_a_round_that_fails_ends_in_the_log(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    engine.database.execute("drop table dwh.alert_delivery")
    with caplog.at_level(logging.ERROR):
        alert_round(engine)
    assert "UndefinedTable" in caplog.text
