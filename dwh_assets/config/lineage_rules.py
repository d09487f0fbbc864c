"""Rules between the fields of a Lineage file, and between files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from dwh_assets.config.lineage_entries import Entries, Entry, Problem
from dwh_assets.config.lineage_fields import nearest
from dwh_assets.config.lineage_forms import ModuleForm, SourceForm
from dwh_assets.config.parameter_forms import override_problems, parameters_of
from dwh_assets.model import graph
from dwh_assets.model.batch import cycle_of
from dwh_assets.model.events import dead_letters_of
from dwh_assets.model.module import Lineage, Module

APPENDING = ("step", "one_day_step", "range", "ingest")
EVENT_KINDS = ("kafka", "files")
_NOT_OF_INGEST = {
    "transforms": "; it keeps events as they are: transform them in the tables built upon it",
    "before": "",
    "after": "",
    "reads": "",
    "delay": "; events get their place in time when they are taken in, so none is late",
    "shards": "; one cursor serves all partitions",
    "key": "; the source's events name theirs",
}
STEP_LIKE = ("step", "one_day_step", "upsert", "history", "range")


def module_problems(entry: Entry[ModuleForm]) -> Iterator[Problem]:
    """What does not fit together within one module."""
    form, processor = entry.form, entry.form.processor
    if processor == "range" and form.span is None:
        yield entry.problem("is required for processor range; write how much time a block covers, for example 1h", "span")
    if processor != "range" and form.span is not None:
        yield entry.problem(f"is not used by processor {processor}; only range has it", "span")
    if processor == "range" and form.start in ("earliest", "now"):
        yield entry.problem("processor range needs a timestamp to start from, for example 2024-01-31T00:00:00Z", "start")
    if processor in ("upsert", "history") and not form.key:
        yield entry.problem(f"is required for processor {processor}; list the columns that identify a row", "key")
    if processor != "upsert" and form.deleted is not None:
        yield entry.problem(f"is not used by processor {processor}; only upsert has it", "deleted")
    if processor == "reload" and "#" in form.table:
        yield entry.problem("processor reload replaces the whole table; remove the tag", "table")
    if form.promise is not None and form.promise <= form.delay:
        yield entry.problem("must be longer than delay: the newest rows wait that long, so it would never be kept", "promise")
    if form.keep is not None and processor not in APPENDING:
        yield entry.problem(f"is not used by processor {processor}; only {', '.join(APPENDING)} add rows that grow old", "keep")
    if form.keep is not None and form.keep <= form.delay:
        yield entry.problem("must be longer than delay, or rows would go before they are loaded", "keep")
    if processor == "ingest":
        for field in _NOT_OF_INGEST:
            if getattr(form, field):
                yield entry.problem(f"is not used by processor ingest{_NOT_OF_INGEST[field]}", field)
    yield from _shards(entry)


def source_problems(entry: Entry[SourceForm]) -> Iterator[Problem]:
    """What does not fit together within one source."""
    form = entry.form
    if form.kind != "postgres":
        for field in ("relation", "url_env", "horizon"):
            if field in form.model_fields_set:
                yield entry.problem(f"is not used by kind {form.kind}; only postgres has it", field)
    elif form.horizon == "delay" and not form.delay:
        # R7: where the application sets pos, a row may commit late with a lower pos, and would be lost for ever.
        yield entry.problem("horizon delay needs a delay above 0, the longest that a row may commit after its pos", "delay")
    yield from _shards(entry)


def _shards(entry: Entry[ModuleForm] | Entry[SourceForm]) -> Iterator[Problem]:
    if entry.form.shards and not entry.form.shard_by:
        yield entry.problem("needs shard_by, the column that holds the shard", "shards")
    if entry.form.shard_by and not entry.form.shards:
        yield entry.problem("needs shards, the list of its values", "shard_by")


def lineage_problems(entries: Entries, lineage: Lineage) -> Iterator[Problem]:
    """What does not fit together between files."""
    places = _Places(entries)
    yield from _names(entries)
    yield from _missing(lineage, places, entries.unread)
    for cycle in graph.cycles(lineage):
        yield places.problem(
            cycle[0], f"closes a cycle: {' -> '.join(cycle)}; use reads for what need not be waited for", cycle[1]
        )
    yield from _batches(entries, lineage)
    yield from _commands(entries, lineage)
    tables = _Tables(lineage)
    yield from _ingests(lineage, tables, places)
    for module in lineage.modules:
        yield from _reload_alone(module, tables, places)
        yield from _base(module, tables, places)
        yield from _shards_of_dependencies(module, tables, places)


def _batches(entries: Entries, lineage: Lineage) -> Iterator[Problem]:
    """Batches of one name, names that are no module's or batch's, and batches that contain or follow themselves."""
    modules = {entry.form.table for entry in entries.modules} | {entry.form.module for entry in entries.commands}
    batches, seen = {entry.form.batch for entry in entries.batches}, set[str]()
    for entry in entries.batches:
        form = entry.form
        if form.batch in seen:
            yield entry.problem(f"there are two batches {form.batch}", "batch")
        seen.add(form.batch)
        if not form.modules and not form.batches:
            yield entry.problem("is empty; list modules, batches, or both", "modules")
        yield from _listed(entry, "modules", [link.module for link in form.modules], modules, entries.unread)
        yield from _listed(entry, "batches", [link.batch for link in form.batches], batches, frozenset())
        yield from _listed(entry, "after", form.after, batches, frozenset())
        for name, text in override_problems(parameters_of(form.parameters), lineage.parameters):
            yield entry.problem(text, "parameters", name)
    if (cycle := cycle_of(lineage.batches)) is not None:
        entry = next(entry for entry in entries.batches if entry.form.batch == cycle[0])
        field = "after" if cycle[1] in entry.form.after else "batches"
        yield entry.problem(f"closes a cycle: {' -> '.join(cycle)}", field)


def _listed(entry: Entry, field: str, names: Sequence[str], known: set[str], unread: frozenset[str]) -> Iterator[Problem]:
    what = "module" if field == "modules" else "batch"
    for number, name in enumerate(names):
        if name in names[:number]:
            yield entry.problem(f"{name} is listed twice", field, number)
        elif name not in known and name.partition("#")[0] not in unread:
            yield entry.problem(f"there is no {what} {name}{nearest(name, known)}", field, number)


def _commands(entries: Entries, lineage: Lineage) -> Iterator[Problem]:
    """Commands of one name, or of a table's, and dependencies that do not exist or go round."""
    modules = {entry.form.table: entry.place for entry in entries.modules}
    seen: dict[str, str] = {}
    known = modules.keys() | {entry.form.module for entry in entries.commands}
    for entry in entries.commands:
        name = entry.form.module
        if (place := modules.get(name) or seen.get(name)) is not None:
            yield entry.problem(f"{name} is also declared by {place}; give it a name of its own", "module")
        seen[name] = entry.place
        for number, dependency in enumerate(entry.form.depends_on):
            if dependency not in known and dependency.partition("#")[0] not in entries.unread:
                yield entry.problem(f"there is no module {dependency}{nearest(dependency, known)}", "depends_on", number)
    if (cycle := graph.command_cycle(lineage)) is not None:
        entry = next(entry for entry in entries.commands if entry.form.module == cycle[0])
        yield entry.problem(f"closes a cycle: {' -> '.join(cycle)}", "depends_on")


class _Tables:
    """Who builds or declares a table."""

    def __init__(self, lineage: Lineage) -> None:
        self.sources = {source.name: source for source in lineage.sources}
        self.builders: dict[str, list[Module]] = defaultdict(list)
        for module in lineage.modules:
            self.builders[module.table].append(module)


class _Places:
    """The entry of each module."""

    def __init__(self, entries: Entries) -> None:
        self.modules = {entry.form.table: entry for entry in entries.modules}
        self._all = entries.modules

    def problem(self, name: str, text: str, dependency: str, field: str = "depends_on") -> Problem:
        """A problem of a module or table with one of its dependencies, at that dependency's line."""
        mine = [entry for entry in self._all if name in (entry.form.table, entry.form.table.partition("#")[0])]
        entry = next((e for e in mine if dependency in getattr(e.form, field)), mine[0])
        listed: list[str] = getattr(entry.form, field)
        return entry.problem(text, field, listed.index(dependency)) if dependency in listed else entry.problem(text, field)


def _names(entries: Entries) -> Iterator[Problem]:
    files: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries.modules:
        files[entry.form.table].append(entry)
    for name, (first, *others) in files.items():
        for other in others:
            yield other.problem(f"{name} is also built by {first.place}; give each its own #tag", "table")
    sources: dict[str, Entry] = {}
    for entry in entries.sources:
        if entry.form.name in sources:
            yield entry.problem(f"{entry.form.name} is also declared by {sources[entry.form.name].place}; keep one", "name")
        sources.setdefault(entry.form.name, entry)
    for module in entries.modules:
        if source := sources.get(module.form.table.partition("#")[0]):
            yield module.problem(f"is also a source in {source.place}; a table is either built here or a source", "table")


def _missing(lineage: Lineage, places: _Places, unread: frozenset[str]) -> Iterator[Problem]:
    known = {m.table for m in lineage.modules} | {s.name for s in lineage.sources}
    for gap in graph.missing(lineage):
        if gap.table not in unread:
            hint = f" (did you mean {' or '.join(gap.near)}?)" if gap.near else nearest(gap.table, known)
            text = f"{gap.table} is neither built here nor a source{hint}; add its file, or declare it in lineage/sources"
            yield places.problem(gap.module, text, gap.table, gap.field)


def _reload_alone(module: Module, tables: _Tables, places: _Places) -> Iterator[Problem]:
    if module.processor != "reload":
        return
    for other in tables.builders[module.table]:
        if other.name != module.name:
            text = f"is also written by {places.modules[other.name].place}; processor reload must be the only writer of its table"
            yield places.modules[module.name].problem(text, "table")


def _ingests(lineage: Lineage, tables: _Tables, places: _Places) -> Iterator[Problem]:
    """Events go into their own stage table by one ingest; everything else is built upon that table."""
    readers: dict[str, str] = {}
    for module in lineage.modules:
        entry = places.modules[module.name]
        outside = [name for name in module.inputs if (s := tables.sources.get(name)) and s.kind in EVENT_KINDS]
        if module.processor != "ingest":
            for name in outside:
                text = f"{name} holds events; build a stage table from it by processor ingest, and this one upon that table"
                yield places.problem(module.name, text, name, "depends_on" if name in module.depends_on else "reads")
            continue
        if module.base not in outside:
            yield entry.problem(f"processor ingest needs a source of kind {' or '.join(EVENT_KINDS)}", "depends_on", 0)
        elif (other := readers.setdefault(module.base, module.name)) != module.name:
            yield entry.problem(f"{module.base} is already taken in by {other}; build this table upon that one", "depends_on", 0)
        if len(tables.builders[module.table]) > 1 or module.tag:
            yield entry.problem("processor ingest must be the only writer of its table; remove the tag", "table")
        if dead_letters_of(module.table) in tables.builders or dead_letters_of(module.table) in tables.sources:
            yield entry.problem(f"its dead letters go to {dead_letters_of(module.table)}, which is another table here", "table")


def _base(module: Module, tables: _Tables, places: _Places) -> Iterator[Problem]:
    entry = places.modules[module.name]
    reloaded = any(m.processor == "reload" for m in tables.builders.get(module.base, ()))
    if reloaded and module.processor in STEP_LIKE:
        text = (
            f"{module.base} is rebuilt as a whole by reload, so it has no blocks; it cannot be the base of a {module.processor}"
        )
        yield entry.problem(f"{text}; put another table first, or use reload", "depends_on", 0)
    source = tables.sources.get(module.base)
    if source and source.position != module.position:
        # The source's watermark is observed on its own position columns; it says nothing about others.
        text = (
            f"differs from the position [{', '.join(source.position)}] of the base {source.name}; leave it out to take that one"
        )
        yield entry.problem(text, "position")


def _shards_of_dependencies(module: Module, tables: _Tables, places: _Places) -> Iterator[Problem]:
    """S24: a shard waits for the same shard of a sharded dependency, for ever if there is none."""
    for table in module.depends_on:
        makers = [*tables.builders.get(table, ()), *filter(None, [tables.sources.get(table)])]
        shards = {shard for maker in makers for shard in maker.shards}
        if shards and (absent := [shard for shard in module.shards if shard not in shards]):
            text = f"{table} has no shard {', '.join(absent)}; its shards are {', '.join(sorted(shards))}"
            yield places.problem(module.name, text, table)
