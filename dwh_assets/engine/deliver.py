"""Deliver: each target is told what is due for it. One that fails is tried again later and stops no other."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from smtplib import SMTPResponseException
from urllib.error import HTTPError, URLError

from dwh_assets.control.alerts import AlertStore
from dwh_assets.engine.alert_targets import Target

logger = logging.getLogger(__name__)


def deliver(store: AlertStore, targets: Sequence[Target]) -> None:
    """One message to each target that is not quiet and has something to be told."""
    now = store.open_deliveries([target.name for target in targets])
    for target in targets:
        if not target.is_quiet(now):
            _tell(store, target)


def _tell(store: AlertStore, target: Target) -> None:
    deliveries = store.claim(target.name, target.repeat)
    if not deliveries:
        return
    try:
        target.send([delivery.alert for delivery in deliveries])
    except Exception as error:  # noqa: BLE001 - whatever a target does is written down, and the others are told
        problem = in_safe_words(error)
        store.failed(target.name, deliveries, problem)
        logger.warning("%d alerts did not reach %s: %s; they are tried again later", len(deliveries), target.name, problem)
    else:
        store.sent(target.name, deliveries)


def in_safe_words(error: BaseException) -> str:
    """What went wrong, without the error's own text where that may hold the address, a name or a password."""
    if isinstance(error, HTTPError):
        return f"it answered with HTTP status {error.code}"
    if isinstance(error, SMTPResponseException):
        return f"it answered with SMTP status {error.smtp_code} ({type(error).__name__})"
    if isinstance(error, URLError) and isinstance(error.reason, BaseException):
        return in_safe_words(error.reason)
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, OSError) and error.errno and error.strerror:
        return error.strerror
    return type(error).__name__
