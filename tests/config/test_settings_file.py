"""dwh.toml: what it may hold, what comes before it, and where each value is said to come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from dwh_assets.config.origins import setting_named, settings_shown, strange_variables
from dwh_assets.config.settings import Settings, load_settings
from dwh_assets.model.errors import ConfigError


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(project: Path, text: str) -> None:
    (project / "dwh.toml").write_text(text)


def origins(settings: Settings, *options: str) -> dict[str, str]:
    return {setting.name: setting.origin for setting in settings_shown(settings, options)}


def test_an_option_comes_before_the_environment_that_before_the_file_and_that_before_the_default(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, 'home = "a"\nslots = 3\nturn_blocks = 7\n')
    monkeypatch.setenv("DWH_HOME", "b")
    monkeypatch.setenv("DWH_SLOTS", "4")
    settings = load_settings(home=Path("c"))
    assert (settings.home, settings.slots, settings.turn_blocks, settings.tick_seconds) == (project / "c", 4, 7, 1)
    found = origins(settings, "home")
    assert [found[name] for name in ("home", "slots", "turn_blocks", "tick_seconds")] == [
        *("option", "environment", "file", "default")
    ]


def test_folders_in_the_file_are_meant_as_seen_from_it(project: Path) -> None:
    shop = project / "shop"
    shop.mkdir()
    write(shop, 'home = "state"\nwarehouse = "s3://bucket/dwh"\n')
    settings = load_settings(project=shop)
    assert (settings.home, settings.warehouse_root) == (shop / "state", "s3://bucket/dwh")


def test_a_setting_that_is_a_mapping_is_a_table_of_the_file(project: Path) -> None:
    write(project, '[spark_options]\n"spark.executor.memory" = "4g"\n')
    assert load_settings().spark_options == {"spark.executor.memory": "4g"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("slot = 3", "there is no setting 'slot'. Did you mean slots?"),
        ('postgres_url = "postgresql://localhost/dwh"', "set DWH_POSTGRES_URL in the environment"),
        ('alert_slack = "https://example.org/canary"', "set DWH_ALERT_SLACK in the environment"),
        ('spark_remote = "sc://host:15002/;token=canary"', "set DWH_SPARK_REMOTE in the environment"),
        ('slots = "canary"', "dwh.toml: slots:"),
        ("slots = {a = 1}", "is one value"),
        ('spark_options = {"spark.hadoop.fs.s3a.secret.key" = "canary"}', "set DWH_SPARK_OPTIONS in the environment"),
        ('spark_options = {a = {b = "https://user:canary@host"}}', "set DWH_SPARK_OPTIONS in the environment"),
        ('project = "."', "is the folder of this file"),
        ("slots =", "cannot be read as TOML"),
    ],
)
def test_what_does_not_fit_is_refused_by_name_and_never_shown(project: Path, text: str, said: str) -> None:
    write(project, text)
    with pytest.raises(ConfigError) as refused:
        load_settings()
    assert said in str(refused.value)
    assert "canary" not in str(refused.value)


def test_a_file_that_is_a_folder_is_said(project: Path) -> None:
    (project / "dwh.toml").mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings()


def test_secrets_are_masked_and_where_a_database_is_can_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DWH_POSTGRES_URL", "postgresql://ann:canary@db.example:5432/dwh")
    monkeypatch.setenv("DWH_ALERT_WEBHOOK", "https://example.org/canary")
    monkeypatch.setenv("DWH_SPARK_REMOTE", "sc://spark:15002/;token=canary")
    monkeypatch.setenv("DWH_WORKER_PASSWORD", "canary")
    shown = settings_shown(load_settings(), ())
    assert "canary" not in str(shown)
    assert setting_named("postgres_url", shown).value == "postgresql://ann:***@db.example:5432/dwh"
    assert setting_named("DWH_ALERT_WEBHOOK", shown).value == "***"
    assert {setting.name for setting in shown} >= set(Settings.model_fields)


def test_an_unknown_setting_and_a_variable_that_nobody_reads_name_the_near_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="Did you mean spark_memory"):
        setting_named("spark_memroy", settings_shown(load_settings(), ()))
    monkeypatch.setenv("DWH_SLOT", "3")
    monkeypatch.setenv("DWH_PARAM_RATE", "3")
    assert "DWH_SLOT is no setting. Did you mean DWH_SLOTS?" in strange_variables()
    assert not any("DWH_PARAM" in text for text in strange_variables())
