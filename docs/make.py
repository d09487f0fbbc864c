"""Writes docs/reference/ from the code: settings, Lineage files, commands, views, events, metrics.

    uv run python docs/make.py             # write the pages
    uv run python docs/make.py --check     # write nothing; exit code 1 if a page is not what the code says

What a thing means is said where it is defined: descriptions of fields, docstrings, help texts, comments of views. Here is only
the form.
"""

from __future__ import annotations

import argparse
import inspect
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer.main
from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from pydantic import BeforeValidator, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from rich.text import Text
from typing_extensions import Doc

from dwh_assets.cli.main import app
from dwh_assets.config import lineage_fields, parameter_forms
from dwh_assets.config.case_files import CasesForm
from dwh_assets.config.form import Form
from dwh_assets.config.lineage_forms import BatchForm, CommandForm, ModuleForm, SourceForm
from dwh_assets.config.origins import OTHERS
from dwh_assets.config.parameter_forms import ParameterForm
from dwh_assets.config.settings import Settings
from dwh_assets.config.settings_file import is_secret
from dwh_assets.control.database import Database
from dwh_assets.control.metrics import METRICS, UP
from dwh_assets.control.migrate import migrate
from dwh_assets.control.server import EmbeddedPostgres
from dwh_assets.model.duration import format_duration
from dwh_assets.model.event import CODES, KINDS
from dwh_assets.workers.messages import MESSAGES, schema

FOLDER = Path(__file__).parent / "reference"
COMMAND = "uv run python docs/make.py"
NOTE = f"<!-- Made from the code by `{COMMAND}`; change it there, not here. -->"
Row = Sequence[str]


@dataclass(frozen=True)
class Entry:
    """One thing that a page tells of: where it stands, its name, and what it means."""

    page: str
    name: str
    means: str


class Page:
    """Lines of Markdown, and the entries among them, so that a test can ask each for its meaning."""

    def __init__(self, name: str, title: str, about: str) -> None:
        self.name, self.about = name, about
        self.entries: list[Entry] = []
        self._parts = [NOTE, f"# {title}", about]

    def heading(self, text: str, level: int = 2) -> None:
        self._parts.append(f"{'#' * level} {text}")

    def say(self, text: str) -> None:
        self._parts += [text] if text else []

    def entry(self, name: str, means: str) -> str:
        self.entries.append(Entry(self.name, name, means))
        return means

    def table(self, titles: Row, rows: Iterable[Row]) -> None:
        lines = [titles, ["---"] * len(titles), *rows]
        self._parts.append("\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines))

    def text(self) -> str:
        return "\n\n".join(self._parts) + "\n"


def pages(database: Database) -> list[Page]:
    """All pages; the database is a migrated control store."""
    made = [settings(), lineage(), commands(), views(database), events(), metrics()]
    return [index(made), *made]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def index(made: Sequence[Page]) -> Page:
    about = "What there is, as the code says it. Why and when to use it is told in the pages of [docs/](..)."
    page = Page("README", "Reference", about)
    page.table(("page", "holds"), [(f"[{p.name}.md]({p.name}.md)", p.about) for p in made])
    return page


# Types and defaults, in words


def _kinds() -> dict[str, Doc]:
    """The kinds of value of Lineage files by their names: `PositiveDuration` is called positive duration."""
    aliases = {**vars(lineage_fields), **vars(parameter_forms)}
    return {_words(name): doc for name, alias in sorted(aliases.items()) if (doc := _doc(alias)) is not None}


def _doc(alias: Any) -> Doc | None:
    metadata = get_args(alias)[1:] if get_origin(alias) is Annotated else ()
    return next((entry for entry in metadata if isinstance(entry, Doc)), None)


def _words(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


KINDS_OF_VALUE = _kinds()
PLAIN = {
    str: "text", bool: "true or false", int: "integer", float: "number", Any: "any value", Path: "path", SecretStr: "text",
    datetime: "timestamp",
}  # fmt: skip


def type_of(annotation: Any, metadata: Sequence[Any] = ()) -> str:
    """What may be written there."""
    for entry in metadata:
        if isinstance(entry, Doc):
            return next(name for name, doc in KINDS_OF_VALUE.items() if doc is entry)
        if isinstance(entry, BeforeValidator) and entry.json_schema_input_type is not PydanticUndefined:
            return type_of(entry.json_schema_input_type)
    return _shape(annotation) + _limits(metadata)


def _shape(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_of(arguments[0], arguments[1:])
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(type_of(part) for part in arguments if part is not NoneType))
    if origin is Literal:
        return ", ".join(code(str(value)) for value in arguments)
    if origin is list:
        return f"list of {type_of(arguments[0])}"
    if origin is dict:
        return f"{type_of(arguments[0])} -> {type_of(arguments[1])}"
    if isinstance(annotation, type) and issubclass(annotation, Form):
        return f"[{_title(annotation)}](#{_title(annotation).replace(' ', '-')})"
    return PLAIN.get(annotation) or _words(annotation.__name__)


def _limits(metadata: Sequence[Any]) -> str:
    """Bounds of a number, or of a length; within a list or a union they are still in the field that says them."""
    flat = [part for entry in metadata for part in (entry.metadata if isinstance(entry, FieldInfo) else [entry])]
    limits: dict[type, Any] = {type(entry): entry for entry in flat if isinstance(entry, Ge | Gt | Le | MinLen | MaxLen)}
    if Ge in limits:
        return f", {limits[Ge].ge} to {limits[Le].le}" if Le in limits else f", from {limits[Ge].ge} on"
    if Gt in limits:
        return f", above {limits[Gt].gt}"
    if MinLen in limits:
        least, most = limits[MinLen].min_length, limits[MaxLen].max_length if MaxLen in limits else None
        return f", of length {least}" + ("" if least == most else " or more")
    return ""


def default_of(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if value is None or value in ("", [], {}):
        return ""
    if isinstance(value, timedelta):
        return code(format_duration(value))
    if isinstance(value, list):
        return code(f"[{', '.join(map(str, value))}]")
    return code(str(value).lower() if isinstance(value, bool) else str(value))


# Settings


def settings() -> Page:
    about = "Every setting: its name in `dwh.toml`, its variable, type, default and meaning."
    page = Page("settings", "Settings", about)
    page.say(
        "What is given in several places is taken from the first of option, environment, `dwh.toml`, default. Secrets are read\n"
        "from the environment alone. See [project.md](../project.md#settings); `dwh config show` prints what is in force, and\n"
        "where it came from. Durations and daily windows are written as in [Lineage files](lineage.md#kinds-of-value)."
    )
    for group in (Settings, *Settings.__bases__):
        page.heading(_words(group.__name__).capitalize())
        page.say(page.entry(group.__name__, inspect.getdoc(inspect.getmodule(group)) or ""))
        names = [name for name in Settings.model_fields if name in group.__annotations__]
        page.table(("`dwh.toml`", "variable", "type", "default", "means"), [_setting(page, name) for name in names])
    page.heading("Variables that are no settings")
    page.say("Read from the environment only.")
    page.table(("variable", "means"), [(code(name), page.entry(name, means)) for name, means in OTHERS.items()])
    return page


def _setting(page: Page, name: str) -> Row:
    field = Settings.model_fields[name]
    means = page.entry(name, field.description or "")
    in_file = "no: a secret" if is_secret(field) else "no: it is its folder" if name == "project" else code(name)
    return in_file, code(f"DWH_{name.upper()}"), type_of(field.annotation, field.metadata), default_of(field), means


# Lineage files


def lineage() -> Page:
    about = "Every field of the files of a project: modules, commands, sources, batches, parameters, cases."
    page = Page("lineage", "Lineage files", about)
    page.say(
        "Fields that are not listed are refused. How they work together is told in [lineage.md](../lineage.md),\n"
        "[events.md](../events.md), [batches.md](../batches.md) and [tables.md](../tables.md); `dwh lineage schema` gives the\n"
        "same to editors."
    )
    for form in (ModuleForm, CommandForm, SourceForm, BatchForm, ParameterForm, CasesForm):
        parts = _parts_of(form)
        page.heading(_title(form).capitalize())
        _form(page, form)
        for part in parts:
            page.heading(_title(part).capitalize(), 3)
            _form(page, part)
    page.heading("Kinds of value")
    page.table(("kind", "is"), [(name, page.entry(name, doc.documentation)) for name, doc in KINDS_OF_VALUE.items()])
    return page


def _form(page: Page, form: type[Form]) -> None:
    page.say(page.entry(form.__name__, inspect.cleandoc(form.__doc__ or "")))
    rows = [
        (
            code(name),
            type_of(field.annotation, field.metadata),
            default_of(field),
            page.entry(f"{form.__name__}.{name}", field.description or ""),
        )
        for name, field in form.model_fields.items()
    ]
    page.table(("field", "type", "default", "means"), rows)


def _title(form: type[Form]) -> str:
    return _words(form.__name__.removesuffix("Form"))


def _parts_of(form: type[Form]) -> list[type[Form]]:
    """The forms within a form, each once, in the order of its fields; a parameter has a section of its own."""
    found: dict[type[Form], None] = {}
    for field in form.model_fields.values():
        for part in _forms_in(field.annotation):
            if part is not ParameterForm:
                found |= dict.fromkeys([part, *_parts_of(part)])
    return list(found)


def _forms_in(annotation: Any) -> Iterator[type[Form]]:
    if isinstance(annotation, type) and issubclass(annotation, Form):
        yield annotation
    for part in get_args(annotation):
        yield from _forms_in(part)


# Commands


def commands() -> Page:
    root: Any = typer.main.get_command(app)
    page = Page("commands", "Commands", "Every command of `dwh` with its arguments and options, as `--help` shows them.")
    top = root.context_class(root, info_name="dwh")
    found = sorted(_commands(root, top), key=lambda entry: _panels(root).index(entry[0]))
    page.say(_plain(root.epilog or ""))
    for panel, entries in groupby(found, key=lambda entry: entry[0]):
        page.heading(panel)
        page.table(("command", "does"), [_in_short(command, context) for _, command, context in entries])
    page.heading("Options of `dwh` itself")
    page.say("They stand before the command, such as `dwh --project shop status`.")
    page.table(("option", "means"), _parameters(page, root, top))
    for _, command, context in found:
        _command(page, command, context)
    return page


def _in_short(command: Any, context: Any) -> Row:
    anchor = context.command_path.replace(" ", "-")
    return f"[{code(context.command_path)}](#{anchor})", _plain(command.help or "").split("\n\n")[0]


def _panels(root: Any) -> list[str]:
    return list(dict.fromkeys(command.rich_help_panel for command in root.commands.values()))


def _commands(group: Any, context: Any, panel: str | None = None) -> Iterator[tuple[str, Any, Any]]:
    """Each command that does something, with the panel of `dwh --help` that it is listed in."""
    for name, command in group.commands.items():
        inner = command.context_class(command, info_name=name, parent=context)
        place = panel or command.rich_help_panel
        if hasattr(command, "commands"):
            yield from _commands(command, inner, place)
        else:
            yield place, command, inner


def _command(page: Page, command: Any, context: Any) -> None:
    page.heading(context.command_path)
    page.say(page.entry(context.command_path, _plain(command.help or "")))
    page.say(f"    {' '.join((context.command_path, *command.collect_usage_pieces(context)))}")
    if rows := _parameters(page, command, context):
        page.table(("argument or option", "means"), rows)


def _parameters(page: Page, command: Any, context: Any) -> list[Row]:
    shown = [parameter for parameter in command.params if not parameter.hidden]
    return [_parameter(page, context, parameter, *parameter.get_help_record(context)) for parameter in shown]


def _parameter(page: Page, context: Any, parameter: Any, written: str, told: str) -> Row:
    """The help may hold markup; what is added to it, such as `[default: 20]`, does not."""
    added = told.removeprefix(parameter.help or "").strip()
    means = page.entry(f"{context.command_path} {parameter.name}", _plain(parameter.help or ""))
    return code(written), f"{means} {added}"


def _plain(text: str) -> str:
    """Without the markup of terminals."""
    return Text.from_markup(text).plain.strip()


# Views of the control store

_VIEWS = """
    select n.nspname as schema, c.relname as view, obj_description(n.oid, 'pg_namespace') as schema_means,
           obj_description(c.oid, 'pg_class') as view_means, a.attname as column,
           format_type(a.atttypid, a.atttypmod) as type, col_description(c.oid, a.attnum) as means
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0
    where c.relkind = 'v' and n.nspname in ('dwh', 'sch', 'kettle', 'direct', 'broker', 'ems')
    order by n.nspname <> 'dwh', n.nspname, c.relname, a.attnum"""


def views(database: Database) -> Page:
    page = Page("views", "Views of the control store", "Every view that people may read with SQL, with its columns.")
    page.say(
        "The role `dwh_viewer` may read them all ([operations.md](../operations.md#roles)). What they mean is also said by\n"
        "their comments: `\\d+ dwh.status` in psql. The tables below them may change with every version."
    )
    for schema_name, in_schema in groupby(database.fetch(_VIEWS), key=lambda row: row["schema"]):
        of_schema = list(in_schema)
        page.heading(schema_name)
        page.say(_sentence(page.entry(schema_name, of_schema[0]["schema_means"] or "")))
        for view, columns in groupby(of_schema, key=lambda row: row["view"]):
            _view(page, f"{schema_name}.{view}", list(columns))
    return page


def _view(page: Page, name: str, columns: Sequence[Mapping[str, Any]]) -> None:
    page.heading(name, 3)
    page.say(_sentence(page.entry(name, columns[0]["view_means"] or "")))
    rows = [
        (code(row["column"]), _type(row["type"]), page.entry(f"{name}.{row['column']}", row["means"] or "")) for row in columns
    ]
    page.table(("column", "type", "means"), rows)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _type(name: str) -> str:
    return name.replace("timestamp with time zone", "timestamptz").replace("time without time zone", "time").replace('"', "")


# Events and messages


def events() -> Page:
    page = Page("events", "Events and messages", "Codes of the event log, and what workers and their manager say to each other.")
    page.heading("Event log")
    page.say("The table `dwh.event_log`, which only grows; `dwh log --events` shows it. Every event has one of four kinds:")
    page.table(("kind", "is"), [(code(kind), page.entry(kind, means)) for kind, means in KINDS.items()])
    page.say("and a code. Those of kind `custom` have whatever code their writer gave them; the others one of these:")
    page.table(("code", "means"), [(code(name), page.entry(name, means)) for name, means in CODES.items()])
    page.heading("Messages")
    page.say(
        "A message is a JSON object `{info, payload}`; `info.type` says which. Fields that a reader does not know are left\n"
        "aside. How they are used is told in [workers.md](../workers.md#messages); their JSON schemas are in\n"
        "`dwh_assets/workers/schemas/`."
    )
    for kind in MESSAGES.values():
        described = schema(kind)
        page.heading(kind.type, 3)
        page.say(page.entry(kind.type, described["description"]))
        rows = [_message_field(page, kind.type, part, *item) for part in ("info", "payload") for item in _fields(described, part)]
        page.table(("field", "type", "", "means"), rows)
    return page


def _fields(described: Mapping[str, Any], part: str) -> Iterator[tuple[str, Mapping[str, Any], bool]]:
    inner = described["properties"][part]
    for name, field in inner["properties"].items():
        if name != "type":
            yield name, field, name in inner["required"]


def _message_field(page: Page, kind: str, part: str, name: str, field: Mapping[str, Any], required: bool) -> Row:
    means = page.entry(f"{kind} {name}", field.get("description", ""))
    return code(f"{part}.{name}"), _json_type(field), "required" if required else "optional", means


def _json_type(field: Mapping[str, Any]) -> str:
    if "enum" in field:
        return ", ".join(code(value) for value in field["enum"])
    if "anyOf" in field:
        return _json_type(next(part for part in field["anyOf"] if part["type"] != "null"))
    least = f", from {field['minimum']} on" if "minimum" in field else ""
    return field.get("format", field["type"]) + least


# Metrics


def metrics() -> Page:
    page = Page("metrics", "Metrics", "Every metric that Prometheus can ask for, with its labels.")
    page.say("Where they are served, and a dashboard: [metrics.md](../metrics.md).")
    rows = [(code(m.name), m.kind, ", ".join(map(code, m.labels)), page.entry(m.name, m.help)) for m in (UP, *METRICS)]
    page.table(("metric", "type", "labels", "is"), rows)
    return page


# Writing and comparing


def outdated(made: Iterable[Page], folder: Path = FOLDER) -> list[str]:
    """The files that are not what the code says: changed, missing, or there without a page."""
    wanted = {f"{page.name}.md": page.text() for page in made}
    there = {file.name: file.read_text(encoding="utf-8") for file in folder.glob("*.md")}
    return sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))


def write(made: Sequence[Page], folder: Path = FOLDER) -> list[str]:
    changed = outdated(made, folder)
    folder.mkdir(exist_ok=True)
    texts = {f"{page.name}.md": page.text() for page in made}
    for name in changed:
        if name in texts:
            (folder / name).write_text(texts[name], encoding="utf-8")
        else:
            (folder / name).unlink()
    return changed


@contextmanager
def _control_store() -> Iterator[Database]:
    """A migrated control store that is gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="dwh-docs-"))
    home.chmod(0o755)  # Postgres runs as a user of its own where this one is root
    server = EmbeddedPostgres(home)
    try:
        database = Database(server.start())
        migrate(database)
        yield database
        database.close()
    finally:
        server.stop(immediate=True)
        shutil.rmtree(home)


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a page is not what the code says")
    check = arguments.parse_args().check
    with _control_store() as database:
        made = pages(database)
    found = outdated(made) if check else write(made)
    for name in found:
        sys.stdout.write(f"docs/reference/{name} {'is not what the code says' if check else 'written'}\n")
    if check and found:
        sys.stdout.write(f"Type: {COMMAND}\n")
    return int(check and bool(found))


if __name__ == "__main__":
    sys.exit(main())
