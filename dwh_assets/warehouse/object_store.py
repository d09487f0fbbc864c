"""An object store as the root of the tables, in the words of the two that write there: pyiceberg, and Iceberg in Spark."""

from __future__ import annotations

from dataclasses import dataclass, field

from dwh_assets.config.settings import Settings
from dwh_assets.model.errors import ConfigError

PACKAGE = ("org.apache.iceberg", "iceberg-aws-bundle", "1.12.0")
SCHEMES = ("s3://", "s3a://", "s3n://")


@dataclass(frozen=True)
class ObjectStore:
    """What is not given is left to the chain of AWS's libraries: AWS_* variables, profiles, the role of the machine."""

    endpoint: str | None = None
    region: str | None = None
    path_style: bool = False
    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)

    def for_pyiceberg(self) -> dict[str, str]:
        return _given(
            {
                "s3.endpoint": self.endpoint,
                "s3.region": self.region,
                "s3.access-key-id": self.access_key,
                "s3.secret-access-key": self.secret_key,
                "s3.force-virtual-addressing": None if self.path_style or self.endpoint is None else "true",
            }
        )

    def for_spark(self) -> dict[str, str]:
        """Settings of a session's catalog. The secret travels here, not on Java's command line."""
        return _given(
            {
                ".io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
                ".s3.endpoint": self.endpoint,
                ".client.region": self.region,
                ".s3.access-key-id": self.access_key,
                ".s3.secret-access-key": self.secret_key,
                ".s3.path-style-access": "true" if self.path_style else None,
            }
        )


def object_store(settings: Settings) -> ObjectStore | None:
    """The store that holds the tables; None where it is a folder."""
    if not settings.warehouse_root.startswith(SCHEMES):
        return None
    key, secret = settings.s3_access_key, settings.s3_secret_key
    if (key is None) != (secret is None):
        raise ConfigError("DWH_S3_ACCESS_KEY and DWH_S3_SECRET_KEY go together: set both, or neither and AWS_* instead.")
    return ObjectStore(
        settings.s3_endpoint,
        settings.s3_region,
        settings.s3_path_style,
        None if key is None else key.get_secret_value(),
        None if secret is None else secret.get_secret_value(),
    )


def _given(properties: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in properties.items() if value is not None}
