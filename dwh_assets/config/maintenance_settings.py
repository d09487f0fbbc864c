"""Settings of maintenance: how long things are kept, and when files are small."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from pydantic import Field
from pydantic_settings import BaseSettings, NoDecode

from dwh_assets.config.lineage_fields import PositiveDuration

Age = Annotated[PositiveDuration, NoDecode]
MEGABYTE = 1024 * 1024


def _days(days: int, description: str) -> Any:
    """Settings check their defaults as they check what is given: as text."""
    return Field(timedelta(days=days), validate_default=False, description=description)


class MaintenanceSettings(BaseSettings):
    """Ages are durations with their unit, such as 12h or 7d."""

    compact_files: int = Field(
        8, ge=2, description="more small files than this in a day of a table are rewritten into larger ones"
    )
    compact_bytes: int = Field(128 * MEGABYTE, ge=1, description="size of a rewritten file; one of less than 3/4 of it is small")
    snapshots_for: Age = _days(7, "how long a snapshot stays readable once a newer one is current; longer than any query")
    snapshots_most: int = Field(
        2000, ge=1, description="a table with more snapshots forgets its oldest, however young; each commit writes them all"
    )
    orphans_after: Age = _days(1, "age from which on a file that no table knows is deleted; longer than any attempt")
    history_for: Age = _days(90, "how long failed attempts, alerts, workers and batch runs are kept")
    events_for: Age = _days(365, "how long the event log is kept")
    audit_rows: int = Field(
        10_000_000, ge=0, description="base rows of old blocks that are counted again in an hour, by all processes; 0: none"
    )
    dagster_for: Age = _days(30, "how long Dagster's runs and their events are kept")
