"""Following a page: its files are written, its commands are run, in their order, as a reader would do it."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dwh_assets.config.machine import free_port, port_is_free
from dwh_assets.config.settings import load_settings
from dwh_assets.orchestration.instance import prepare_home
from tests.cli.conftest import Project
from tests.docs.pages import Command, File, Page
from tests.docs.parsing import command_of
from tests.faults.nursery import eventually

READY_SECONDS, END_SECONDS = 240.0, 90.0
INTERRUPTED = 130
# Not run here, and why.
EXEMPT = {
    r"dwh chaos": "many minutes; tests/chaos runs it",
    r"dwh bench|python -m bench": "hours; tests/bench runs each measurement with few rows",
}


@dataclass(frozen=True)
class Service:
    """A command that does not end by itself: what it says when it is ready, how a person ends it, and with which code."""

    ready: str
    code: int = INTERRUPTED
    typed: bytes | None = None  # else Ctrl-C


SERVICES = {
    r"dwh up( --read-only)?$": Service(r"Dagster +\S*http"),
    r"dwh up --no-dagster --workers \d+$": Service(r"#\d|metrics +\S*http"),
    r"dwh run$": Service(r"loaded|#\d"),
    r"dwh worker( --no-dagster)?$": Service(r"worker \S+ is ready", code=0),
    r"dwh status --watch$": Service(r"\x1b\["),
    r"dwh metrics$": Service(r"metrics: .*http"),
    r"dwh sql$": Service(r"dwh>", code=0, typed=b"\\q\n"),
    r"dagster dev": Service(r"Serving dagster-webserver", code=0),
    r"dagster-webserver": Service(r"Serving dagster-webserver", code=0),
    r"dagster-daemon run": Service(r"Instance is configured", code=0),
    r"dagster code-server start": Service(r"Started Dagster code proxy server", code=0),
}


@dataclass
class Walk:
    project: Project
    make_empty: Callable[[Path], Project]
    started: set[str]  # services that another page has started already
    exported: dict[str, str] = field(default_factory=dict)

    def follow(self, page: Page) -> list[str]:
        """What did not go as the page says."""
        return [problem for step in page.steps if (problem := self._step(step))]

    def _step(self, step: Command | File) -> str | None:
        if isinstance(step, File):
            file = self.project.folder / step.name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(step.text)
            return None
        os.chdir(self.project.folder)
        line = " ".join(step.words)
        if not step.words:
            self.exported |= step.variables
        elif step.words[0] == "export":
            self._export(step.words[1:])
        elif step.words[0] == "cd":
            self.project = self.make_empty(self.project.folder / step.words[1])
        elif not any(re.match(pattern, line) for pattern in EXEMPT):
            service = next((service for pattern, service in SERVICES.items() if re.match(pattern, line)), None)
            return self._ended(step) if service is None else self._served(step, line, service)
        return None

    def _export(self, words: tuple[str, ...]) -> None:
        for word in words:
            name, _, value = word.partition("=")
            # A database of the reader's is the test's own one.
            self.exported[name] = (
                self.project.environment["DWH_POSTGRES_URL"]
                if "@HOST" in value
                else value.replace("$PWD", str(self.project.folder))
            )
        if "DAGSTER_HOME" in self.exported:  # a `dwh up` has been there before
            prepare_home(load_settings(home=self.project.folder / ".dwh", project=self.project.folder))

    def _environment(self, step: Command) -> dict[str, str]:
        """What the test's own servers are named by comes before the examples of a page."""
        return self.exported | step.variables | self.project.environment

    def _ended(self, step: Command) -> str | None:
        words = [self._filled(word, step) for word in step.words]
        if words[0] != "dwh":
            return self._of_others(step, words)
        command = command_of(words[1:])
        asks = command.takes("--yes") and "--yes" not in words
        answer = replace(self.project, environment=self._environment(step)).dwh(*words[1:], *(["--yes"] if asks else []))
        if step.into:
            Path(step.into).write_text(answer.out)
        return (
            None if answer.code == step.code else f"{step}\nended with {answer.code}\n{answer.out[-2000:]}\n{answer.err[-2000:]}"
        )

    def _of_others(self, step: Command, words: list[str]) -> str | None:
        done = subprocess.run(
            [program(words[0]), *words[1:]],
            env=os.environ | self._environment(step),
            capture_output=True,
            text=True,
            timeout=END_SECONDS * 2,
        )
        return (
            None
            if done.returncode == step.code
            else f"{step}\nended with {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
        )

    def _served(self, step: Command, line: str, service: Service) -> str | None:
        place = f"{self.project.folder.name}: {line}"
        if place in self.started:
            return None
        self.started.add(place)
        words = [self._filled(word, step) for word in step.words]
        port = free_port() if "-p" in words else None
        if port is not None:
            words[words.index("-p") + 1] = str(port)
        terminal = Terminal([program(words[0]), *words[1:]], os.environ | self._environment(step) | {"TERM": "xterm"})
        try:
            terminal.wait_for(service.ready)
            if port is not None:  # Dagster's servers say that they serve before they do
                eventually(lambda: True if not port_is_free(port) else None, f"{line} listens on its port", READY_SECONDS)
            code = terminal.end(service.typed)
        finally:
            if terminal.kill():
                self.project.dwh("down")  # what it has started goes with it
        return None if code == service.code else f"{step}\nended with {code}\n{terminal.said[-4000:]}"

    def _filled(self, word: str, step: Command) -> str:
        for name, find in FILLED.items():
            if re.search(rf"\b{name}\b", word):
                word = re.sub(rf"\b{name}\b", find(self, step), word)
        return word

    def block_of(self, step: Command) -> str:
        """The block that a reader of this line would look up before it."""
        if step.words[1] == "deadletter":
            return str(self.project.ok("deadletter", "list", "--json").json[0]["block_id"])
        if step.words[1] == "restate":
            return str(self._block(step.words[2], "committed")["id"])
        return str(self._block("quality.refunds", "parked")["id"])

    def partition(self, step: Command) -> str:
        """The newest block of the payments, as Dagster names it."""
        block = self._block("fact.payments", "committed")
        return f"{block['next_pos'][:10].replace('-', '')}-{block['seq']:06}"

    def _block(self, topic: str, status: str) -> dict[str, Any]:
        found = [block for block in self.project.ok("blocks", topic, "--json").json if block["status"] == status]
        assert found, f"{topic} has no block that is {status}"
        return found[-1]


FILLED: dict[str, Callable[[Walk, Command], str]] = {
    "NUMBER": Walk.block_of,
    "PARTITION": Walk.partition,
    "DIR": lambda walk, step: "backup",
}


def program(name: str) -> str:
    """The program of this environment, as `uv run` would find it."""
    found = Path(sys.executable).with_name(name)
    return str(found) if found.exists() else name


class Terminal:
    """A process on a terminal of its own, and all that it said there."""

    def __init__(self, words: list[str], variables: dict[str, str]) -> None:
        ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            words, env=variables, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, close_fds=True
        )
        os.close(theirs)
        self._ours, self.said = ours, ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, pattern: str) -> None:
        def seen() -> bool | None:
            if self._process.poll() is not None:
                raise AssertionError(f"it ended with {self._process.returncode}:\n{self.said[-4000:]}")
            return True if re.search(pattern, self.said) else None

        try:
            eventually(seen, pattern, READY_SECONDS)
        except TimeoutError:
            raise AssertionError(f"it never said {pattern!r}:\n{self.said[-4000:]}") from None

    def end(self, typed: bytes | None) -> int:
        if typed is None:
            os.kill(self._process.pid, signal.SIGINT)
        else:
            os.write(self._ours, typed)
        return self._process.wait(END_SECONDS)

    def kill(self) -> bool:
        """Whether it was still there."""
        alive = self._process.poll() is None
        if alive:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._reader.join(5)
        os.close(self._ours)
        return alive

    def _read(self) -> None:
        while True:
            try:
                part = os.read(self._ours, 65536)
            except OSError:  # how Linux says that the other side is closed
                return
            self.said += part.decode(errors="replace")
