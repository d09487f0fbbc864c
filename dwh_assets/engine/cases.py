"""Running the cases of transforms: no warehouse is needed, and where there is one its columns give the types."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from dwh_assets.config.case_files import Case
from dwh_assets.config.lineage_fields import nearest
from dwh_assets.engine.naming import module_of
from dwh_assets.engine.previewing import harmless
from dwh_assets.model.column import TableColumn
from dwh_assets.model.errors import ConfigError, DwhError
from dwh_assets.model.module import Lineage, Module
from dwh_assets.model.parameter import Parameter, canonical, resolve
from dwh_assets.model.position import Bounds
from dwh_assets.model.row_diff import RowDiff, compare
from dwh_assets.processors.cases import Given, expected_and_given, transformed
from dwh_assets.processors.registry import processor_named
from dwh_assets.warehouse.session import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

Row = Mapping[str, Any]
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def nothing_known(table: str) -> list[TableColumn] | None:
    """Where there is no warehouse: types are told from the values."""
    return None


@dataclass(frozen=True)
class Result:
    case: Case
    diff: RowDiff
    problem: str | None
    seconds: float

    @property
    def passed(self) -> bool:
        return self.problem is None and self.diff.empty


@dataclass(frozen=True)
class CaseRunner:
    """Runs transforms on rows that are given. `columns` tells the real columns of a table, where there is one."""

    session: SparkSession
    lineage: Lineage
    transforms: Path
    columns: Callable[[str], list[TableColumn] | None] = nothing_known
    _known: dict[str, list[TableColumn] | None] = field(default_factory=dict)

    def check(self, case: Case) -> Result:
        """Run one case; what is wrong with it is part of its result, so that the others run."""
        began = monotonic()
        try:
            with spark_errors():
                output = self._output(case.module, case.form.given, case.form.parameters, case.bounds, case.types)
                expected, given = expected_and_given(self.session, output, case.form.expect, case.module)
        except Exception as error:  # noqa: BLE001 - a transform may fail in any way, and that is a result
            text = str(error) if isinstance(error, DwhError) else f"{type(error).__name__}: {error}"
            return Result(case, RowDiff(), text.split("\n\nJVM stacktrace")[0], monotonic() - began)
        return Result(case, compare(expected, given), None, monotonic() - began)

    def run(
        self,
        table: str,
        given: Mapping[str, Sequence[Row]],
        *,
        parameters: Mapping[str, Any] | None = None,
        bounds: Bounds | None = None,
        types: Mapping[str, Mapping[str, str]] | None = None,
    ) -> list[dict[str, Any]]:
        """The rows that a table's transforms make of these; values as YAML and JSON have them."""
        with spark_errors():
            return self._output(table, given, parameters or {}, bounds, types or {}).toArrow().to_pylist()

    def _output(
        self,
        table: str,
        given: Mapping[str, Sequence[Row]],
        parameters: Mapping[str, Any],
        bounds: Bounds | None,
        types: Mapping[str, Mapping[str, str]],
    ) -> DataFrame:
        module, _ = module_of(self.lineage, table)
        for unknown in [*(name for name in given if name not in module.inputs), *(n for n in types if n not in module.inputs)]:
            raise ConfigError(f"{module.name} does not read {unknown}{nearest(unknown, module.inputs)}; it reads its inputs only")
        inputs = [
            Given(name, self._types(module, name, given, types.get(name, {})), given.get(name, ())) for name in module.inputs
        ]
        valued, _ = harmless(module, self._parameters(module, parameters))
        return transformed(self.session, valued, processor_named(module.processor), self.transforms, inputs, bounds)

    def _types(
        self, module: Module, name: str, given: Mapping[str, Sequence[Row]], declared: Mapping[str, str]
    ) -> dict[str, str]:
        """The real types, where a table is known; else what its values look like. What the file says counts more than both."""
        if name not in self._known:
            self._known[name] = self.columns(name)
        rows, known = given.get(name, ()), self._known[name]
        used = list(dict.fromkeys(column for row in rows for column in row))
        if known is None:
            guessed = {column: _guess([row.get(column) for row in rows]) for column in used}
            positions = dict(zip(module.position, ("timestamp", "bigint"), strict=True)) if name == module.base else {}
            return guessed | positions | dict(declared)
        real = {column.name: column.type for column in known} | dict(declared)
        if unknown := [column for column in used if column not in real]:
            raise ConfigError(f"{name} has no column {unknown[0]}{nearest(unknown[0], real)}; it has {', '.join(real)}")
        return real

    def _parameters(self, module: Module, values: Mapping[str, Any]) -> tuple[Parameter, ...]:
        declared = {p.name: p for p in resolve(self.lineage.parameters, (), module.parameters)}
        for name, value in values.items():
            if name not in declared:
                raise ConfigError(f"the parameter {name} is not declared{nearest(name, declared)}")
            kind = declared[name].type
            try:
                declared[name] = Parameter(name, kind, canonical(kind, value))
            except ValueError as error:
                raise ConfigError(f"the parameter {name} {error}") from None
        return tuple(declared.values())


def _guess(values: list[Any]) -> str:
    found = [value for value in values if value is not None]
    if found and all(isinstance(value, bool) for value in found):
        return "boolean"
    if found and all(isinstance(value, int) and not isinstance(value, bool) for value in found):
        return "bigint"
    if found and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in found):
        return "double"
    if found and all(isinstance(value, str) and _INSTANT.fullmatch(value) for value in found):
        return "timestamp"
    if found and all(isinstance(value, str) and _DAY.fullmatch(value) for value in found):
        return "date"
    if any(isinstance(value, (list, dict)) for value in found):
        raise ConfigError("a list or mapping is given for a column whose type is not known; say it under `types`")
    return "string"
