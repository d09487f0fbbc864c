"""Where alerts are told: the log, a webhook, Slack, mail. Each sends one message for all that is due, or raises."""

from __future__ import annotations

import json
import logging
import smtplib
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.message import EmailMessage
from functools import partial
from typing import IO, Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from pydantic import SecretStr

from dwh_assets.config.settings import Settings
from dwh_assets.model.alert import Alert
from dwh_assets.model.window import Window

SECONDS = 5.0  # that a server may take for each answer
_SHOWN = 20  # alerts in one message for people
_LENGTH = 1500  # characters of one alert in it
told = logging.getLogger("dwh.alerts")


@dataclass(frozen=True)
class Target:
    """One place to tell alerts. `send` knows its address and password, so it is never shown."""

    name: str
    send: Callable[[Sequence[Alert]], None] = field(repr=False)
    repeat: timedelta | None = None
    quiet: Window | None = None
    timezone: str = "UTC"

    def is_quiet(self, now: datetime) -> bool:
        return self.quiet is not None and self.quiet.is_open(now, self.timezone)


def targets_of(settings: Settings) -> tuple[Target, ...]:
    """The log, and what the settings name."""
    s, zone = settings, settings.alert_timezone
    found = [Target("log", _log)]
    if s.alert_webhook:
        found.append(Target("webhook", partial(_webhook, s.alert_webhook), s.alert_webhook_repeat, s.alert_webhook_quiet, zone))
    if s.alert_slack:
        found.append(Target("slack", partial(_slack, s.alert_slack), s.alert_slack_repeat, s.alert_slack_quiet, zone))
    if s.alert_smtp_host:
        found.append(Target("smtp", partial(_mail, s), s.alert_smtp_repeat, s.alert_smtp_quiet, zone))
    return tuple(found)


def _log(alerts: Sequence[Alert]) -> None:
    for alert in alerts:
        told.warning("%s: %s", alert.kind, _text(alert))


def _webhook(url: SecretStr, alerts: Sequence[Alert]) -> None:
    _post(url, {"text": _message(alerts), "alerts": [_as_json(alert) for alert in alerts]})


def _slack(url: SecretStr, alerts: Sequence[Alert]) -> None:
    # Unescaped, a text could call a whole channel: <!channel>.
    text = _message(alerts).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    _post(url, {"text": text})


def _mail(settings: Settings, alerts: Sequence[Alert]) -> None:
    message = EmailMessage()
    message["Subject"] = f"dwh: {_title(alerts)}"
    message["From"], message["To"] = settings.alert_smtp_from, settings.alert_smtp_to
    message.set_content(_message(alerts))
    with smtplib.SMTP(settings.alert_smtp_host or "", settings.alert_smtp_port, timeout=SECONDS) as server:
        if settings.alert_smtp_starttls:
            server.starttls(context=ssl.create_default_context())
        if settings.alert_smtp_user and settings.alert_smtp_password:
            server.login(settings.alert_smtp_user, settings.alert_smtp_password.get_secret_value())
        server.send_message(message)


class _NoRedirect(HTTPRedirectHandler):
    """A redirected POST becomes a GET, whose answer would count as an arrival."""

    def redirect_request(self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str) -> None:
        return None


def _post(url: SecretStr, body: dict[str, Any]) -> None:
    headers = {"Content-Type": "application/json", "User-Agent": "dwh"}
    request = Request(url.get_secret_value(), json.dumps(body).encode(), headers)  # noqa: S310 - the settings allow http(s) only
    try:
        build_opener(_NoRedirect).open(request, timeout=SECONDS).close()
    except HTTPError as error:
        error.close()  # it is the answer too, with a socket
        raise


def _as_json(alert: Alert) -> dict[str, Any]:
    return {
        "id": alert.id,
        "kind": alert.kind,
        "key": alert.key,
        "topic": alert.topic,
        "block": alert.block_id,
        "severity": alert.severity,
        "text": alert.text,
        "raised_at": alert.raised_at.isoformat(),
        "resolved_at": alert.resolved_at.isoformat() if alert.resolved_at else None,
    }


def _message(alerts: Sequence[Alert]) -> str:
    left = len(alerts) - _SHOWN
    more = [f"and {left} more; `dwh alerts` lists them"] if left > 0 else []
    return "\n\n".join([*(f"{alert.severity}, {alert.kind}: {_text(alert)}" for alert in alerts[:_SHOWN]), *more])


def _title(alerts: Sequence[Alert]) -> str:
    first = alerts[0]
    return f"{len(alerts)} alerts" if len(alerts) > 1 else " ".join(filter(None, [first.kind, first.topic]))


def _text(alert: Alert) -> str:
    over = f" (over since {alert.ended:%Y-%m-%d %H:%M:%S} UTC)" if alert.ended else ""
    return alert.text[:_LENGTH] + over
