"""The live screen: what runs, fails and lags first, the rest counted; on any terminal, and as one frame elsewhere."""

from __future__ import annotations

import io
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from fcntl import ioctl
from pathlib import Path
from select import select
from typing import Any

import pytest
from rich.console import Console

from dwh_assets.cli.frame import Frame, work_of
from dwh_assets.control.database import Database
from dwh_assets.control.phases import PhaseStore
from dwh_assets.control.reports import Reports
from dwh_assets.model.phase import Advance, PhaseNote
from tests.control.small import MODULE, TOPIC, Store
from tests.faults.nursery import eventually

DWH = [sys.executable, "-m", "dwh_assets.cli"]
AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
PACE = {"rows": 6000, "blocks": 12, "workers": 3, "busy": 2}
RUNS: dict[str, Any] = {
    "topic": "fact.t150", "block_id": 812, "kind": "load", "attempt": 2, "seconds": 14.2, "phase": "data-transform",
    "tasks": 40, "tasks_done": 12,
}  # fmt: skip
ERROR = {"topic": "fact.t7", "times": 3, "last_at": AT, "text": "amount is null\nin block #3"}


def topic(name: str, **fields: Any) -> dict[str, Any]:
    row = {"topic": name, "verdict": "REPEAT", "parked": False, "problem": None, "due": False, "lag_seconds": 1.0, "why": "soon"}
    return row | {"promise_seconds": None, "pending_rows": 0, "more": False, "rows_per_second": 1000.0} | fields


def warehouse(count: int, height: int | None) -> Frame:
    rows = {f"fact.t{n}": topic(f"fact.t{n}") for n in range(count)}
    for name, fields in {
        "fact.t7": {"verdict": "BACKOFF", "parked": True, "why": "block #3 is parked"},
        "fact.t150": {"verdict": "LOCKED"},
        "fact.t42": {"lag_seconds": 900.0, "promise_seconds": 60.0},
        "fact.t43": {"lag_seconds": 9000.0, "promise_seconds": 60.0},
        "fact.t99": {"verdict": "DUE", "due": True, "pending_rows": 1234},
    }.items():
        rows[name] |= fields
    return Frame(list(rows.values()), [RUNS], [ERROR], PACE, AT, height)


def drawn(frame: Frame, width: int, height: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, height=height, legacy_windows=False).print(frame)
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (132, 50), (60, 12)])
def test_two_hundred_topics_fit_on_a_screen_with_what_matters_first(width: int, height: int) -> None:
    lines = drawn(warehouse(200, height), width, height)
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    names = [line[2:].split()[0] for line in lines if line[2:8] == "fact.t"]
    first = ["fact.t150", "fact.t7", "fact.t43", "fact.t42", "fact.t99"]
    assert names[: len(first)] == first[: len(names)]
    (rest,) = [line for line in lines if line.lstrip().startswith("and ")]
    assert rest.split()[1] == str(200 - len(names))
    assert "REPEAT" in rest


def test_a_frame_says_how_fast_it_is_who_works_and_what_failed() -> None:
    text = "\n".join(drawn(warehouse(200, 50), 132, 50))
    assert "200 topics: 1 being loaded, 1 failing, 2 behind, 1 due, 195 at rest" in text
    assert "100 rows/s over the last minute, 12 blocks; 3 workers, 2 busy" in text
    assert "#812 data-transform 12/40 tasks, 14 s, try 2" in text
    assert "amount is null" in text
    assert "in block #3" not in text


def test_a_small_warehouse_is_shown_whole() -> None:
    frame = Frame([topic("fact.a"), topic("fact.b")], [], [], PACE, AT, 24)
    lines = drawn(frame, 80, 24)
    assert [line.split()[0] for line in lines if "fact." in line] == ["fact.a", "fact.b"]
    assert not any("more" in line for line in lines)


def test_an_attempt_of_which_nothing_was_told_yet_begins() -> None:
    assert work_of(RUNS | {"phase": None, "tasks": None, "attempt": 1, "kind": "restatement"}).startswith(
        "restatement [cyan]begins"
    )


def test_what_runs_is_reported_with_its_phase_and_how_far_it_is(database: Database) -> None:
    store = Store(database)
    store.apply(MODULE)
    store.observe()
    store.plan(1)
    claim = store.claims().claim(TOPIC, "")
    notes = PhaseStore(database)
    notes.note([PhaseNote(claim.execution_id, TOPIC, "data-transform", "started")])
    for advance in (Advance(40, 12), Advance(20, 4)):  # a late one changes nothing
        notes.note([PhaseNote(claim.execution_id, TOPIC, "data-transform", "advanced", advance=advance)])
    (row,) = Reports(database).running()
    assert (row["topic"], row["block_id"], row["phase"]) == (TOPIC, claim.block.id, "data-transform")
    assert (row["tasks"], row["tasks_done"]) == (40, 12)
    assert Reports(database).running(["another"]) == []
    notes.note([PhaseNote(claim.execution_id, TOPIC, "data-transform", "finished")])
    assert Reports(database).running()[0]["phase"] is None


@pytest.fixture
def command(database: Database, database_url: str, tmp_path: Path) -> dict[str, str]:
    """The environment of a dwh command on a warehouse with one topic."""
    store = Store(database)
    store.apply(MODULE)
    return os.environ | {"DWH_HOME": str(tmp_path), "DWH_POSTGRES_URL": database_url, "TERM": "xterm"}


def test_elsewhere_than_on_a_terminal_one_frame_is_printed(command: dict[str, str]) -> None:
    ended = subprocess.run([*DWH, "status", "--watch"], env=command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert "1 topics: 1 failing" in ended.stdout
    assert "\x1b" not in ended.stdout


def test_ctrl_c_ends_the_screen_and_a_resized_terminal_is_filled_anew(command: dict[str, str]) -> None:
    with on_terminal([*DWH, "status", "--watch"], command) as terminal:
        terminal.shows("fact.sales")
        terminal.resize(20, 100)
        terminal.shows("no worker is online")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.process.wait(60) == 130
        assert "\x1b[?1049l" in terminal.text()  # the screen that was there before is back


def test_json_of_a_live_screen_is_refused(command: dict[str, str]) -> None:
    ended = subprocess.run([*DWH, "status", "--watch", "--json"], env=command, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "--watch is for people" in ended.stderr


class Terminal:
    """A process on a terminal of its own."""

    def __init__(self, process: subprocess.Popen[bytes], screen: int) -> None:
        self.process = process
        self._screen = screen
        self._read = b""

    def resize(self, lines: int, columns: int) -> None:
        ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self._read = b""

    def text(self) -> str:
        while select([self._screen], [], [], 0.1)[0]:
            try:
                self._read += os.read(self._screen, 65536)
            except OSError:  # the other side is closed
                break
        return self._read.decode(errors="replace")

    def shows(self, text: str) -> None:
        eventually(lambda: True if text in self.text() else None, f"the screen shows {text}", 60)


@contextmanager
def on_terminal(words: list[str], environment: dict[str, str]) -> Iterator[Terminal]:
    screen, side = pty.openpty()
    ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 50, 0, 0))
    process = subprocess.Popen(words, env=environment, stdin=side, stdout=side, stderr=side, start_new_session=True)
    os.close(side)
    try:
        yield Terminal(process, screen)
    finally:
        process.kill()
        process.wait()
        os.close(screen)
