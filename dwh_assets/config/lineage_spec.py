"""Modules, sources, batches and commands as JSON, as the control store keeps them: durations and windows are text."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import timedelta
from typing import Any, TypeVar, cast

from dwh_assets.model.batch import Batch, Command, Link
from dwh_assets.model.duration import format_duration, parse_duration
from dwh_assets.model.errors import ConfigError
from dwh_assets.model.events import EventField, Events, EventSchema, FileFolder, KafkaTopic, Security
from dwh_assets.model.module import Action, Check, Module, SourceTable, Spec
from dwh_assets.model.parameter import Parameter
from dwh_assets.model.window import Window

_DURATIONS = frozenset(
    {
        "delay",
        "repeat",
        "promise",
        "backoff",
        "span",
        "idle_after",
        "timeout",
        "keep",
        "retention",
        "replay",
        "dedup_age",
        "settle",
    }
)
_PARTS: dict[type, dict[str, type]] = {
    Module: {"checks": Check, "before": Action, "after": Action, "parameters": Parameter},
    Batch: {"modules": Link, "batches": Link, "parameters": Parameter},
    SourceTable: {"kafka": KafkaTopic, "files": FileFolder, "events": Events},
    KafkaTopic: {"security": Security},
    Events: {"schemas": EventSchema},
    EventSchema: {"fields": EventField},
}
T = TypeVar("T")


def to_spec(module: Module) -> Spec:
    return _spec(module)


def from_spec(spec: Spec) -> Module:
    """The module that `to_spec` was given; a field that is absent has its default."""
    return _build(Module, spec)


def source_to_spec(source: SourceTable) -> Spec:
    return _spec(source)


def source_from_spec(spec: Spec) -> SourceTable:
    return _build(SourceTable, spec)


def batch_to_spec(batch: Batch) -> Spec:
    return _spec(batch)


def batch_from_spec(spec: Spec) -> Batch:
    return _build(Batch, spec)


def command_to_spec(command: Command) -> Spec:
    return _spec(command)


def command_from_spec(spec: Spec) -> Command:
    return _build(Command, spec)


def _spec(value: Any) -> Spec:
    return {field.name: _json(getattr(value, field.name)) for field in fields(value)}


def _json(value: Any) -> Any:
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, Window):
        return str(value)
    if isinstance(value, tuple):
        return [_json(entry) for entry in value]
    if is_dataclass(value):
        return _spec(value)
    return dict(value) if isinstance(value, dict) else value


def _build(kind: type[T], spec: Spec) -> T:
    if unknown := sorted(set(spec) - {field.name for field in fields(cast("Any", kind))}):
        text = f"a stored {kind.__name__} has the fields {', '.join(unknown)}, which this version does not know"
        raise ConfigError(f"{text}; nothing was changed. Use the version that stored it, or apply the Lineage again.")
    return kind(**{name: _value(kind, name, value) for name, value in spec.items()})


def _value(kind: type, name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _DURATIONS:
        return parse_duration(value)
    if name == "time":
        return Window.parse(value)
    if part := _PARTS.get(kind, {}).get(name):
        return _build(part, value) if isinstance(value, dict) else tuple(_build(part, entry) for entry in value)
    return tuple(value) if isinstance(value, list) else value
