"""Settings of an object store reach both that write there, and a secret reaches nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from dwh_assets.config.settings import Settings, load_settings
from dwh_assets.model.errors import ConfigError
from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.object_store import ObjectStore, object_store
from dwh_assets.warehouse.server import SparkServer

URL = "postgresql://me:x@127.0.0.1:1/dwh"


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Settings:
    for name, value in {
        "WAREHOUSE": "s3://lake/dwh", "S3_ENDPOINT": "http://127.0.0.1:9000", "S3_REGION": "eu-west-1", "S3_PATH_STYLE": "true",
        "S3_ACCESS_KEY": "reader", "S3_SECRET_KEY": "canary-51d0",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"DWH_{name}", value)
    return load_settings(home=tmp_path)


def store_of(settings: Settings) -> ObjectStore:
    store = object_store(settings)
    assert store is not None
    return store


def test_pyiceberg_and_spark_are_told_the_same_in_their_words(settings: Settings) -> None:
    store = store_of(settings)
    properties = Catalog(URL, settings.warehouse_root, store).sql.properties
    assert properties["s3.endpoint"] == store.for_spark()[".s3.endpoint"] == "http://127.0.0.1:9000"
    assert properties["s3.region"] == store.for_spark()[".client.region"] == "eu-west-1"
    assert properties["s3.access-key-id"] == store.for_spark()[".s3.access-key-id"] == "reader"
    assert properties["s3.secret-access-key"] == store.for_spark()[".s3.secret-access-key"] == "canary-51d0"
    assert "s3.force-virtual-addressing" not in properties
    assert store.for_spark()[".s3.path-style-access"] == "true"
    assert store.for_spark()[".io-impl"].endswith("S3FileIO")


def test_a_secret_is_neither_shown_nor_given_to_the_server(settings: Settings) -> None:
    server = SparkServer(settings)
    assert "canary-51d0" not in f"{settings!r} {store_of(settings)!r} {server._conf(1)} {server._environment()}"


def test_without_a_login_it_is_left_to_the_libraries_of_the_store() -> None:
    assert object_store(load_settings(warehouse="/srv/tables")) is None
    assert store_of(load_settings(warehouse="s3://lake")).for_pyiceberg() == {}
    with pytest.raises(ConfigError, match="go together"):
        object_store(load_settings(warehouse="s3://lake", s3_access_key="reader"))
