"""Reads a folder of Lineage files, all or nothing: every problem is named with its file, line and field."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from dwh_assets.config.event_sources import event_problems, events_of, folder_of, kafka_of
from dwh_assets.config.lineage_checks import check_problems, checks_of
from dwh_assets.config.lineage_entries import Entries, Entry, Problem, read_entries
from dwh_assets.config.lineage_forms import ActionForm, BatchForm, CommandForm, ModuleForm, SourceForm, lineage_schema
from dwh_assets.config.lineage_rules import lineage_problems, module_problems, source_problems
from dwh_assets.config.lineage_sql import sql_problems
from dwh_assets.config.parameter_forms import parameters_of
from dwh_assets.model.batch import Batch, Command, Link
from dwh_assets.model.errors import LineageError
from dwh_assets.model.module import PROCESSORS, Action, Lineage, Module, SourceTable
from dwh_assets.model.parameter import resolve
from dwh_assets.model.topic import TopicName

__all__ = ["lineage_schema", "load_lineage"]
_LISTS = ("depends_on", "reads", "shards", "key")
_SAME = (
    "description", "owner", "comment", "active", "processor", "start", "delay", "repeat", "promise", "keep", "maxstep", "stretch",
    "ahead", "attempts", "backoff", "span", "time", "timezone", "shard_by", "deleted", "columns", "measures", "expect",
    "allow_truncate", "priority", "audit",
)  # fmt: skip


def load_lineage(folder: Path, transforms: Path) -> Lineage:
    """The Lineage of these files and of the SQL they name; `LineageError` holds every problem at once."""
    if not folder.is_dir():
        raise LineageError([f"{folder}: no such folder; it should hold <area>/<table>.yaml and sources/*.yaml"])
    entries = read_entries(folder)
    lineage = _lineage(entries, folder, transforms)
    problems = [*entries.problems, *_problems(entries, lineage, folder, transforms)]
    if problems:
        raise LineageError([str(problem) for problem in sorted(set(problems))])
    return lineage


def _problems(entries: Entries, lineage: Lineage, folder: Path, transforms: Path) -> list[Problem]:
    found: list[Problem] = []
    known = {*lineage.tables, *(source.name for source in lineage.sources)}
    for source in entries.sources:
        found += [*source_problems(source), *event_problems(source, folder)]
    for entry, module in zip(entries.modules, lineage.modules, strict=True):
        found += [*module_problems(entry), *check_problems(entry, module)]
        parameters = resolve(lineage.parameters, (), module.parameters)
        found += sql_problems(entry, module, parameters, known, folder, transforms)
    return [*found, *lineage_problems(entries, lineage)]


def _lineage(entries: Entries, folder: Path, transforms: Path) -> Lineage:
    sources = tuple(_source(entry.form, folder) for entry in entries.sources)
    positions = {source.name: source.position for source in sources}
    modules = tuple(_module(entry, positions, transforms) for entry in entries.modules)
    places = {entry.form.name: entry.place for entry in entries.sources}
    places |= {entry.form.table: entry.place for entry in entries.modules}
    places |= {entry.form.module: entry.place for entry in entries.commands}
    places |= {entry.form.batch: entry.place for entry in entries.batches}
    batches = tuple(_batch(entry.form) for entry in entries.batches)
    commands = tuple(_command(entry) for entry in entries.commands)
    parameters = tuple(parameter for entry in entries.parameters for parameter in parameters_of(entry.form.parameters))
    return Lineage(modules, sources, places, batches, commands, parameters)


def _batch(form: BatchForm) -> Batch:
    return Batch(
        name=form.batch,
        modules=tuple(Link(link.module, link.active) for link in form.modules),
        batches=tuple(Link(link.batch, link.active) for link in form.batches),
        kind=form.kind,
        description=form.description,
        frequency=form.frequency,
        timezone=form.timezone,
        time=form.time,
        after=tuple(form.after),
        retries=form.retries,
        parameters=parameters_of(form.parameters),
        active=form.active,
    )


def _command(entry: Entry[CommandForm]) -> Command:
    form = entry.form
    return Command(
        name=form.module,
        kind="command" if form.command else "python",
        run=tuple(form.command or [form.python or ""]),
        area=entry.area,
        description=form.description,
        owner=form.owner,
        depends_on=tuple(form.depends_on),
        timeout=form.timeout,
        active=form.active,
    )


def _module(entry: Entry[ModuleForm], positions: dict[str, tuple[str, str]], transforms: Path) -> Module:
    form, name = entry.form, TopicName.parse(entry.form.table)
    position = form.position or positions.get(form.depends_on[0], ("pos", "id"))
    lists: dict[str, Any] = {field: tuple(getattr(form, field) or ()) for field in _LISTS}
    return Module(
        name=form.table,
        table=name.table,
        tag=name.tag,
        area=entry.area,
        position=(position[0], position[1]),
        transforms=tuple(form.transforms or _default_transforms(form, name, transforms)),
        before=_actions(form.before),
        after=_actions(form.after),
        checks=checks_of(form.checks, form.processor),
        parameters=parameters_of(form.parameters),
        **lists,
        **{field: getattr(form, field) for field in _SAME} | _of_processor(form),
    )


def _of_processor(form: ModuleForm) -> dict[str, Any]:
    """Events are taken in as they come, up to once a second, in blocks that are soon readable."""
    own: dict[str, Any] = {"repeat": timedelta(seconds=1), "maxstep": 100_000} if form.processor == "ingest" else {}
    return {field: value for field, value in own.items() if field not in form.model_fields_set}


def _default_transforms(form: ModuleForm, name: TopicName, transforms: Path) -> tuple[str, ...]:
    path = f"{name.table.replace('.', '/')}{'_' + name.tag if name.tag else ''}.sql"
    needless = form.processor not in PROCESSORS and not (transforms / path).exists()  # one's own may do without
    return () if needless or form.processor == "ingest" else (path,)


def _actions(forms: list[ActionForm]) -> tuple[Action, ...]:
    return tuple(Action(form.sql, form.idempotent) for form in forms)


def _source(form: SourceForm, folder: Path) -> SourceTable:
    return SourceTable(
        name=form.name,
        kind=form.kind,
        description=form.description,
        position=(form.position[0], form.position[1]),
        delay=form.delay,
        idle_after=form.idle_after,
        relation=form.relation or (form.name if form.kind == "postgres" else None),
        url_env=form.url_env,
        horizon=form.horizon,
        shards=tuple(form.shards or ()),
        shard_by=form.shard_by,
        active=form.active,
        kafka=kafka_of(form.kafka),
        files=folder_of(form.files),
        events=events_of(form.events, folder),
    )
