"""Transforms: SQL files and Python functions, put together into the rows of a block (S7, S8)."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.types import StructType

from dwh_assets.config.lineage_fields import nearest
from dwh_assets.config.sql_guard import check_query, check_view, check_write
from dwh_assets.config.sql_parameters import parameters_in, texts_of, with_values
from dwh_assets.config.sql_shape import is_row_wise
from dwh_assets.model.block import Block
from dwh_assets.model.errors import ConfigError, SqlRefused
from dwh_assets.model.module import Action, Module
from dwh_assets.model.parameter import Parameter, Value, literal, value_of
from dwh_assets.model.position import EPOCH, MICROSECOND, Position
from dwh_assets.warehouse.session import query, run

PARAMS = "params"  # the argument by which a Python transform asks for the parameters


@dataclass(frozen=True)
class Views:
    """What the queries of one attempt call their inputs. Each query takes those that it names along to Spark: nothing has to be
    made there before it, nor dropped after it."""

    session: SparkSession
    prefix: str
    frames: dict[str, DataFrame] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)

    def add(self, rows: DataFrame) -> str:
        name = f"{self.prefix}_{len(self.frames)}"
        self.frames[name] = rows
        return name

    def query(self, text: str) -> DataFrame:
        return query(self.session, *self._bound(text))

    def run(self, text: str) -> None:
        run(self.session, *self._bound(text))

    def _bound(self, text: str) -> tuple[str, dict[str, DataFrame]]:
        """The text and its inputs under names that no other query has: a query among the inputs would take a shared one away."""
        number, own = next(self.numbers), re.compile(rf"\b{self.prefix}_\d+\b")
        inputs = {f"{name}_{number}": self.frames[name] for name in own.findall(text)}
        return own.sub(lambda name: f"{name[0]}_{number}", text), inputs


@dataclass(frozen=True)
class Transforms:
    """The transforms of one module, bound to the tables they read; the module's parameters are all that hold for it."""

    session: SparkSession
    module: Module
    folder: Path
    views: Views
    tables: Mapping[str, str]  # table -> what queries call it, at a fixed snapshot
    frames: Mapping[str, DataFrame]

    def output(self, block: DataFrame) -> DataFrame:
        """What all transforms make of these base rows, put together by name."""
        block_view = self.views.add(block)
        names = dict(self.tables)
        for action in self.module.before:
            self._act(action, names, block_view)
        outputs = [self._one(transform, block, block_view, names) for transform in self.module.transforms] or [block]
        united = outputs[0]
        for other in outputs[1:]:
            united = united.unionByName(other)
        return united

    def after(self, block: DataFrame) -> None:
        block_view = self.views.add(block)
        names = dict(self.tables)
        for action in self.module.after:
            self._act(action, names, block_view)

    def _act(self, action: Action, names: dict[str, str], block_view: str) -> None:
        """A temporary view becomes known to what follows by its name; a declared idempotent write is carried out."""
        views = names.keys() - self.tables.keys()
        if action.idempotent:
            write = check_write(action.sql, self.tables, self.module.name, views)
            with analysis_errors(self.module.name):
                self.views.run(write.render(names, block_view))
            return
        name, view = check_view(action.sql, self.tables, self.module.name, views)
        names[name] = self.views.add(self.views.query(view.render(names, block_view)))

    def _one(self, transform: str, block: DataFrame, block_view: str, names: Mapping[str, str]) -> DataFrame:
        if not transform.endswith(".sql"):
            return function_named(transform)(block, **self._arguments(transform))
        text = sql_of(self.module, self.folder, transform)
        written = check_query(text, self.tables, transform, names.keys() - self.tables.keys())
        return self.views.query(written.render(names, block_view))

    def _arguments(self, transform: str) -> dict[str, Any]:
        """An argument `dim_customer` is the table dim.customer, `params` the values of the parameters by name."""
        known: dict[str, Any] = {table.replace(".", "_"): frame for table, frame in self.frames.items()}
        known[PARAMS] = Params({parameter.name: value_of(parameter) for parameter in self.module.parameters})
        wanted = arguments_of(transform)
        if missing := [name for name in wanted if name not in known]:
            raise ConfigError(
                f"transform {transform}: argument {missing[0]} is not a declared table; known are {', '.join(known)}."
            )
        return {name: known[name] for name in wanted}


class Params(dict[str, Value]):
    """The parameters that a Python transform sees."""

    def __missing__(self, name: str) -> Value:
        raise ConfigError(f"the parameter {name} is not declared{nearest(name, self)}; known are {', '.join(self) or 'none'}.")


def sql_of(module: Module, folder: Path, transform: str) -> str:
    """The text of a SQL transform, with the values of the module's parameters in it."""
    return with_values(file_of(folder, transform).read_text(), module.parameters, transform)


def file_of(folder: Path, transform: str) -> Path:
    """A file that a Lineage in force names may be gone since it was applied."""
    file = folder / transform
    if not file.is_file():
        raise ConfigError(
            f"transform {transform}: its file {file} is gone. Nothing was published.\n"
            "Put it back, or take it out of the Lineage; `dwh lineage check` names all problems."
        )
    return file


def arguments_of(transform: str) -> list[str]:
    """What a Python transform takes beside the block."""
    return list(inspect.signature(function_named(transform)).parameters)[1:]


def function_named(transform: str) -> Callable[..., DataFrame]:
    path, _, name = transform.partition(":")
    try:
        return getattr(import_module(path), name)
    except Exception as error:  # a module of users may raise anything when it is imported
        raise ConfigError(f"transform {transform} cannot be loaded: {type(error).__name__}: {error}") from error


def analysed(rows: DataFrame, name: str, what: str = "its transforms") -> StructType:
    """The columns of a query."""
    with analysis_errors(name, what):
        return rows.schema


@contextmanager
def analysis_errors(name: str, what: str = "its transforms") -> Iterator[None]:
    """What Spark cannot analyse is said in its first line, without its plan and the server's stack."""
    try:
        yield
    except (AnalysisException, ParseException) as error:
        raise SqlRefused(f"{name}: Spark cannot analyse {what}: {str(error).splitlines()[0]}") from error


def with_audit(rows: DataFrame, block_id: int | None, execution_id: int) -> DataFrame:
    """Every row carries the block and the execution that wrote it, and when."""
    named = rows if block_id is None else rows.withColumn("_block", F.lit(block_id).cast("bigint"))
    return named.withColumn("_execution", F.lit(execution_id).cast("bigint")).withColumn("_loaded_at", F.current_timestamp())


def block_of_row(blocks: Sequence[Block], position: tuple[str, str]) -> str:
    """A SQL expression that gives each row its block by the stored bounds: a balanced tree of comparisons."""
    if len(blocks) == 1:
        return f"{blocks[0].id}L"
    middle = len(blocks) // 2
    below = not_beyond(blocks[middle - 1].bounds.next, position)
    return f"IF({below}, {block_of_row(blocks[:middle], position)}, {block_of_row(blocks[middle:], position)})"


def not_beyond(bound: Position, position: tuple[str, str]) -> str:
    pos, id_ = (f"`{column}`" for column in position)
    instant = f"timestamp_micros({(bound.pos - EPOCH) // MICROSECOND}L)"
    return f"({pos} < {instant} OR ({pos} = {instant} AND {id_} <= {bound.id}))"


def runs_by_row(module: Module, folder: Path) -> bool:
    """Every transform treats each base row alone and keeps its position, so that many blocks can be run as one."""
    return not module.before and all(
        transform.endswith(".sql") and is_row_wise(sql_of(module, folder, transform), module.position)
        for transform in module.transforms
    )


def code_version(module: Module, folder: Path, parameters: Sequence[Parameter] = ()) -> str:
    """A short name of the transforms' text as it is now, and of the values that it uses of the parameters that hold."""
    digest = hashlib.sha256()
    for transform in module.transforms:
        text = file_of(folder, transform).read_bytes() if transform.endswith(".sql") else _source_of(transform)
        digest.update(transform.encode() + b"\0" + text + b"\0")
    used = _used_parameters(module, folder) if parameters else None
    for parameter in parameters:
        if used is None or parameter.name in used:
            digest.update(f"{parameter.name}\0{literal(parameter)}\0".encode())
    return digest.hexdigest()[:12]


def _used_parameters(module: Module, folder: Path) -> set[str] | None:
    """The names that the SQL of a module mentions; none where a Python transform may read any."""
    files = [transform for transform in module.transforms if transform.endswith(".sql")]
    if any(PARAMS in arguments_of(other) for other in module.transforms if other not in files):
        return None
    texts = (*texts_of(module), *(file_of(folder, name).read_text() for name in files))
    return set[str]().union(*map(parameters_in, texts))


def _source_of(transform: str) -> bytes:
    return inspect.getsource(function_named(transform)).encode()


def keeps_rows(module: Module, folder: Path) -> bool:
    """One SQL transform that gives exactly one row for each base row, with its position."""
    if len(module.transforms) != 1 or not module.transforms[0].endswith(".sql") or module.before:
        return False
    return is_row_wise(sql_of(module, folder, module.transforms[0]), module.position, one_to_one=True)
