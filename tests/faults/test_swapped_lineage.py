"""A Lineage that is applied in the middle of an attempt: that one keeps what it began with, the next one takes the new (S5)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.faults.world import FACT, Rows, World

LATER = ("fork.before", "stage.before", "stage.during", "stage.after", "check.after", "publish.before", "commit.before")
BY_BLOCK = """select e.module_version as version, array(select jsonb_object_keys(s.measures)) as measures
from dwh.execution e join dwh.load_stat s on s.execution_id = e.id join dwh.topic t on t.id = e.topic_id
where t.name = %(topic)s order by e.id"""


@pytest.mark.parametrize("point", ["claim.after", *(pytest.param(point, marks=pytest.mark.exhaustive) for point in LATER)])
def test_an_attempt_keeps_the_lineage_that_it_began_with(world: World, undisturbed: dict[str, Rows], point: str) -> None:
    worker = world.start_worker(failpoints=f"{point}=stop*1")
    worker.wait_until_stopped()
    before = world.lineage
    modules = [replace(m, measures={"items": "count(*)"}) if m.name == FACT else m for m in before.modules]
    changes = world.engine.lineage.apply(replace(before, modules=tuple(modules)), "test")
    assert [change.name for change in changes] == [FACT]
    assert worker.finish() == ["committed", "committed"]
    found = world.fetch(BY_BLOCK, topic=FACT)
    assert [(row["version"], row["measures"]) for row in found] == [(1, ["total"]), (2, ["items"])]
    assert world.rows() == undisturbed[FACT]
    world.assert_clean()
