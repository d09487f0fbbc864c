"""Settings of an object store that holds the tables; where they lie in a folder, none of them is needed."""

from __future__ import annotations

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings


class StoreSettings(BaseSettings):
    s3_endpoint: str | None = Field(None, description="http(s)://host:port of an S3 store that is not Amazon's")
    s3_region: str | None = Field(None, description="its region; else AWS_REGION")
    s3_path_style: bool = Field(False, description="name buckets in the path, not in the host: most stores but Amazon's want it")
    s3_access_key: SecretStr | None = Field(None, description="its login; else what AWS's own libraries find: AWS_*, roles")
    s3_secret_key: SecretStr | None = Field(None, description="its password")
