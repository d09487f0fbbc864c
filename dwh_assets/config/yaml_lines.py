"""YAML as plain values, with the line of every key and entry."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import yaml

Path = tuple[str | int, ...]  # where a value stands: ("checks", 0, "not_null")


class YamlRefused(Exception):
    """A file that is not plain YAML, with the line where that shows."""

    def __init__(self, line: int, text: str) -> None:
        self.line = line
        super().__init__(text)


class _Loader(yaml.SafeLoader):
    """YAML without its traps: no dates, no base 60 or octal numbers, `no` and `on` are words, no aliases."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise YamlRefused(self.peek_event().start_mark.line + 1, "an alias (*name) is not allowed; write the value out")
        return super().compose_node(parent, index)


for _tag, _pattern, _first in (
    ("bool", r"true|false|True|False", "tfTF"),
    ("int", r"0|[-+]?[1-9][0-9_]*", "-+0123456789"),
    ("float", r"[-+]?[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?", "-+0123456789"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), [*_first.replace("\0", ""), ""])


@dataclass(frozen=True)
class Document:
    value: Any
    lines: dict[Path, int] = field(default_factory=dict)

    def line(self, path: Path) -> int:
        """The line of this path, or of the nearest thing around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_yaml(text: str) -> Document:
    """One YAML document; anything else is `YamlRefused`."""
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        lines: dict[Path, int] = {}
        return Document(_value(loader, node, (), lines) if node else None, lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlRefused(mark.line + 1 if mark else 1, f"not valid YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise YamlRefused(1, f"not valid YAML: {type(error).__name__}") from None


def _value(loader: _Loader, node: yaml.Node, path: Path, lines: dict[Path, int]) -> Any:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        return [_value(loader, entry, (*path, i), lines) for i, entry in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        return _mapping(loader, node, path, lines)
    return loader.construct_object(node)


def _mapping(loader: _Loader, node: yaml.MappingNode, path: Path, lines: dict[Path, int]) -> dict[Hashable, Any]:
    values: dict[Hashable, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise YamlRefused(line, "a key must be a word")
        key = str(key_node.value)
        if key in values:
            raise YamlRefused(line, f"{key}: given twice, first in line {lines[(*path, key)]}")
        lines[(*path, key)] = line
        values[key] = _value(loader, value_node, (*path, key), lines)
    return values
