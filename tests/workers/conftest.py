"""Workers on a database of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dwh_assets.control.database import Database
from tests.workers.crew import Crew, crew_of


@pytest.fixture
def crew(database: Database, tmp_path: Path) -> Iterator[Crew]:
    with crew_of(database, tmp_path) as crew:
        yield crew
