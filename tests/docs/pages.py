"""What the pages show: commands, files and links, in the order in which a reader meets them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A command as people type it, perhaps with variables before it, perhaps behind the installation of uv.
_COMMAND = re.compile(
    r"(?:[A-Z][A-Z0-9_]*=\S+ )*(?:pip install uv && )?(?:uv run )?(dwh|dagster[\w-]*|python -m bench|export|cd|sed)\s"
)
_SETTING = re.compile(r"[A-Z][A-Z0-9_]*=\S+$")
_NOTE = re.compile(r"(?:^|\s+)#\s")
_FILE = re.compile(r"(?:#|--) ((?:[\w-]+/)*[\w-]+\.(?:yaml|sql|py|toml|json|csv))$")
_ENDS_WITH = re.compile(r"ends with exit code (\d+)")


@dataclass(frozen=True)
class Command:
    """One command of a line. `words` are empty where a line only sets variables."""

    page: str
    line: int
    text: str
    words: tuple[str, ...]
    variables: dict[str, str]
    into: str | None = None  # the file behind >
    code: int = 0  # the exit code that the page states

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"


@dataclass(frozen=True)
class File:
    """A block of code whose first line is a comment with the file's name."""

    page: str
    line: int
    name: str
    text: str


@dataclass(frozen=True)
class Page:
    name: str

    @cached_property
    def text(self) -> str:
        return (ROOT / self.name).read_text(encoding="utf-8")

    @cached_property
    def prose(self) -> str:
        """All but the blocks of code."""
        code = {number for first, lines in self._blocks() for number in range(first, first + len(lines))}
        return "\n".join(line for number, line in enumerate(self.text.splitlines(), 1) if number not in code)

    @cached_property
    def steps(self) -> list[Command | File]:
        return [step for first, lines in self._blocks() for step in self._steps(first, lines)]

    @property
    def commands(self) -> list[Command]:
        return [step for step in self.steps if isinstance(step, Command)]

    @property
    def files(self) -> list[File]:
        return [step for step in self.steps if isinstance(step, File)]

    @property
    def mentioned(self) -> list[list[str]]:
        """Commands of dwh inside sentences and tables, as words."""
        spans = (" ".join(span.split()) for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", self.prose))
        return [text.split() for text in spans if re.match(r"(uv run )?dwh [a-z]", text)]

    @property
    def headings(self) -> set[str]:
        titles = re.findall(r"^#+ (.+)$", self.prose, re.MULTILINE)
        return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}

    @property
    def links(self) -> list[str]:
        return re.findall(r"\]\(([^)\s]+)\)", self.prose)

    def _blocks(self) -> Iterator[tuple[int, list[str]]]:
        """Fenced and indented blocks of code: the number of their first line, and their lines without the indent."""
        lines = self.text.splitlines()
        number = 0
        while number < len(lines):
            line = lines[number]
            begin = number
            if line.startswith("```"):
                number += 1
                while not lines[number].startswith("```"):
                    number += 1
                yield begin + 2, lines[begin + 1 : number]
            elif line.startswith("    ") and (number == 0 or not lines[number - 1].strip()):
                while number < len(lines) and (lines[number].startswith("    ") or not lines[number].strip()):
                    number += 1
                yield begin + 1, [text[4:] for text in lines[begin:number]]
                continue
            number += 1

    def _steps(self, first: int, lines: list[str]) -> Iterator[Command | File]:
        names = [(place, found[1]) for place, line in enumerate(lines) if (found := _FILE.match(line))]
        yield from self._lines(first, lines[: names[0][0]] if names else lines)
        ends = [place for place, _ in names[1:]] + [len(lines)]
        for (place, name), end in zip(names, ends, strict=False):
            yield File(self.name, first + place, name, "\n".join(lines[place + 1 : end]).rstrip() + "\n")

    def _lines(self, first: int, lines: list[str]) -> Iterator[Command]:
        text, begin = "", first
        for number, line in enumerate(lines, first):
            begin = begin if text else number
            text += line.rstrip("\\")
            if not line.endswith("\\"):
                yield from self._commands(begin, text.strip())
                text = ""

    def _commands(self, line: int, text: str) -> Iterator[Command]:
        body, *note = _NOTE.split(text, maxsplit=1)
        if not (_COMMAND.match(body + " ") or _SETTING.match(body)):
            return
        stated = _ENDS_WITH.search(note[0]) if note else None
        words: list[str] = []
        for word in [*shlex.split(body), "&&"]:
            if word not in ("&&", "|"):
                words.append(word)
                continue
            if command := self._command(line, body, words, int(stated[1]) if stated else 0):
                yield command
            words = []

    def _command(self, line: int, text: str, words: list[str], code: int) -> Command | None:
        into = words[words.index(">") + 1] if ">" in words else None
        words = words[: words.index(">")] if ">" in words else words
        known = dict[str, str]()
        while words and re.match(r"[A-Z][A-Z0-9_]*=", words[0]):
            name, _, known[name] = words.pop(0).partition("=")
        words = words[2:] if words[:2] == ["uv", "run"] else words
        if words[:1] in (["pip"], ["cat"], ["pytest"]):
            return None
        return Command(self.name, line, text, tuple(words), known, into, code)


def pages() -> list[Page]:
    """README and docs, but for the reference, which is made from the code."""
    found = [path for path in sorted((ROOT / "docs").rglob("*.md")) if path.parent.name != "reference"]
    return [Page("README.md"), *(Page(str(path.relative_to(ROOT))) for path in found)]


def linked_pages() -> list[Page]:
    """Every page that people read, also where it shows no commands."""
    rest = sorted((ROOT / "docs" / "reference").glob("*.md"))
    more = [Page("tests/README.md"), Page("bench/README.md"), *(Page(str(path.relative_to(ROOT))) for path in rest)]
    return [*pages(), *more]
