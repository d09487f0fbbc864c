"""Events of executions have the fields of the OpenLineage spec, reach a file and a server, and never hold up a load."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from uuid import UUID

from dwh_assets.config.settings import load_settings
from dwh_assets.control.column_lineage import ColumnLineageStore
from dwh_assets.control.database import Database
from dwh_assets.control.lineage import LineageStore
from dwh_assets.engine.openlineage import OpenLineage
from dwh_assets.model.block import BlockStats, Claim
from dwh_assets.model.column_lineage import ColumnLineage, Origin
from tests.control.small import TOPIC, ready
from tests.engine.listeners import WebListener, serving

Json = dict[str, Any]
DEADLINE = 30
LINEAGE = ColumnLineage(
    {"amount": (Origin("src.sales", "amount"),), "total": (Origin("src.sales", "amount", "aggregation"),)},
    (("src.sales", "shop"),),
)
STATS = BlockStats(1, rows=10, base_rows=12, hash_sum=1, bytes=100, nulls={"amount": 3})


def sender(database: Database, folder: Path, **settings: Any) -> OpenLineage:
    return OpenLineage(load_settings(project=folder, **settings), LineageStore(database), ColumnLineageStore(database))


def claimed(database: Database) -> Claim:
    store = ready(database, 1, 2)
    claim = store.claims().claim(TOPIC)
    LineageStore(database).note_columns(TOPIC, [{"name": "amount", "type": "int"}, {"name": "total", "type": "bigint"}], [])
    ColumnLineageStore(database).note(TOPIC, 1, "abc", LINEAGE)
    return claim


def is_facet(facet: Json, name: str, *fields: str) -> bool:
    """As BaseFacet of the spec wants it: who made it, and the definition that it follows."""
    return facet["_producer"].startswith("https://") and facet["_schemaURL"].endswith(f"/{name}") and set(fields) <= facet.keys()


def is_run_event(event: Json) -> bool:
    """The fields that RunEvent, Run, Job and Dataset of the spec require."""
    whole = {"eventTime", "eventType", "producer", "schemaURL", "run", "job", "inputs", "outputs"} == event.keys()
    sets = all({"namespace", "name"} <= dataset.keys() for dataset in (event["job"], *event["inputs"], *event["outputs"]))
    facets = [*event["run"]["facets"].values(), *event["job"]["facets"].values()]
    return whole and sets and bool(UUID(event["run"]["runId"])) and all({"_producer", "_schemaURL"} <= f.keys() for f in facets)


def test_an_execution_is_told_to_a_file_and_a_server_with_its_bounds_rows_nulls_and_columns(database: Database, tmp_path: Path):
    web, claim = WebListener(), claimed(database)
    with serving(web):
        told = sender(database, tmp_path, openlineage_url=web.url, openlineage_file=Path("told/events.jsonl"))
        told.started(claim)
        told.completed(claim, [STATS])
        told.failed(claim, "it broke")
        told.close()
    events = [json.loads(line) for line in (tmp_path / "told" / "events.jsonl").read_text().splitlines()]
    assert events == web.bodies
    assert [event["eventType"] for event in events] == ["START", "COMPLETE", "FAIL"]
    assert all(is_run_event(event) for event in events)
    assert len({event["run"]["runId"] for event in events}) == 1
    assert (events[0]["job"]["name"], events[0]["inputs"][0]["name"]) == (TOPIC, "src.sales")

    block = events[0]["run"]["facets"]["dwh_block"]
    assert (block["blocks"], block["after"]["pos"][:4], block["upTo"]["pos"]) == ([2], "0001", "2026-03-01T01:00:00+00:00")
    [output] = events[1]["outputs"]
    facets = output["facets"]
    assert is_facet(output["outputFacets"]["outputStatistics"], "OutputStatisticsOutputDatasetFacet", "rowCount", "size")
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 10
    assert is_facet(facets["schema"], "SchemaDatasetFacet", "fields")
    assert is_facet(facets["dataQualityMetrics"], "DataQualityMetricsDatasetFacet", "rowCount", "columnMetrics")
    assert facets["dataQualityMetrics"]["columnMetrics"] == {"amount": {"nullCount": 3}, "total": {"nullCount": 0}}
    assert is_facet(facets["columnLineage"], "ColumnLineageDatasetFacet", "fields", "dataset")
    [field] = facets["columnLineage"]["fields"]["total"]["inputFields"]
    assert (field["name"], field["field"]) == ("src.sales", "amount")
    assert field["transformations"] == [{"type": "DIRECT", "subtype": "AGGREGATION"}]
    assert is_facet(events[2]["run"]["facets"]["errorMessage"], "ErrorMessageRunFacet", "message", "programmingLanguage")


def test_a_server_that_does_not_answer_holds_up_nothing(database: Database, tmp_path: Path):
    web, claim = WebListener(), claimed(database)
    web.let_go.clear()
    with serving(web):
        told = sender(database, tmp_path, openlineage_url=web.url)
        for _ in range(2000):  # more than may wait: what is too much is dropped
            told.started(claim)
        assert web.asked.wait(DEADLINE)
        assert web.bodies == []  # all were taken while the server had answered none
        web.let_go.set()
        told.close()


def test_an_address_that_nobody_listens_to_is_said_in_the_log_without_it(database: Database, tmp_path: Path, caplog: Any):
    told = sender(database, tmp_path, openlineage_url="http://127.0.0.1:9/canary")
    told.started(claimed(database))
    until = time.monotonic() + DEADLINE
    while "was not sent" not in caplog.text and time.monotonic() < until:
        time.sleep(0.02)
    told.close()
    assert f"the OpenLineage event START of topic {TOPIC}" in caplog.text
    assert "canary" not in caplog.text


def test_without_settings_nothing_is_told(database: Database, tmp_path: Path):
    told = sender(database, tmp_path)
    told.started(claimed(database))
    told.close()
    assert list(tmp_path.iterdir()) == []
