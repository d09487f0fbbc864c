"""Modules that are commands: a process in the project's folder, watched, ended in time, tried again on the same instance."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from dwh_assets.engine.engine import Engine
from dwh_assets.engine.lease import Lease
from dwh_assets.model.batch import Command
from dwh_assets.model.block import Hold, RowCounts, Start
from dwh_assets.model.duration import format_duration
from dwh_assets.model.errors import LeaseLost

LINES = 20  # of its output, kept with a failure
PAUSE = 0.1


@dataclass(frozen=True)
class Finished:
    """`problem` is None where it went well."""

    counts: RowCounts
    problem: str | None = None


def run_command(engine: Engine, command: Command, start: Start, attempts: int, variables: Mapping[str, str]) -> Finished:
    """Run it, up to `attempts` times. Raises StartRefused where its evaluation does not let it begin."""
    hold = engine.commands.begin(command.name, start)
    try:
        with Lease(engine.claims, hold).kept() as lease:
            finished = _attempts(engine, command, hold, lease, attempts, variables)
    except LeaseLost as error:
        return Finished(RowCounts(), str(error))
    except BaseException:
        engine.commands.fail(hold, "interrupted by hand")
        raise
    if finished.problem is None:
        engine.commands.succeed(hold, finished.counts)
    else:
        engine.commands.fail(hold, finished.problem)
    return finished


def _attempts(
    engine: Engine, command: Command, hold: Hold, lease: Lease, attempts: int, variables: Mapping[str, str]
) -> Finished:
    finished = _once(engine, command, hold, lease, variables)
    for _ in range(attempts - 1):
        if finished.problem is None:
            break
        engine.commands.try_again(hold)
        finished = _once(engine, command, hold, lease, variables)
    return finished


def _once(engine: Engine, command: Command, hold: Hold, lease: Lease, variables: Mapping[str, str]) -> Finished:
    folder = engine.settings.home / "logs" / "commands"
    folder.mkdir(parents=True, exist_ok=True)
    output, result = folder / f"{hold.execution_id}.log", folder / f"{hold.execution_id}.json"
    environment = {**os.environ, **variables, "DWH_EXECUTION": str(hold.execution_id), "DWH_RESULT": str(result)}
    words = [sys.executable, "-m", "dwh_assets.engine.call", command.kind, *command.run]
    with output.open("ab") as log:
        process = subprocess.Popen(
            words,
            cwd=engine.settings.project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        code = _wait(process, command, lease)
    finally:
        _end(process)
    if code is None:
        return Finished(
            RowCounts(), f"{command.name} was ended: it took longer than its timeout of {format_duration(command.timeout)}"
        )
    if code:
        return Finished(RowCounts(), f"{command.name} ended with exit code {code}. The end of its output:\n{_tail(output)}")
    return Finished(_counts(result))


def _wait(process: subprocess.Popen[bytes], command: Command, lease: Lease) -> int | None:
    """Its exit code; None where it took too long."""
    until = time.monotonic() + command.timeout.total_seconds()
    while (code := process.poll()) is None:
        lease.check()
        if time.monotonic() > until:
            return None
        time.sleep(PAUSE)
    return code


def _end(process: subprocess.Popen[bytes]) -> None:
    """Whatever it has started goes with it."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _tail(output: Path) -> str:
    return "\n".join(output.read_text(encoding="utf-8", errors="replace").splitlines()[-LINES:])


def _counts(result: Path) -> RowCounts:
    if not result.exists():
        return RowCounts()
    known = {field.name for field in fields(RowCounts)}
    found = json.loads(result.read_text(encoding="utf-8"))
    return RowCounts(**{name: int(value) for name, value in found.items() if name in known})
