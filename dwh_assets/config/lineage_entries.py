"""Lineage files as checked forms: each file is read once, every problem keeps its file, line and field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from dwh_assets.config import yaml_lines
from dwh_assets.config.form import Form
from dwh_assets.config.lineage_fields import nearest
from dwh_assets.config.lineage_forms import BatchForm, CommandForm, ModuleForm, SourceForm
from dwh_assets.config.parameter_forms import ParametersForm
from dwh_assets.config.yaml_lines import Document, YamlRefused, read_yaml

BATCHES_FOLDER = "batches"
PARAMETERS_FILE = "parameters.yaml"
SOURCES_FOLDER = "sources"
_PASSWORD = re.compile(r"\w+://[^/\s@]*:[^/\s@]*@")
_ALLOWED = {
    "string_type": "must be text; put it in quotes",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number such as 1_000_000",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "list_type": "must be a list such as [a, b]",
    "dict_type": "must be a mapping of name: value",
    "model_type": "must be a mapping of field: value",
    "missing": "is required",
}
FormT = TypeVar("FormT", bound=Form)


@dataclass(frozen=True, order=True)
class Problem:
    file: str
    line: int
    field: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.field + ': ' if self.field else ''}{self.text}"


@dataclass(frozen=True)
class Entry(Generic[FormT]):
    """One module or source of a file; `at` leads to it where a file lists several."""

    file: str
    area: str
    document: Document
    at: yaml_lines.Path
    form: FormT

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line()}"

    def line(self, *path: str | int) -> int:
        return self.document.line((*self.at, *path))

    def problem(self, text: str, *path: str | int) -> Problem:
        return Problem(self.file, self.line(*path), dotted(path), text)


@dataclass(frozen=True)
class Entries:
    modules: tuple[Entry[ModuleForm], ...]
    sources: tuple[Entry[SourceForm], ...]
    problems: tuple[Problem, ...]
    batches: tuple[Entry[BatchForm], ...]
    commands: tuple[Entry[CommandForm], ...]
    parameters: tuple[Entry[ParametersForm], ...]
    unread: frozenset[str]  # names that refused files give: other files that name them are not to blame


def dotted(path: Iterable[str | int]) -> str:
    """`checks[0].rows` for ("checks", 0, "rows")."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def read_entries(folder: Path) -> Entries:
    """Every module, command, source and batch below this folder, with the problems of those that could not be read."""
    modules: list[Entry[ModuleForm]] = []
    commands: list[Entry[CommandForm]] = []
    sources: list[Entry[SourceForm]] = []
    batches: list[Entry[BatchForm]] = []
    parameters: list[Entry[ParametersForm]] = []
    problems: list[Problem] = []
    unread: set[str] = set()
    for path in _yaml_files(folder):
        file, parts = shown(path, folder), path.relative_to(folder).parts
        if len(parts) != 2 and parts != (PARAMETERS_FILE,):
            problems.append(Problem(file, 1, "", "is not in the folder of an area; move it to lineage/<area>/<table>.yaml"))
            continue
        document = _document(path, file, problems)
        if document is None:
            continue
        if parts == (PARAMETERS_FILE,):
            _read(path, file, _under_parameters(document), ParametersForm, parameters, problems, unread)
        elif parts[0] == SOURCES_FOLDER:
            _read(path, file, document, SourceForm, sources, problems, unread)
        elif parts[0] == BATCHES_FOLDER:
            _read(path, file, document, BatchForm, batches, problems, unread)
        elif isinstance(document.value, dict) and "module" in document.value:
            _read(path, file, document, CommandForm, commands, problems, unread)
        else:
            _read(path, file, document, ModuleForm, modules, problems, unread)
    found = tuple(modules), tuple(sources), tuple(problems), tuple(batches), tuple(commands), tuple(parameters)
    return Entries(*found, frozenset(unread))


def shown(path: Path, folder: Path) -> str:
    """A path as messages show it, from the folder that holds the Lineage folder."""
    return path.relative_to(folder.parent).as_posix() if path.is_relative_to(folder.parent) else path.as_posix()


def _yaml_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in (".yaml", ".yml") and path.is_file())


def _document(path: Path, file: str, problems: list[Problem]) -> Document | None:
    try:
        return read_yaml(path.read_text(encoding="utf-8"))
    except YamlRefused as error:
        problems.append(Problem(file, error.line, "", str(error)))
    except UnicodeDecodeError:
        problems.append(Problem(file, 1, "", "is not UTF-8 text"))
    return None


def _read(
    path: Path,
    file: str,
    document: Document,
    form: type[FormT],
    entries: list[Entry[FormT]],
    problems: list[Problem],
    unread: set[str],
) -> None:
    several = form is SourceForm and isinstance(document.value, list)
    for at in [(i,) for i in range(len(document.value))] if several else [()]:
        value = document.value[at[0]] if at else document.value
        found = [*_secrets(file, document, at, value), *_validate(file, path.parent.name, document, at, value, form, entries)]
        problems += found
        if found and isinstance(value, dict):
            unread |= {
                name.partition("#")[0]
                for name in (value.get("table"), value.get("name"), value.get("module"))
                if isinstance(name, str)
            }


def _under_parameters(document: Document) -> Document:
    """A file that holds nothing but parameters, as the form has it: under their field's name."""
    lines = {("parameters", *path): line for path, line in document.lines.items()}
    return Document({"parameters": {} if document.value is None else document.value}, lines)


def _validate(
    file: str, area: str, document: Document, at: yaml_lines.Path, value: Any, form: type[FormT], entries: list[Entry[FormT]]
) -> list[Problem]:
    try:
        entries.append(Entry(file, area, document, at, form.model_validate(value)))
    except ValidationError as error:
        return [_explain(file, document, at, details, form) for details in error.errors()]
    return []


def _explain(file: str, document: Document, at: yaml_lines.Path, details: ErrorDetails, form: type[Form]) -> Problem:
    path = tuple(part for part in details["loc"] if part != "[key]")
    return Problem(file, document.line((*at, *path)), dotted(path), _reason(details, path, form))


def _reason(details: ErrorDetails, path: yaml_lines.Path, form: type[Form]) -> str:
    kind, context = details["type"], details.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind == "extra_forbidden":
        return _unknown(str(path[-1]), form if len(path) == 1 else _form_at(form, path[:-1]))
    if kind in ("too_short", "too_long"):
        return _length(context)
    if kind in ("greater_than_equal", "less_than_equal"):
        return f"must be {'at least' if 'ge' in context else 'at most'} {context.get('ge', context.get('le'))}"
    if kind == "literal_error":
        return f"{details['input']!r} is not allowed; allowed are {context['expected']}"
    return _ALLOWED.get(kind, details["msg"])


def _length(context: dict[str, Any]) -> str:
    needed = context.get("min_length") if context["actual_length"] < context.get("min_length", 0) else context.get("max_length")
    return f"has {context['actual_length']} entries; {needed} needed"


def _unknown(name: str, form: type[Form] | None) -> str:
    if "url" in name.lower():
        return "a URL does not belong into a file: secrets come from the environment; name the variable in url_env"
    known = list(form.model_fields) if form else []
    return f"unknown field{nearest(name, known)}; allowed are {', '.join(known)}"


def _form_at(form: type[Form], path: yaml_lines.Path) -> type[Form] | None:
    """The form that stands at a path of another one."""
    found: type[Form] | None = form
    for part in path:
        if isinstance(part, str) and found is not None:
            field = found.model_fields.get(part)
            found = next(_forms_in(field.annotation), None) if field else found  # else it is a key of a mapping of forms
    return found


def _forms_in(annotation: Any) -> Iterator[type[Form]]:
    if isinstance(annotation, type) and issubclass(annotation, Form):
        yield annotation
    for argument in get_args(annotation):
        yield from _forms_in(argument)


def _secrets(file: str, document: Document, at: yaml_lines.Path, value: Any, path: yaml_lines.Path = ()) -> Iterator[Problem]:
    """A URL with a password in any field: named, never shown."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from _secrets(file, document, at, child, (*path, key))
    if isinstance(value, str) and _PASSWORD.search(value):
        text = "holds a URL with a password; remove it, change that password: secrets come from the environment"
        yield Problem(file, document.line((*at, *path)), dotted(path), text)
