"""Files with cases for transforms: rows that are given, and rows that are expected of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictInt, ValidationError

from dwh_assets.config.form import Form
from dwh_assets.config.lineage_fields import Column, ModuleName, Table, Text
from dwh_assets.config.yaml_lines import Document, YamlRefused, read_yaml
from dwh_assets.model.errors import ConfigError
from dwh_assets.model.position import Bounds, Position

FOLDER = "tests/transforms"
Rows = list[dict[Column, Any]]


def _position(value: Any) -> Any:
    if not (isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)):
        raise ValueError("must be [instant, id] such as [2026-01-31T00:00:00Z, 0]")
    return {"pos": value[0], "id": value[1]}


class PositionForm(Form):
    """A position, written as `[pos, id]`."""

    pos: datetime = Field(description="an instant; without a zone it is UTC")
    id: StrictInt = Field(description="what orders rows of the same instant")


Bound = Annotated[PositionForm, BeforeValidator(_position)]


class BlockForm(Form):
    """The bounds of the block: rows beyond them are in the base table, and not in the block."""

    last: Bound = Field(description="the position before its first row")
    next: Bound = Field(description="the position of its last row")


class CaseForm(Form):
    """One case. Tables that are not given are empty."""

    name: Text = Field(description="what it shows; unique in its file")
    given: dict[Table, Rows] = Field(description="table -> its rows, each column -> value")
    expect: Rows = Field(description="the rows that the transforms give, in any order")
    parameters: dict[Column, Any] = Field({}, description="values in place of those that the Lineage declares")
    block: BlockForm | None = Field(None, description="which rows of the base table are the block; without it, all of them")


class CasesForm(Form):
    """`tests/transforms/*.yaml`: cases for the transforms of one module, run by `dwh test`."""

    table: ModuleName = Field(description="the module")
    types: dict[Table, dict[Column, Text]] = Field({}, description="table -> column -> type, where it is not the real one")
    cases: Annotated[list[CaseForm], Field(min_length=1)] = Field(description="what is given, and what should come of it")


@dataclass(frozen=True)
class Case:
    file: str
    line: int
    module: str
    form: CaseForm
    types: dict[str, dict[str, str]]

    @property
    def name(self) -> str:
        return self.form.name

    @property
    def bounds(self) -> Bounds | None:
        block = self.form.block
        return None if block is None else Bounds(_at(block.last), _at(block.next))

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"


def find_cases(project: Path, paths: list[Path]) -> list[Case]:
    """The cases of these files and folders, or of the project's own; every problem is raised at once."""
    folder = project / FOLDER
    files = [file for path in paths or [folder] for file in (sorted(path.rglob("*.yaml")) if path.is_dir() else [path])]
    if not files:
        raise ConfigError(f"there is no file of cases in {FOLDER}/. docs/tables.md shows one; `dwh test FILE` runs others.")
    cases: list[Case] = []
    problems: list[str] = []
    for file in files:
        try:
            cases += read_cases(file, project)
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("\n".join(problems))
    return cases


def read_cases(file: Path, project: Path) -> list[Case]:
    name = str(file.relative_to(project)) if file.is_relative_to(project) else str(file)
    document = _document(file, name)
    try:
        form = CasesForm.model_validate(document.value)
    except ValidationError as error:
        raise ConfigError("\n".join(_problem(name, document, found["loc"], found["msg"]) for found in error.errors())) from None
    names = [case.name for case in form.cases]
    if twice := [case for case in names if names.count(case) > 1]:
        raise ConfigError(f"{name}: several cases are called {twice[0]!r}; give each its own name")
    return [Case(name, document.line(("cases", i)), form.table, case, form.types) for i, case in enumerate(form.cases)]


def _document(file: Path, name: str) -> Document:
    try:
        return read_yaml(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{name}: cannot be read: {error}") from None
    except YamlRefused as error:
        raise ConfigError(f"{name}:{error.line}: {error}") from None


def _problem(name: str, document: Document, at: tuple[int | str, ...], text: str) -> str:
    field = ".".join(str(part) for part in at)
    return f"{name}:{document.line(at)}: {field + ': ' if field else ''}{text.removeprefix('Value error, ')}"


def _at(form: PositionForm) -> Position:
    return Position(form.pos if form.pos.tzinfo else form.pos.replace(tzinfo=UTC), form.id)
