"""The loop: who comes first where there is one slot."""

from __future__ import annotations

from tests.engine.project import Project, rows


def test_a_topic_of_higher_priority_comes_first_and_the_others_after_it(own_project: Project) -> None:
    own_project.source("src.rows")
    own_project.append("src.rows", rows(0, 5))
    for name, priority in {"a": -1, "b": 0, "c": 3}.items():
        own_project.module(f"{name}.rows", "src.rows", priority=priority)
    own_project.apply()
    assert [outcome.topic for outcome in own_project.load()] == ["c.rows", "b.rows", "a.rows"]
