"""A transform that can be held up: tests cancel, kill and reload in the middle of a run."""

from __future__ import annotations

import os
import time
from pathlib import Path

from pyspark.sql import DataFrame

FOLDER = "DWH_TEST_GATES"
SECONDS = 120.0


def gated(block: DataFrame) -> DataFrame:
    """The base rows. While the gate is `shut` it waits, while it is `busy` Spark works and does not come to an end."""
    rows = block.select("pos", "id", "k", "v")
    if FOLDER not in os.environ:  # the test itself, which applies the Lineage
        return rows
    folder = Path(os.environ[FOLDER])
    (folder / "arrived").write_text(str(os.getpid()))
    until = time.monotonic() + SECONDS
    while (folder / "shut").exists() and time.monotonic() < until:
        time.sleep(0.02)
    if (folder / "busy").exists():
        # No join: Spark goes on building the smaller side of one after its query was interrupted.
        work = block.sparkSession.range(10**14).where("id % 7 > 8")
        return rows.unionByName(work.selectExpr("cast(null as timestamp) pos", "cast(id as decimal(20, 0)) id", "'' k", "id v"))
    return rows


class Gate:
    """The test's side of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def shut(self, kind: str = "shut") -> None:
        (self.folder / "arrived").unlink(missing_ok=True)
        (self.folder / kind).touch()

    def open(self) -> None:
        for kind in ("shut", "busy"):
            (self.folder / kind).unlink(missing_ok=True)

    def arrived(self) -> int | None:
        """The process that stands at the gate."""
        file = self.folder / "arrived"
        text = file.read_text() if file.exists() else ""
        return int(text) if text else None
