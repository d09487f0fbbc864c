"""What the control store keeps reads back as what was stored."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from dwh_assets.config.lineage_spec import from_spec, source_from_spec, source_to_spec, to_spec
from dwh_assets.model.errors import ConfigError
from dwh_assets.model.module import Action, Check, Module, SourceTable
from dwh_assets.model.parameter import Parameter
from dwh_assets.model.window import Window

FULL = Module(
    "fact.sales#web", "fact.sales", ("stage.sales", "dim.customer"), tag="web", area="fact", owner="sales", reads=("dim.day",),
    processor="range", transforms=("fact/sales.sql",), before=(Action("create temp view a as select 1"),),
    after=(Action("delete from log.a", idempotent=True),), position=("ts", "nr"), start="2024-01-31T00:00:00+00:00",
    delay=timedelta(seconds=30), repeat=timedelta(microseconds=1), promise=timedelta(minutes=15), keep=timedelta(days=90),
    span=timedelta(hours=1), time=Window.parse("22:00-06:00"),
    shards=("a", "b"), shard_by="c", key=("k",), deleted="gone", columns={"a": "b"},
    checks=(Check("rows", "rows(min)", minimum=1), Check("unique", "unique(a)", ("a",), severity="warn")),
    measures={"m": "sum(a)"}, expect={"e": "a > 0"}, parameters=(Parameter("p", "date", "2024-01-31", "why"),),
    allow_truncate=True, priority=5,
)  # fmt: skip


@pytest.mark.parametrize("module", [FULL, Module("a.b", "a.b", ("c.d",))])
def test_a_module_survives_json(module: Module) -> None:
    assert from_spec(json.loads(json.dumps(to_spec(module)))) == module


@pytest.mark.parametrize(
    "source",
    [
        SourceTable("a.b", "iceberg"),
        SourceTable("a.b", "postgres", idle_after=timedelta(minutes=5), url_env="SHOP", shards=("x",)),
    ],
)
def test_a_source_survives_json(source: SourceTable) -> None:
    assert source_from_spec(json.loads(json.dumps(source_to_spec(source)))) == source


def test_durations_and_windows_are_text_that_people_can_read() -> None:
    spec = to_spec(FULL)
    assert (spec["delay"], spec["time"]) == ("30s", "22:00-06:00")


def test_a_spec_of_an_older_version_gets_defaults_and_one_of_a_newer_version_is_refused() -> None:
    assert from_spec({"name": "a.b", "table": "a.b", "depends_on": ["c.d"]}).maxstep == 1_000_000
    with pytest.raises(ConfigError, match="colour, which this version does not know"):
        from_spec({**to_spec(FULL), "colour": "red"})
