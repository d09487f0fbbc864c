"""Dagster's instance for a warehouse: its folder, `home/dagster`, and what is set there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from dwh_assets.config.settings import Settings

# On every process: a restatement of a thousand blocks is reported in two seconds instead of a minute.
ENVIRONMENT = {"DAGSTER_EVENT_BATCH_SIZE": "1000", "DAGSTER_EMIT_PARTITION_SUBSET_IN_PLANNED_EVENTS": "true"}


def prepare_home(settings: Settings) -> Path:
    """Write dagster.yaml, as it follows from the settings; returns the folder that DAGSTER_HOME must name."""
    folder = settings.home / "dagster"
    folder.mkdir(parents=True, exist_ok=True)
    header = "# Written by dwh at each start from its own settings (docs/dagster.md); changes here are lost.\n"
    (folder / "dagster.yaml").write_text(header + yaml.safe_dump(_configuration(settings), sort_keys=False))
    return folder


def environment(settings: Settings) -> dict[str, str]:
    """What every Dagster process of this warehouse must find in its environment."""
    own = {"DAGSTER_HOME": str(settings.home / "dagster"), "DWH_HOME": str(settings.home), "DWH_PROJECT": str(settings.project)}
    return own | ENVIRONMENT


def join(settings: Settings) -> None:
    """Let this process be one of the warehouse's Dagster. All that counts of an instance is in the control store, so where nobody
    has named its folder one of our own does as well; to be called before Dagster is imported, which reads some of it then."""
    if "DAGSTER_HOME" not in os.environ and not (settings.home / "dagster" / "dagster.yaml").exists():
        prepare_home(settings)
    for name, value in environment(settings).items():
        os.environ.setdefault(name, value)


def _configuration(settings: Settings) -> dict[str, Any]:
    folder = settings.home / "dagster"
    return {
        "storage": {
            "custom": {
                "module": "dwh_assets.orchestration.storage",
                "class": "ControlStoreStorage",
                "config": {"home": str(settings.home)},
            }
        },
        # The launcher's queue is enough: a second one before it would only add its own second of waiting.
        "run_coordinator": {"module": "dagster.core.run_coordinator", "class": "DefaultRunCoordinator"},
        "run_launcher": {
            "module": "dwh_assets.orchestration.launcher",
            "class": "WarmRunLauncher",
            "config": {"home": str(settings.home)},
        },
        # A run may wait long for a free worker; that its worker lives is asked for apart from that.
        "run_monitoring": {"enabled": True, "start_timeout_seconds": 86_400, "poll_interval_seconds": 10},
        "compute_logs": {
            "module": "dwh_assets.orchestration.output",
            "class": "RunOutput",
            "config": {"base_dir": str(folder / "logs")},
        },
        "local_artifact_storage": {
            "module": "dagster._core.storage.root",
            "class": "LocalArtifactStorage",
            "config": {"base_dir": str(folder)},
        },
        "retention": {"sensor": {"purge_after_days": {"skipped": 2, "failure": 14, "success": 14}}},
        "sensors": {"use_threads": True, "num_workers": 4},
        "freshness": {"enabled": True},
        "telemetry": {"enabled": False},
        "nux": {"enabled": False},
    }
