"""Where columns come from, noted once for each version of a module: by an apply, or after its first block."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dwh_assets.config.sql_parameters import bound
from dwh_assets.engine.engine import Engine
from dwh_assets.model.column_lineage import ColumnLineage
from dwh_assets.model.errors import ConfigError, Transient, in_words
from dwh_assets.model.module import Lineage, Module
from dwh_assets.model.parameter import resolve
from dwh_assets.processors.columns import column_lineage
from dwh_assets.processors.registry import processor_named
from dwh_assets.processors.transform import code_version
from dwh_assets.warehouse.session import spark_errors

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

logger = logging.getLogger(__name__)
AT_A_TIME = 3


def note_loaded(engine: Engine, lineage: Lineage) -> int:
    """Of the modules whose newest block was made by a version that is not known yet, a few at a time: whoever ticks waits for it.
    Returns how many were noted."""
    if not engine.spark.running():
        return 0
    waiting = {row["module"]: row["code_version"] for row in engine.columns.unknown()}
    modules = [m for m in lineage.modules if waiting.get(m.name) is not None and _is_now(engine, lineage, m, waiting[m.name])]
    return note_columns(engine, lineage, modules[:AT_A_TIME])


def _is_now(engine: Engine, lineage: Lineage, module: Module, code: str) -> bool:
    try:
        return _code(engine, lineage, module) == code
    except ConfigError:
        return False  # a transform is gone: the next attempt at a block says so


def note_columns(engine: Engine, lineage: Lineage, modules: Iterable[Module]) -> int:
    """Ask Spark about each that is not known as its files are now. One that cannot be understood is noted with the reason, and
    stalls no other: nothing that is loaded depends on it."""
    noted, schemas = 0, dict[str, "StructType"]()
    for module in modules:
        code = _code(engine, lineage, module)
        version = engine.columns.version(module.name, code)
        if version is None:
            continue
        try:
            with spark_errors():
                found, problem = _ask(engine, lineage, module, schemas), None
        except Transient as error:
            logger.warning("the columns of %s could not be followed now: %s", module.name, error)
            continue
        except Exception as error:  # noqa: BLE001 - written down with the module, whatever a transform raises
            found, problem = ColumnLineage({}, ()), in_words(error)
        engine.columns.note(module.name, version, code, found, problem)
        noted += 1
    return noted


def _code(engine: Engine, lineage: Lineage, module: Module) -> str:
    return code_version(module, engine.settings.transforms_folder, resolve(lineage.parameters, (), module.parameters))


def _ask(engine: Engine, lineage: Lineage, module: Module, schemas: dict[str, StructType]) -> ColumnLineage:
    session = engine.session()
    for name in module.inputs:
        if name not in schemas:
            source = engine.source(name, lineage)
            schemas[name] = source.read(session, None, source.snapshot(), None).schema
    valued = bound(module, resolve(lineage.parameters, (), module.parameters))
    inputs = {name: schemas[name] for name in module.inputs}
    return column_lineage(session, valued, processor_named(module.processor), engine.settings.transforms_folder, inputs)
