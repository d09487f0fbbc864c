"""The SQL that Lineage files name or hold, each statement through the guard."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from dwh_assets.config.lineage_entries import Entry, Problem, shown
from dwh_assets.config.lineage_forms import ModuleForm
from dwh_assets.config.sql_guard import check_aggregate, check_predicate, check_query, check_view, check_write
from dwh_assets.config.sql_parameters import with_values
from dwh_assets.model.errors import SqlRefused
from dwh_assets.model.module import Module
from dwh_assets.model.parameter import Parameter

_BY_BLOCK = ("step", "one_day_step", "upsert", "history", "range")


def sql_problems(
    entry: Entry[ModuleForm],
    module: Module,
    parameters: Collection[Parameter],
    known: Collection[str],
    folder: Path,
    transforms: Path,
) -> list[Problem]:
    """Everything that is wrong with the SQL of one module; `known` are all tables of the Lineage."""
    reader = _Reader(entry, module, parameters, known, folder, transforms)
    reader.actions("before")
    reader.transforms_of()
    reader.actions("after")
    reader.expressions()
    return reader.problems


class _Reader:
    """Goes through a module in the order in which its SQL will run; views made on the way may be named later."""

    def __init__(
        self,
        entry: Entry[ModuleForm],
        module: Module,
        parameters: Collection[Parameter],
        known: Collection[str],
        folder: Path,
        transforms: Path,
    ) -> None:
        self.entry, self.module, self.folder, self.transforms = entry, module, folder, transforms
        self._parameters = parameters
        self.problems: list[Problem] = []
        self._known = known
        self._views: list[str] = []
        self._block_seen = False

    def actions(self, field: str) -> None:
        for i, action in enumerate(getattr(self.module, field)):
            with_line = (field, i)
            if action.idempotent:
                self._guard(lambda sql=action.sql, at=with_line: self._write(self._filled(sql), at), *with_line)
            else:
                self._guard(lambda sql=action.sql: self._view(self._filled(sql)), *with_line)

    def transforms_of(self) -> None:
        for i, name in enumerate(self.module.transforms):
            if ":" not in name:
                self._transform(name, i)

    def expressions(self) -> None:
        for name, text in self.module.expect.items():
            self._guard(lambda text=text: check_predicate(self._filled(text)), "expect", name)
        for name, text in self.module.measures.items():
            self._guard(lambda text=text: check_aggregate(self._filled(text)), "measures", name)
        for i, form in enumerate(self.entry.form.checks):
            if (expect := form.expect) is not None:
                self._guard(lambda text=expect.predicate: check_predicate(self._filled(text)), "checks", i, "expect", "predicate")
        if (deleted := self.module.deleted) is not None:
            self._guard(lambda: check_predicate(self._filled(deleted)), "deleted")

    def _filled(self, sql: str, name: str = "sql") -> str:
        return with_values(sql, self._parameters, name)

    def _guard(self, check: Callable[[], object], *path: str | int) -> None:
        """A statement that stands in the Lineage file: its problems carry the line of its field."""
        try:
            check()
        except SqlRefused as error:
            self.problems += [self.entry.problem(reason, *path) for _, reason in error.problems]

    def _view(self, sql: str) -> None:
        view, query = check_view(sql, self.module.inputs, "view", self._views)
        self._views.append(view)
        self._block_seen |= query.uses_block

    def _write(self, sql: str, path: tuple[str, int]) -> None:
        query = check_write(sql, self.module.inputs, "write", self._views)
        if query.target in self._known:
            # Spark never writes to a loaded table beside its blocks: what readers see would not be what the ledger says.
            text = f"writes to {query.target}, which the Lineage builds or reads; write to a table of your own"
            self.problems.append(self.entry.problem(text, *path))

    def _transform(self, name: str, i: int) -> None:
        path = self.transforms / name
        if not (path.is_file() and path.resolve().is_relative_to(self.transforms.resolve())):
            text = f"there is no file {shown(path, self.folder)}; write it, or correct the path"
            self.problems.append(self.entry.problem(text, "transforms", i))
            return
        file = shown(path, self.folder)
        try:
            query = check_query(self._filled(path.read_text(encoding="utf-8"), file), self.module.inputs, file, self._views)
        except SqlRefused as error:
            self.problems += [Problem(file, line, "", f"{reason} (module {self.module.name})") for line, reason in error.problems]
        except UnicodeDecodeError:
            self.problems.append(Problem(file, 1, "", "is not UTF-8 text"))
        else:
            self.problems += self._without_block(file, query.uses_block)

    def _without_block(self, file: str, uses_block: bool) -> Iterator[Problem]:
        if self.module.processor in _BY_BLOCK and not (uses_block or self._block_seen):
            # It would read the whole base table for every block, and write its rows again each time.
            text = f"does not read {{{{ block }}}}, the base rows of a block (module {self.module.name})"
            yield Problem(file, 1, "", f"{text}; name it in place of {self.module.base}")
