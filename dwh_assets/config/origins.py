"""Every setting with its value and where that came from; secrets are never shown."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from pydantic import SecretStr

from dwh_assets.config.settings import Settings
from dwh_assets.config.settings_file import hidden, in_environment, is_secret, read_settings
from dwh_assets.model.errors import ConfigError
from dwh_assets.model.near import did_you_mean

Origin = Literal["option", "environment", "file", "default"]
# Variables of the environment that are no settings of a warehouse.
OTHERS = {
    "DWH_JARS": "folder of the Java libraries, shared by all warehouses of a user",
    "DWH_WORKER_PASSWORD": "for `dwh roles apply`: password of dwh_worker",
    "DWH_STEWARD_PASSWORD": "for `dwh roles apply`: password of dwh_steward",
    "DWH_VIEWER_PASSWORD": "for `dwh roles apply`: password of dwh_viewer",
}
_OF_PROCESSES = ("DWH_FAILPOINTS", "DWH_UNPROTECTED", "DWH_RESULT", "DWH_EXECUTION", "DWH_BATCH", "DWH_BATCH_INSTANCE")


@dataclass(frozen=True)
class Setting:
    name: str
    variable: str
    value: Any
    origin: Origin
    description: str


def settings_shown(settings: Settings, options: Collection[str]) -> list[Setting]:
    """Those of every warehouse first; `options` are the names of those given on the command line."""
    in_file, variables = read_settings(settings.project, Settings.model_fields), in_environment(Settings.model_fields)
    first = [name for name in Settings.model_fields if name in Settings.__annotations__]
    names = [*first, *(name for name in Settings.model_fields if name not in first)]
    shown = [_shown(settings, name, _origin(name, options, variables, in_file)) for name in names]
    return [*shown, *(_other(variable) for variable in OTHERS)]


def setting_named(name: str, shown: list[Setting]) -> Setting:
    wanted = name.upper() if name.upper().startswith("DWH_") else f"DWH_{name.upper()}"
    found = next((setting for setting in shown if setting.variable == wanted), None)
    if found is None:
        near = did_you_mean(name.lower().removeprefix("dwh_"), [setting.name for setting in shown])
        raise ConfigError(f"there is no setting {name!r}.{near} `dwh config show` lists them all.")
    return found


def strange_variables() -> list[str]:
    """Variables that look like ours and that nobody reads, each in a sentence."""
    known = {f"DWH_{name.upper()}" for name in Settings.model_fields} | OTHERS.keys() | set(_OF_PROCESSES)
    strange = [v for v in sorted(os.environ) if v.startswith("DWH_") and not v.startswith("DWH_PARAM_") and v not in known]
    return [f"{variable} is no setting.{did_you_mean(variable, known, most=1)}" for variable in strange]


def _origin(name: str, options: Collection[str], variables: Collection[str], in_file: Collection[str]) -> Origin:
    if name in options:
        return "option"
    return "environment" if name in variables else "file" if name in in_file else "default"


def _shown(settings: Settings, name: str, origin: Origin) -> Setting:
    field, value = Settings.model_fields[name], getattr(settings, name)
    return Setting(name, f"DWH_{name.upper()}", _value(value, is_secret(field)), origin, field.description or "")


def _value(value: Any, secret: bool) -> Any:
    if value is None or isinstance(value, (bool, int, float, timedelta)):
        return value
    if isinstance(value, SecretStr):
        text = value.get_secret_value()
        is_store = text.startswith("postgres")  # its host helps, and only its password is secret; a webhook is secret as a whole
        return hidden(text) if is_store else "***" if text else ""
    return "***" if secret else hidden(str(value))


def _other(variable: str) -> Setting:
    value = os.environ.get(variable)
    shown = "***" if value and variable.endswith("_PASSWORD") else value
    origin: Origin = "default" if value is None else "environment"
    return Setting(variable.removeprefix("DWH_").lower(), variable, shown, origin, OTHERS[variable])
