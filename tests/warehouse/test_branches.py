"""A branch per attempt: made once, invisible, dropped without fuss."""

from __future__ import annotations

import pytest

from dwh_assets.model.errors import ConfigError, StagedAgain
from dwh_assets.warehouse.branches import Fork, drop, fork, live, qualified, writer_options
from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.manifests import staged
from dwh_assets.warehouse.publish import snapshot_of
from tests.warehouse.writing import ids, stage


def test_a_fork_starts_at_mains_head_and_can_be_repeated(catalog: Catalog, sales: str) -> None:
    first = fork(catalog, sales, 12)
    assert first == Fork(sales, "x12", snapshot_of(catalog, sales)) == fork(catalog, sales, 12)
    assert live(catalog, sales) == ["x12"]
    assert qualified(first) == "dwh.fact.sales.branch_x12"
    assert writer_options(12) == {"snapshot-property.dwh.execution": "12"}


def test_a_branch_that_was_written_to_is_not_forked_again(catalog: Catalog, sales: str) -> None:
    stage(catalog, fork(catalog, sales, 1), range(1))
    with pytest.raises(ConfigError, match="already has a branch x1"):
        fork(catalog, sales, 1)


def test_the_branch_of_a_dead_attempt_is_invisible_and_is_swept(catalog: Catalog, sales: str) -> None:
    dead, alive = fork(catalog, sales, 1), fork(catalog, sales, 2)
    stage(catalog, dead, range(3))
    assert ids(catalog, sales) == []
    drop(catalog, sales, dead.branch)
    assert live(catalog, sales) == [alive.branch]
    with pytest.raises(StagedAgain, match="x1 is gone"):
        staged(catalog, dead)


def test_dropping_a_branch_that_is_gone_is_no_error(catalog: Catalog, sales: str) -> None:
    drop(catalog, sales, "x99")
    assert live(catalog, sales) == []
