"""`dwh status --watch`: a live screen on a terminal, one frame where the output goes elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.live import Live

from dwh_assets.cli.frame import Frame
from dwh_assets.cli.output import console
from dwh_assets.cli.stopping import stopping
from dwh_assets.control.reports import Reports
from dwh_assets.model.errors import Transient

EVERY = 1.0  # seconds between two looks


def frame_of(reports: Reports, topics: Sequence[str] | None, height: int | None = None) -> Frame:
    return Frame(reports.status(topics), reports.running(topics), reports.errors(topics), reports.pace(), height=height)


def watch(reports: Reports, topics: Sequence[str] | None) -> int:
    """Until a signal comes; returns the exit code. A control store that is away is waited for, with the last frame shown."""
    screen = console()
    if not screen.is_terminal:
        screen.print(frame_of(reports, topics))
        return 0
    with stopping() as signals:
        signals.gentle, signals.text = True, ""
        frame = frame_of(reports, topics, screen.height)
        with Live(frame, console=screen, screen=True, auto_refresh=False) as live:
            while not signals.stop.wait(EVERY):
                try:
                    frame = frame_of(reports, topics, screen.height)
                except Transient as error:
                    frame = replace(frame, trouble=str(error))
                live.update(frame, refresh=True)  # drawn anew each time, in the size that the terminal has by then
        return signals.exit_code
