"""`dwh.toml` in the project folder: settings by their names, without `DWH_`; secrets stay in the environment."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from dwh_assets.model.errors import ConfigError
from dwh_assets.model.near import did_you_mean

NAME = "dwh.toml"
FOLDERS = ("home", "warehouse")  # a relative one is meant as seen from the file
_SECRET = re.compile(r"://[^/@\s]*:[^/@\s]+@|(?i:password|token|secret)=")
_SECRET_NAME = re.compile(r"(?i)password|token|secret")


def project_folder(given: object = None) -> Path:
    return Path(str(given or os.environ.get("DWH_PROJECT") or ".")).absolute()


def read_settings(project: Path, known: Mapping[str, FieldInfo]) -> dict[str, Any]:
    """What the file of this project says; nothing where there is none."""
    file = project / NAME
    try:
        with file.open("rb") as opened:
            given = tomllib.load(opened)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read as TOML: {error}\nNothing was started or changed.") from None
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}. Nothing was started or changed.") from None
    problems = [problem for name, value in given.items() if (problem := _problem(name, value, known))]
    if problems:
        raise ConfigError("settings refused; nothing was started or changed:\n" + "\n".join(f"{file}: {p}" for p in problems))
    return {name: _placed(project, name, value) for name, value in given.items()}


def is_secret(field: FieldInfo) -> bool:
    return "SecretStr" in str(field.annotation) or field.annotation is SecretStr


def hidden(text: str) -> str:
    """Without the parts of it that are secrets."""
    text = re.sub(r"(://[^/@:\s]*:)[^/@\s]+@", r"\1***@", text)
    return re.sub(r"((?i:password|token|secret)=)[^;&\s]+", r"\1***", text)


def _problem(name: str, value: object, known: Mapping[str, FieldInfo]) -> str | None:
    if name == "project":
        return "project: is the folder of this file; leave it out"
    if name not in known:
        return f"there is no setting {name!r}.{did_you_mean(name, known)} `dwh config show` lists them all."
    if is_secret(known[name]) or _holds_secret(value):
        return f"{name}: secrets are not kept in a file; set DWH_{name.upper()} in the environment"
    if isinstance(value, list) or (isinstance(value, dict) and get_origin(known[name].annotation) is not dict):
        return f"{name}: is one value, not a table or a list"
    return None


def _holds_secret(value: object) -> bool:
    """By the look of a text, and in a table by the names of its entries, too."""
    if isinstance(value, dict):
        return any(_SECRET_NAME.search(key) or _holds_secret(inner) for key, inner in value.items())
    return isinstance(value, str) and _SECRET.search(value) is not None


def _placed(project: Path, name: str, value: Any) -> Any:
    is_path = name in FOLDERS and isinstance(value, str) and "://" not in value
    return str(project / value) if is_path else value


def in_environment(names: Collection[str]) -> set[str]:
    """Those settings that the environment sets."""
    variables = {variable.upper() for variable in os.environ}
    return {name for name in names if f"DWH_{name.upper()}" in variables}
