"""OpenLineage events of an execution: START, then one of COMPLETE, FAIL and ABORT, with the block's bounds and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import NAMESPACE_URL, uuid5

from dwh_assets.model.block import BlockStats, Claim
from dwh_assets.model.column_lineage import ColumnLineage, Kind
from dwh_assets.model.position import Position

Json = dict[str, Any]
EventType = Literal["START", "COMPLETE", "FAIL", "ABORT"]
SPEC = "https://openlineage.io/spec"
PRODUCER = "https://pypi.org/project/dwh-assets"
SUBTYPES: dict[Kind, str] = {"identity": "IDENTITY", "transformation": "TRANSFORMATION", "aggregation": "AGGREGATION"}


@dataclass(frozen=True)
class Told:
    """What is known of an execution when it begins or ends."""

    type: EventType
    at: datetime
    claim: Claim
    stats: Sequence[BlockStats] = ()
    problem: str = ""


def event(told: Told, namespace: str, columns: Sequence[Mapping[str, str]], lineage: ColumnLineage | None) -> Json:
    """`columns` are those of the output table; `lineage` where they come from, as far as it is known."""
    claim = told.claim
    return {
        "eventType": told.type,
        "eventTime": told.at.isoformat(),
        "producer": PRODUCER,
        "schemaURL": f"{SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run_id(namespace, claim.execution_id), "facets": _run_facets(told)},
        "job": {"namespace": namespace, "name": claim.topic, "facets": {"jobType": _job_type()}},
        "inputs": [{"namespace": namespace, "name": name, "facets": {}} for name in claim.module.inputs],
        "outputs": [_output(told, namespace, columns, lineage)],
    }


def run_id(namespace: str, execution_id: int) -> str:
    """The same for every event of an execution, whoever sends it."""
    return str(uuid5(NAMESPACE_URL, f"{PRODUCER}/{namespace}/execution/{execution_id}"))


def _facet(name: str, version: str, **fields: Any) -> Json:
    return {"_producer": PRODUCER, "_schemaURL": f"{SPEC}/facets/{version}/{name}.json#/$defs/{name}"} | fields


def _job_type() -> Json:
    return _facet("JobTypeJobFacet", "2-0-3", processingType="BATCH", integration="DWH_ASSETS", jobType="BLOCK")


def _run_facets(told: Told) -> Json:
    facets: Json = {"dwh_block": _block(told.claim)}
    if told.problem:
        facets["errorMessage"] = _facet("ErrorMessageRunFacet", "1-0-1", message=told.problem, programmingLanguage="PYTHON")
    return facets


def _block(claim: Claim) -> Json:
    """A facet of this product: which blocks an execution loads, and between which positions."""
    return {
        "_producer": PRODUCER,
        "_schemaURL": f"{PRODUCER}#BlockRunFacet",
        "kind": claim.kind,
        "execution": claim.execution_id,
        "attempt": claim.attempt,
        "module": claim.module.name,
        "moduleVersion": claim.module_version,
        "blocks": [block.id for block in claim.blocks],
        "first": claim.blocks[0].seq,
        "last": claim.blocks[-1].seq,
        "after": _position(claim.bounds.last),
        "upTo": _position(claim.bounds.next),
    }


def _position(position: Position) -> Json:
    return {"pos": position.pos.isoformat(), "id": str(position.id)}  # as text: an id needs all 64 bits


def _output(told: Told, namespace: str, columns: Sequence[Mapping[str, str]], lineage: ColumnLineage | None) -> Json:
    facets: Json = {}
    if columns:
        fields = [{"name": column["name"], "type": column["type"]} for column in columns]
        facets["schema"] = _facet("SchemaDatasetFacet", "1-1-1", fields=fields)
    if lineage is not None and lineage.columns:
        facets["columnLineage"] = _column_lineage(namespace, lineage)
    output: Json = {"namespace": namespace, "name": told.claim.target, "facets": facets}
    if told.type == "COMPLETE":
        rows, size = sum(s.rows for s in told.stats), sum(s.bytes for s in told.stats)
        output["outputFacets"] = {
            "outputStatistics": _facet("OutputStatisticsOutputDatasetFacet", "1-0-2", rowCount=rows, size=size)
        }
        facets["dataQualityMetrics"] = _quality(told.stats, rows, size, [column["name"] for column in columns])
    return output


def _quality(stats: Sequence[BlockStats], rows: int, size: int, columns: Sequence[str]) -> Json:
    """Columns that have no nulls are not in the statistics: they have none."""
    names = dict.fromkeys([*columns, *(name for s in stats for name in s.nulls)])
    metrics = {name: {"nullCount": sum(s.nulls.get(name, 0) for s in stats)} for name in names}
    return _facet("DataQualityMetricsDatasetFacet", "1-0-0", rowCount=rows, bytes=size, columnMetrics=metrics)


def _column_lineage(namespace: str, lineage: ColumnLineage) -> Json:
    fields = {
        column: {
            "inputFields": [
                {
                    "namespace": namespace,
                    "name": origin.table,
                    "field": origin.column,
                    "transformations": [{"type": "DIRECT", "subtype": SUBTYPES[origin.kind]}],
                }
                for origin in origins
            ]
        }
        for column, origins in lineage.columns.items()
    }
    decides = [
        {
            "namespace": namespace,
            "name": table,
            "field": column,
            "transformations": [{"type": "INDIRECT", "subtype": "FILTER"}],
        }
        for table, column in lineage.decides
    ]
    return _facet("ColumnLineageDatasetFacet", "1-2-0", fields=fields, dataset=decides)
