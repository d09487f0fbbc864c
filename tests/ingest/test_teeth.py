"""A broker that reorders, and a block of events that is run again: clean with R20, not without."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.engine.project import Project
from tests.faults.scenarios import switched_off
from tests.ingest.stream import TABLE, Stream, event

MART = "mart.events"


def built_upon(stream: Stream) -> Project:
    """A stage table of events, and a table that reads it block by block."""
    stream.create().declare()
    stream.project.module(MART, TABLE, "select pos, id, product from {{ block }}")
    stream.project.apply()
    return stream.project


def seen(project: Project) -> list[int]:
    return [product for (product,) in project.rows(MART, "product")]


def older_events_come_after_newer_ones(stream: Stream, project: Project, first: int) -> list[int]:
    """Three events of now, one of an hour ago; what readers of the stage table got of them."""
    stream.send([event(first), event(first + 1)], partition=1)
    project.load()
    stream.send([event(first + 2, ago=timedelta(hours=1)), event(first + 3)], partition=0)
    project.load()
    return [product for product in seen(project) if product >= first]


@pytest.mark.tooth("R20", "rising")
def test_without_positions_that_rise_readers_pass_over_events_that_come_in_another_order(stream: Stream) -> None:
    project = built_upon(stream)
    assert older_events_come_after_newer_ones(stream, project, 10) == [10, 11, 12, 13]
    assert project.verify() == []
    with switched_off("rising"):
        assert 22 not in older_events_come_after_newer_ones(stream, project, 20)


@pytest.mark.tooth("R20", "own_rows")
def test_without_leaving_out_its_own_rows_a_block_that_is_run_again_loses_them_all(stream: Stream) -> None:
    project = built_upon(stream)
    stream.send([event(1), event(2)])
    project.load()
    project.restate(TABLE, 1)
    assert stream.products() == [1, 2]
    with switched_off("own_rows"):
        project.restate(TABLE, 1)
    assert stream.products() == []
