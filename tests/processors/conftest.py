"""The projects of the engine's tests, for the tests of what a block writes."""

from __future__ import annotations

from tests.engine.conftest import own_project, project

__all__ = ["own_project", "project"]
