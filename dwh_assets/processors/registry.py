"""Processors by the name that a Lineage file gives."""

from __future__ import annotations

from importlib import import_module

from dwh_assets.model.errors import ConfigError
from dwh_assets.processors.history import History
from dwh_assets.processors.ingest import Ingest
from dwh_assets.processors.processor import Processor
from dwh_assets.processors.reload import Reload
from dwh_assets.processors.step import OneDayStep, Range, Step
from dwh_assets.processors.upsert import Upsert

BUILT_IN: dict[str, type[Processor]] = {
    "step": Step,
    "reload": Reload,
    "range": Range,
    "upsert": Upsert,
    "history": History,
    "one_day_step": OneDayStep,
    "ingest": Ingest,
}


def processor_named(name: str) -> Processor:
    """A built-in processor, or an own class given as `package.module:Class`."""
    if name in BUILT_IN:
        return BUILT_IN[name]()
    path, _, class_name = name.partition(":")
    try:
        found = getattr(import_module(path), class_name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"processor {name!r} cannot be loaded: {error}. Known are {', '.join(BUILT_IN)}.") from error
    if not (isinstance(found, type) and issubclass(found, Processor)):
        raise ConfigError(f"processor {name!r} is not a subclass of dwh_assets.processors.processor.Processor.")
    return found()
