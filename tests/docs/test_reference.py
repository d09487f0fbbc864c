"""docs/reference/ is what the code says, and everything in it has a meaning."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs import make
from dwh_assets.cli import main
from dwh_assets.config.settings import Settings
from dwh_assets.control.database import Database
from dwh_assets.control.events import log_event
from dwh_assets.control.metrics import exposition
from dwh_assets.control.statements import views
from dwh_assets.model.event import CODES

REPOSITORY = Path(__file__).parents[2]
WRITERS = ("log_event", "_act", "_quiet_act")  # their second argument is the code of an event


@pytest.fixture
def pages(database: Database) -> list[make.Page]:
    return make.pages(database)


def test_the_pages_are_what_the_code_says(pages: list[make.Page]) -> None:
    assert make.outdated(pages) == [], f"docs/reference/ is not what the code says. Type: {make.COMMAND}"


def test_everything_has_a_meaning(pages: list[make.Page]) -> None:
    silent = [f"{entry.page}: {entry.name}" for page in pages for entry in page.entries if not entry.means.strip()]
    assert silent == [], "say what these mean where they are defined: a description, a docstring, a help text, a comment in SQL"


def test_nothing_is_left_out(pages: list[make.Page], database: Database) -> None:
    told = {page.name: {entry.name for entry in page.entries} for page in pages}
    made = {name for file in views() for name in re.findall(r"^create view (\S+) as", file.read_text(), flags=re.MULTILINE)}
    served = set(re.findall(r"^# TYPE (\S+)", exposition(database), flags=re.MULTILINE))
    typed = {f"dwh {command.__name__.replace('_', '-')}" for commands in main._GROUPS.values() for command in commands}
    assert Settings.model_fields.keys() <= told["settings"]
    assert made <= told["views"]
    assert served == told["metrics"]
    assert typed | {"dwh batch run", "dwh lineage apply", "dwh kafka seek"} <= told["commands"]
    assert CODES.keys() <= told["events"]
    assert len(made) > 50


def test_a_default_and_a_bracket_of_a_help_text_are_shown(pages: list[make.Page]) -> None:
    (commands,) = [page.text() for page in pages if page.name == "commands"]
    assert "How many, the newest. [default: 20; x>=1]" in commands
    assert "db.table[#tag][:shard]" in commands


def test_changed_missing_and_strange_pages_are_named_and_put_right(pages: list[make.Page], tmp_path: Path) -> None:
    assert len(make.write(pages, tmp_path)) == len(pages)
    (tmp_path / "metrics.md").write_text("by hand")
    (tmp_path / "views.md").unlink()
    (tmp_path / "old.md").write_text("of a page that is no more")
    assert make.outdated(pages, tmp_path) == ["metrics.md", "old.md", "views.md"]
    make.write(pages, tmp_path)
    assert make.outdated(pages, tmp_path) == []


def test_every_link_of_the_pages_leads_somewhere() -> None:
    lost = [f"{file.name}: {link}" for file in make.FOLDER.glob("*.md") for link in _links(file) if not _leads(file, link)]
    assert lost == []


def _links(file: Path) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", file.read_text())


def _leads(file: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = file.parent / path if path else file
    return target.exists() and (not anchor or anchor in _anchors(target))


def _anchors(file: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.*)$", file.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_an_event_code_without_a_meaning_is_refused_and_nothing_is_written(database: Database) -> None:
    with pytest.raises(ValueError, match="'BOLD' has no meaning yet"), database.transaction() as connection:
        log_event(connection, "BOLD", "text", who="test")
    assert database.fetch("select from dwh.event_log") == []


def test_every_code_in_the_source_has_a_meaning_and_every_meaning_a_source() -> None:
    sources = {file: file.read_text() for file in (REPOSITORY / "dwh_assets").rglob("*.py") if file.name != "event.py"}
    written = {code for text in sources.values() for code in _codes(ast.parse(text))}
    assert written <= CODES.keys()
    texts = [*sources.values(), *(file.read_text() for file in (REPOSITORY / "sql" / "control").rglob("*.sql"))]
    idle = [code for code in CODES if not any(re.search(rf"""["']({code}|{code.lower()})["']""", text) for text in texts)]
    assert idle == []


def _codes(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and len(node.args) > 1:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
            if name in WRITERS and isinstance(node.args[1], ast.Constant):
                yield str(node.args[1].value)
