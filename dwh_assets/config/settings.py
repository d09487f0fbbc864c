"""Every setting: from an option, the environment (`DWH_*`) or `dwh.toml`, in this order, with defaults that fit one machine."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import SettingsConfigDict

from dwh_assets.config.alert_settings import AlertSettings
from dwh_assets.config.maintenance_settings import MaintenanceSettings
from dwh_assets.config.openlineage_settings import OpenLineageSettings
from dwh_assets.config.settings_file import NAME, in_environment, project_folder, read_settings
from dwh_assets.config.store_settings import StoreSettings
from dwh_assets.config.worker_settings import WorkerSettings
from dwh_assets.model.errors import ConfigError


class Settings(AlertSettings, MaintenanceSettings, OpenLineageSettings, StoreSettings, WorkerSettings):
    """Settings of one warehouse. Paths are absolute once loaded."""

    model_config = SettingsConfigDict(env_prefix="DWH_", frozen=True)

    home: Path = Field(Path(".dwh"), description="folder with all state of an embedded warehouse: Postgres, tables, logs")
    project: Path = Field(Path(), description="folder that holds lineage/ and sql/transforms/")
    postgres_url: SecretStr | None = Field(None, description="control database; without it an embedded Postgres runs in home")
    spark_remote: str | None = Field(None, description="sc://host:port of a Spark Connect server; without it one is started")
    spark_master: str = Field("local[*]", description="master of the started server: local[N] or spark://host:port")
    spark_memory: str = Field("4g", description="heap of the started server")
    spark_host: str = Field("127.0.0.1", description="address by which the executors of a cluster reach the started server")
    spark_options: dict[str, str] = Field(
        {}, description="more settings of the started server, such as its executors' and Java's; JSON, or a table"
    )
    kafka_bootstrap: str | None = Field(None, description="host:port of the brokers of the bus and of sources that name none")
    warehouse: str | None = Field(None, description="root of the Iceberg tables: a folder or s3://...; default home/warehouse")
    lease_seconds: float = Field(60, gt=0, description="a worker that does not renew for this long loses its topic")
    tick_seconds: float = Field(1, gt=0, description="pause between two ticks of the loop when nothing is due")
    slots: int = Field(2, ge=1, le=64, description="blocks loaded side by side by one loop")
    deadline_seconds: float = Field(30, gt=0, description="how long a lost control database or Spark is waited for")
    block_seconds: float = Field(60, gt=0, description="time that a block should take while its topic is behind")
    ui_port: int = Field(3000, ge=1, le=65535, description="port of Dagster's UI on this machine; a free one if it is taken")
    metrics_port: int = Field(9464, ge=0, le=65535, description="port of the metrics; a free one if it is taken; 0: none")
    demo_feed: bool = Field(False, description="`dwh up` feeds the sources of the demo: a project that is not the demo leaves it")
    log_format: Literal["text", "json"] = Field("text", description="form of the log lines in home/logs")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="least level that is logged")

    @property
    def warehouse_root(self) -> str:
        return self.warehouse or str(self.home / "warehouse")

    @property
    def lineage_folder(self) -> Path:
        return self.project / "lineage"

    @property
    def transforms_folder(self) -> Path:
        return self.project / "sql" / "transforms"


def load_settings(**overrides: object) -> Settings:
    """Overrides come before the environment, that before the project's file; what does not fit is named with its place."""
    given = read_settings(project_folder(overrides.get("project")), Settings.model_fields)
    from_file = {name: given[name] for name in given.keys() - in_environment(given) - overrides.keys()}
    try:
        loaded = Settings(**overrides | from_file)  # type: ignore[arg-type]
    except ValidationError as error:
        lines = [_refusal(e, from_file) for e in error.errors()]
        raise ConfigError("settings refused:\n" + "\n".join(lines)) from None
    return loaded.model_copy(update={"home": loaded.home.absolute(), "project": loaded.project.absolute()})


def _refusal(details: ErrorDetails, from_file: Collection[str]) -> str:
    """Never the value: it may be a secret."""
    text = str(details.get("ctx", {}).get("error", details["msg"]))
    name = str(details["loc"][0]) if details["loc"] else ""
    place = f"{NAME}: {name}" if name in from_file else f"DWH_{name.upper()}"
    return f"{place}: {text}" if name else text
