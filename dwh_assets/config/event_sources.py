"""Sources of events: from their forms and schema files to `Events`, and what does not fit together there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from dwh_assets.config.event_schemas import SchemaRefused, breaking_changes, read_schema
from dwh_assets.config.lineage_entries import Entry, Problem, shown
from dwh_assets.config.lineage_fields import nearest
from dwh_assets.config.lineage_forms import EventsForm, FolderForm, KafkaForm, SourceForm
from dwh_assets.model.duration import format_duration
from dwh_assets.model.events import Events, EventSchema, FileFolder, KafkaTopic, Security

KINDS = ("kafka", "files")
_FORMATS = {"kafka": ("json", "avro", "protobuf"), "files": ("csv", "parquet")}


def kafka_of(form: KafkaForm | None) -> KafkaTopic | None:
    if form is None:
        return None
    security = Security(**form.security.model_dump()) if form.security else Security()
    return KafkaTopic(form.topic, tuple(form.brokers or ()), form.start, security, dict(form.options))


def folder_of(form: FolderForm | None) -> FileFolder | None:
    return None if form is None else FileFolder(form.path, form.pattern, form.settle, form.header, form.delimiter)


def events_of(form: EventsForm | None, folder: Path) -> Events | None:
    """None also where a schema file cannot be used: its problem is told by `event_problems`."""
    if form is None:
        return None
    schemas = tuple(schema for schema in (_schema(form, version, folder) for version in sorted(form.schemas)) if schema)
    if len(schemas) != len(form.schemas):
        return None
    return Events(
        format=form.format,
        schemas=schemas,
        key=tuple(form.key),
        version_in=form.version_in or "",
        message=form.message,
        event_time=form.event_time,
        retention=form.retention,
        replay=form.replay,
        dedup_age=form.dedup_age or form.retention + form.replay + timedelta(hours=1),
        unknown_fields=form.unknown_fields,
        evolution=form.evolution,
    )


def _schema(form: EventsForm, version: int, folder: Path) -> EventSchema | None:
    path = folder / form.schemas[version]
    try:
        return read_schema(version, path.read_bytes(), form.format, form.message) if _inside(path, folder) else None
    except (OSError, SchemaRefused):
        return None


def _inside(path: Path, folder: Path) -> bool:
    return path.is_file() and path.resolve().is_relative_to(folder.resolve())


def event_problems(entry: Entry[SourceForm], folder: Path) -> Iterator[Problem]:
    """What does not fit together within one source of events."""
    form = entry.form
    for kind in KINDS:
        given = getattr(form, kind) is not None
        if given and form.kind != kind:
            yield entry.problem(f"is not used by kind {form.kind}; only {kind} has it", kind)
        if form.kind == kind and not given:
            yield entry.problem(f"is required for kind {kind}", kind)
    if (form.events is not None) != (form.kind in KINDS):
        text = f"is required for kind {form.kind}" if form.kind in KINDS else f"is not used by kind {form.kind}"
        yield entry.problem(text, "events")
    if form.kind in KINDS and form.shards:
        yield entry.problem(f"is not used by kind {form.kind}; one cursor serves all its partitions", "shards")
    if form.events is None or form.kind not in KINDS:
        return
    if form.events.format not in _FORMATS[form.kind]:
        allowed = ", ".join(_FORMATS[form.kind])
        yield entry.problem(f"{form.events.format} is not read from {form.kind}; allowed are {allowed}", "events", "format")
    yield from _settings(entry, form.events)
    yield from _files(entry, form.events, folder)
    if (events := events_of(form.events, folder)) is not None:
        yield from _fields(entry, form, events)


def _settings(entry: Entry[SourceForm], form: EventsForm) -> Iterator[Problem]:
    if (form.message is None) == (form.format == "protobuf"):
        text = "is required for protobuf" if form.format == "protobuf" else f"is not used by {form.format}; only protobuf has it"
        yield entry.problem(text, "events", "message")
    if len(form.schemas) > 1 and form.version_in is None:
        yield entry.problem("is required where there is more than one version", "events", "version_in")
    if form.version_in == "confluent" and form.format == "json":
        yield entry.problem("confluent is for avro and protobuf; for json write header: or field:", "events", "version_in")
    if form.version_in and form.version_in.startswith("header:") and entry.form.kind == "files":
        yield entry.problem("files have no headers; write field:NAME", "events", "version_in")
    if form.dedup_age is not None and form.dedup_age <= form.retention + form.replay:
        least = format_duration(form.retention + form.replay)
        text = f"must be longer than retention and replay together, {least}: else a known event could come again as a new one"
        yield entry.problem(text, "events", "dedup_age")


def _files(entry: Entry[SourceForm], form: EventsForm, folder: Path) -> Iterator[Problem]:
    for version, name in form.schemas.items():
        path = folder / name
        if not _inside(path, folder):
            text = f"there is no file {shown(path, folder)}; write it, or correct the path"
            yield entry.problem(text, "events", "schemas", str(version))
            continue
        try:
            read_schema(version, path.read_bytes(), form.format, form.message)
        except SchemaRefused as error:
            yield entry.problem(f"{shown(path, folder)} {error}", "events", "schemas", str(version))


def _fields(entry: Entry[SourceForm], form: SourceForm, events: Events) -> Iterator[Problem]:
    """Names that are needed, taken or doubled; versions that break."""
    at = ("events", "schemas")
    for version, text in breaking_changes(events.schemas, events.evolution):
        yield entry.problem(f"version {version} {text}", *at, str(version))
    names = [field.name for field in events.newest.fields]
    for name, count in Counter(name.lower() for name in names).items():
        if count > 1:
            yield entry.problem(f"{name} is there {count} times, but for its case; columns need different names", *at)
        if name.startswith("_"):
            yield entry.problem(f"{name} begins with _, as only our own columns do; give it another name", *at)
        if name in form.position:
            text = f"the events have a field {name}, as the position has; call that [ingested_at, ingest_id]"
            yield entry.problem(text, "position")
    first = {field.name for field in events.schemas[0].fields}
    for number, name in enumerate(events.key):
        if name not in first:
            text = f"version {events.schemas[0].version} has no field {name}{nearest(name, first)}; a key is in all versions"
            yield entry.problem(text, "events", "key", number)
    if events.version_in.startswith("field:") and (name := events.version_in.partition(":")[2]) not in first:
        yield entry.problem(
            f"version {events.schemas[0].version} has no field {name}{nearest(name, first)}", "events", "version_in"
        )
    if events.event_time is not None:
        kinds = {field.name: field.type for field in events.schemas[0].fields}
        found = f"is {kinds.get(events.event_time, 'not there' + nearest(events.event_time, kinds))}"
        if kinds.get(events.event_time) != "timestamp":
            text = f"{events.event_time} {found}; a timestamp (date-time) of all versions is needed"
            yield entry.problem(text, "events", "event_time")
