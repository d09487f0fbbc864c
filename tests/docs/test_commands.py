"""What the pages say can be done: every command, setting, name, file and link of README.md and docs/."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from typer._click.exceptions import UsageError

from dwh_assets.config.lineage_files import load_lineage
from dwh_assets.config.origins import OTHERS
from dwh_assets.config.settings import Settings
from dwh_assets.model.module import Lineage
from tests.cli.conftest import Project
from tests.docs.conftest import copy_files
from tests.docs.pages import ROOT, Page, linked_pages, pages
from tests.docs.parsing import command_of
from tests.docs.walk import Walk

PAGES = pages()
WITH_COMMANDS = [page for page in PAGES if page.commands]
NOT_RUN = [Page("tests/README.md"), Page("bench/README.md"), Page("dwh_assets/template/README.md")]
FIRST = ("README.md",)  # what a new reader follows runs each time, the rest on demand
NAMES = ("topic", "table", "module", "name", "batch", "base", "from_")  # parameters that name something of the Lineage
# Variables that are read by something other than a warehouse.
ELSEWHERE = {
    "DWH_BENCH_HOME",  # bench
    "DWH_VIEWER_URL",  # the example of connect.md
    "DWH_UNPROTECTED",  # tests
    "DWH_RESULT", "DWH_EXECUTION", "DWH_BATCH", "DWH_BATCH_INSTANCE",  # what a command of a batch finds
    "DWH_SLOT",  # the example of a wrong one
}  # fmt: skip
SETTINGS = {f"DWH_{name.upper()}" for name in Settings.model_fields} | OTHERS.keys() | ELSEWHERE


def by_name(found: list[Page]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", found, ids=lambda page: page.name)


@pytest.fixture(scope="module")
def lineage() -> Lineage:
    return load_lineage(ROOT / "lineage", ROOT / "sql" / "transforms")


@pytest.fixture(scope="module")
def started() -> set[str]:
    return set()


@by_name([*WITH_COMMANDS, *NOT_RUN])
def test_a_command_is_one_that_there_is_with_options_and_arguments_that_fit(page: Page) -> None:
    assert list(_misfits(page)) == []


@by_name(linked_pages())
def test_a_command_in_a_sentence_is_one_that_there_is(page: Page) -> None:
    wrong = []
    for words in page.mentioned:
        try:
            unknown = command_of(words[words.index("dwh") + 1 :]).unknown_options
        except UsageError as error:
            wrong.append(f"{' '.join(words)}: {error}")
        else:
            wrong += [f"{' '.join(words)}: {option}" for option in unknown]
    assert wrong == []


@by_name(linked_pages())
def test_a_setting_that_is_named_exists(page: Page) -> None:
    named = set(re.findall(r"\bDWH_[A-Z0-9]+(?:_[A-Z0-9]+)*\b(?!_|\*)", page.text))
    assert sorted(named - SETTINGS) == []


@by_name(linked_pages())
def test_a_link_leads_somewhere(page: Page) -> None:
    assert [link for link in page.links if not _leads_somewhere(page, link)] == []


@by_name(WITH_COMMANDS)
def test_a_table_that_a_command_names_is_of_the_demo_or_made_by_the_page(page: Page, lineage: Lineage) -> None:
    known = _names_of(lineage) | _made_by(page)
    assert {name for name in _named_in(page) if not _is_known(name, known)} == set()


@by_name([page for page in PAGES if any(file.name.startswith(("lineage/", "sql/")) for file in page.files)])
def test_the_files_that_a_page_shows_are_sound(page: Page, tmp_path: Path) -> None:
    copy_files(tmp_path)
    for file in page.files:
        (tmp_path / file.name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file.name).write_text(file.text)
    load_lineage(tmp_path / "lineage", tmp_path / "sql" / "transforms")


@by_name([page for page in WITH_COMMANDS if page.name in FIRST])
@pytest.mark.timeout(1800)
def test_a_new_reader_can_follow_the_page(
    page: Page, copied: Callable[..., Project], started: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    follow(page, copied, started, monkeypatch)


@pytest.mark.exhaustive
@by_name([page for page in WITH_COMMANDS if page.name not in FIRST])
@pytest.mark.timeout(1800)
def test_a_page_can_be_followed(
    page: Page, copied: Callable[..., Project], started: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    follow(page, copied, started, monkeypatch)


def follow(page: Page, copied: Callable[..., Project], started: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    project = copied()
    monkeypatch.chdir(project.folder)
    problems = Walk(project, lambda folder: copied(folder, empty=True), started).follow(page)
    assert not problems, "\n\n".join(problems)


def _misfits(page: Page) -> Iterator[str]:
    for command in page.commands:
        if command.words[:1] == ("dwh",):
            try:
                command_of(_with_numbers(command.words[1:])).parse()
            except UsageError as error:
                yield f"{command}: {error}"


def _with_numbers(words: tuple[str, ...]) -> list[str]:
    return ["1" if word == "NUMBER" else word for word in words]


def _leads_somewhere(page: Page, link: str) -> bool:
    if re.match(r"[a-z]+://", link):
        return True
    name, _, heading = link.partition("#")
    target = (ROOT / page.name).parent / name if name else ROOT / page.name
    if not target.exists():
        return False
    return not heading or heading in Page(str(target.resolve().relative_to(ROOT))).headings


def _named_in(page: Page) -> Iterator[str]:
    for command in page.commands:
        if command.words[:1] == ("dwh",):
            given = command_of(_with_numbers(command.words[1:])).parse().items()
            yield from (value for name, value in given if name in NAMES and isinstance(value, str) and _is_name(name, value))


def _is_name(parameter: str, value: str) -> bool:
    """Not a block's number, a day, a report or a setting, which some commands take in the same place."""
    return parameter == "batch" or "." in value


def _names_of(lineage: Lineage) -> set[str]:
    modules = {name for module in lineage.modules for name in (module.name, module.table, *module.topics)}
    return (
        modules
        | {source.name for source in lineage.sources}
        | {batch.name for batch in lineage.batches}
        | {command.name for command in lineage.commands}
    )


def _made_by(page: Page) -> set[str]:
    """Tables that the page's own files and commands bring into being."""
    texts = [file.text for file in page.files if file.name.startswith("lineage/") and file.name.endswith(".yaml")]
    if any(command.words[:2] == ("dwh", "init") for command in page.commands):
        texts += [path.read_text() for path in (ROOT / "dwh_assets/template/lineage").rglob("*.yaml")]
    entries = [entry for text in texts for entry in _entries(text)]
    made = {entry[key] for entry in entries for key in ("table", "name", "module", "batch") if key in entry}
    return made | {command.words[3] for command in page.commands if command.words[:3] == ("dwh", "new", "table")}


def _entries(text: str) -> list[dict[str, str]]:
    found = yaml.safe_load(text)
    return found if isinstance(found, list) else [found]


def _is_known(name: str, known: set[str]) -> bool:
    """Also a column of a known table."""
    return name in known or name.rpartition(".")[0] in known
