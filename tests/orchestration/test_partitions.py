"""The lists of partition keys follow the ledger, in its order, whatever happened in between."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from dagster import DagsterInstance, DagsterInvalidInvocationError, RunRequest, build_sensor_context
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG
from hypothesis import given
from hypothesis import strategies as st

from dwh_assets.engine.engine import Engine
from dwh_assets.model.errors import UnknownPartition
from dwh_assets.model.module import Module
from dwh_assets.model.partition import parse_key
from dwh_assets.orchestration import partitions
from dwh_assets.orchestration.partitions import PartitionLists, changes, sync_module
from dwh_assets.orchestration.sensors import evaluate
from tests.engine.project import rows
from tests.orchestration.dag import Dag, failure_of, texts
from tests.orchestration.test_loading import loaded, planned

KEYS = st.lists(st.sampled_from([f"k{n}" for n in range(12)]), unique=True)


@given(present=KEYS, wanted=KEYS)
def test_a_list_becomes_what_is_wanted_in_its_order(present: list[str], wanted: list[str]) -> None:
    gone, new = changes(present, wanted)
    assert [key for key in present if key not in gone] + new == wanted
    assert not set(gone) - set(present)


def test_what_is_in_place_is_not_touched() -> None:
    assert changes(["a", "b", "c"], ["b", "c", "d"]) == (["a"], ["d"])
    assert changes(["a", "b"], ["a", "b"]) == ([], [])


def test_a_key_that_would_come_too_late_in_the_list_is_added_again() -> None:
    assert changes(["a", "c", "b"], ["a", "b", "c"]) == (["c"], ["c"])


@pytest.mark.parametrize(
    ("text", "seq", "shard"),
    [
        ("20260301-000042", 42, None),
        ("20260301-1000042:north", 1_000_042, "north"),
        ("20260301-000042r2:north:1", 42, "north:1"),
    ],
)
def test_a_key_says_which_block_it_is(text: str, seq: int, shard: str | None) -> None:
    key = parse_key(text)
    assert (key.seq, key.shard, key.day) == (seq, shard, "20260301")


@pytest.mark.parametrize("text", ["", "20260301", "20260301-42", "2026-03-01", "x20260301-000042", "20260301-000042:"])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(UnknownPartition, match="is not the key of a block"):
        parse_key(text)


@pytest.fixture
def three_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dagster lists the newest three blocks of a table."""
    monkeypatch.setattr(partitions, "LIVE_KEYS", 3)


def numbers(dag: Dag, module: str) -> list[int]:
    return [parse_key(key).seq for key in dag.keys(module)]


@pytest.mark.usefixtures("three_keys")
def test_old_keys_are_retired_in_order_while_the_ledger_keeps_their_blocks(dag: Dag) -> None:
    loaded(dag, "aging.rows", 20)
    assert numbers(dag, "aging.rows") == [2, 3, 4]
    dag.project.append("src.aging", rows(20, 30))
    dag.project.load("aging.rows")
    dag.tick("aging")
    assert numbers(dag, "aging.rows") == [4, 5, 6]
    assert [block["seq"] for block in dag.project.blocks("aging.rows")] == [1, 2, 3, 4, 5, 6]
    block = dag.project.blocks("aging.rows")[3]
    dag.project.reset("aging.rows", block["next_pos"], block["next_id"])
    sync_module(dag.instance, dag.project.engine, dag.loaded.lineage.module("aging.rows"))
    assert numbers(dag, "aging.rows") == [2, 3, 4]  # those before them are listed again, in front
    dag.tick("aging")
    assert dag.keys("aging.rows") == ["20260301-000004", "20260301-000005r2", "20260301-000006r2"]
    assert dag.project.verify() == []


@pytest.mark.usefixtures("three_keys")
def test_a_retired_block_is_restated_by_its_key_and_a_range_from_it_refused_by_name(dag: Dag) -> None:
    loaded(dag, "retired.rows", 20)
    *_, last = dag.keys("retired.rows")
    assert dag.materialize("retired.rows", "20260301-000001").success
    assert dag.project.restatements("retired.rows") == [(1, 1, "committed")]
    with pytest.raises(DagsterInvalidInvocationError, match=r"Nonexistent partition keys:\s+\['20260301-000001'\]"):
        dag.materialize("retired.rows", "20260301-000001", last)
    assert "20260301-000009 is not a block of retired.rows" in failure_of(dag.materialize("retired.rows", "20260301-000009"))
    assert dag.project.restatements("retired.rows") == [(1, 1, "committed")]


@pytest.mark.usefixtures("three_keys")
@pytest.mark.parametrize(("last", "named"), [(1, [2]), (3, [2, 3])])
def test_an_open_restatement_of_retired_blocks_is_carried_out_by_the_run_of_the_sensor(
    dag: Dag, last: int, named: list[int]
) -> None:
    name = f"reopened{last}.rows"
    loaded(dag, name, 20)
    dag.project.acts().ask_restatement(name, 1, last, "restate", "a test")
    (request,) = dag.requests(name.split(".")[0])
    assert [parse_key(key).seq for key in named_by(request)] == named
    assert dag.carry_out(request).success
    assert dag.project.restatements(name) == [(1, last, "committed")]
    assert dag.project.verify() == []


def named_by(request: RunRequest) -> list[str]:
    """The only key of a run, or the first and the last."""
    ends = [request.tags.get(ASSET_PARTITION_RANGE_START_TAG), request.tags.get(ASSET_PARTITION_RANGE_END_TAG)]
    return [key for key in (request.partition_key, *ends) if key]


def test_blocks_that_went_between_the_look_and_the_request_are_left_to_the_next_tick(dag: Dag) -> None:
    planned(dag, "gone.rows", 5)
    modules = [dag.loaded.lineage.module("gone.rows")]
    found = evaluate(build_sensor_context(instance=dag.instance), dag.project.engine, "gone", modules, Meanwhile(dag))
    assert texts(found) == ["gone.rows: what was due has changed since; the next tick looks again"]


class Meanwhile(PartitionLists):
    """While the lists are compared, someone else loads all there is."""

    def __init__(self, dag: Dag) -> None:
        super().__init__()
        self._dag = dag

    def sync(self, instance: DagsterInstance, engine: Engine, modules: Sequence[Module]) -> int:
        self._dag.project.load(*(topic for module in modules for topic in module.topics))
        return super().sync(instance, engine, modules)
