"""Settings of OpenLineage: where the events of executions go, if anywhere."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings

from dwh_assets.config.alert_settings import WebUrl


class OpenLineageSettings(BaseSettings):
    """Without a file and an address nothing is sent."""

    openlineage_url: WebUrl | None = Field(None, description="address that OpenLineage events are posted to")
    openlineage_key: SecretStr | None = Field(None, description="its API key, sent as a bearer token")
    openlineage_file: Path | None = Field(None, description="file that OpenLineage events are added to, one a line")
    openlineage_namespace: str = Field("dwh", min_length=1, description="namespace of this warehouse's jobs and tables")
