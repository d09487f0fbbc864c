"""How often a batch runs: cron expressions and the period that is running."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError


def problem_of(expression: str) -> str | None:
    """What is wrong with a cron expression of five fields; None where it is right."""
    if len(expression.split()) != 5:
        return "it has not five fields"
    try:
        CronSim(expression, datetime.now(UTC))
    except CronSimError as error:
        return str(error).lower()
    return None


def period_start(expression: str, timezone: str, now: datetime) -> datetime:
    """When the expression was last due, at or before `now`."""
    local = now.astimezone(ZoneInfo(timezone))
    return next(CronSim(expression, local.replace(second=59, microsecond=999_999), reverse=True)).astimezone(UTC)
