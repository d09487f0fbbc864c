"""The ledger's words for Dagster: what an attempt loaded, and what its checks found, as events with numbers that the UI plots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from dagster import AssetCheckEvaluation, AssetCheckSeverity, AssetKey, AssetMaterialization, MetadataValue
from dagster._core.definitions.data_version import (
    CODE_VERSION_TAG,
    DEFAULT_DATA_VERSION,
    NULL_EVENT_POINTER,
    get_input_data_version_tag,
    get_input_event_pointer_tag,
)

from dwh_assets.model.module import Module
from dwh_assets.orchestration.names import EXECUTION_TAG, check_name, module_key

Row = dict[str, Any]
Metadata = dict[str, Any]
TOLD = 5  # texts of topics in one result; a table may have a thousand shards


def materialization(
    module: Module, inputs: Sequence[AssetKey], execution: Row, block: Row, columns: Metadata | None = None
) -> AssetMaterialization:
    """One block as it was loaded by one attempt. `columns` is where its columns come from."""
    return AssetMaterialization(
        module_key(module),
        partition=block["key"],
        metadata=_figures(execution, block) | (columns or {}),
        tags={EXECUTION_TAG: str(execution["id"])} | _provenance(inputs, execution["code_version"]),
    )


def _provenance(inputs: Sequence[AssetKey], code_version: str | None) -> dict[str, str]:
    """Lets Dagster call a block unsynced when its transforms have changed, and only then.

    An input that is not named would be new to it, one with versions would be newer with each of its blocks; which blocks must be
    built again because of their inputs is in the ledger.
    """
    versions = {get_input_data_version_tag(key): DEFAULT_DATA_VERSION.value for key in inputs}
    pointers = {get_input_event_pointer_tag(key): NULL_EVENT_POINTER for key in inputs}
    return {CODE_VERSION_TAG: code_version or "unknown"} | versions | pointers


def _figures(execution: Row, block: Row) -> Metadata:
    seconds = block["seconds"]
    numbers = {
        "rows": block["rows"],
        "base_rows": block["base_rows"],
        "rows_per_second": round(block["rows"] / seconds, 1) if seconds else None,
        "seconds": round(seconds, 3),
        "lag_seconds": None if block["lag"] is None else round(block["lag"], 3),
        "bytes": block["bytes"],
        "bytes_read": block["bytes_read"],
        "nulls": sum(block["nulls"].values()),
        "dagster/partition_row_count": block["rows"],
    }
    measures = {f"measure/{name}": _number(value) for name, value in block["measures"].items()}
    expects = {f"expect/{name}": _number(value) for name, value in block["expects"].items()}
    told = {
        "block": f"#{block['id']}",
        "range": f"({block['last_pos']} {block['last_id']}, {block['next_pos']} {block['next_id']}]",
        "execution": execution["id"],
        "attempt": execution["attempt"],
        "worker": execution["worker"],
    }
    return {name: value for name, value in {**numbers, **measures, **expects, **told}.items() if value is not None}


def _number(value: Any) -> Any:
    """What Dagster can plot; sums of decimals come as text."""
    if value is None or isinstance(value, (int, float)):
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)


def declared_checks(module: Module, results: list[Row], block: str) -> list[AssetCheckEvaluation]:
    """The declared checks of an attempt, each with the number it was judged by."""
    names = {check.name: check_name(check) for check in module.checks}
    return [
        _evaluation(
            module_key(module),
            names[result["name"]],
            passed=result["passed"],
            severity=AssetCheckSeverity.ERROR if result["severity"] == "error" else AssetCheckSeverity.WARN,
            text=result["text"],
            metadata={"value": result["value"], "block": block},
        )
        for result in results
        if result["name"] in names
    ]


def block_checks(module: Module, block: Row) -> list[AssetCheckEvaluation]:
    """Rows and nulls of a loaded block: they inform, what is wrong with them is for declared checks to say."""
    key, rows = module_key(module), block["rows"]
    base = block["base_rows"]
    counted = {"rows": rows, "base_rows": base, "ratio": round(rows / base, 4) if base else None, "block": block["key"]}
    nulls = {f"nulls/{column}": count for column, count in sorted(block["nulls"].items())}
    worst = max(block["nulls"].values(), default=0)
    text = f"{len(nulls)} columns have nulls, at most {worst} of {rows} rows" if nulls else f"no nulls in {rows} rows"
    return [
        _evaluation(key, "block_rows", text=f"{rows} rows from {base} base rows", metadata=counted),
        _evaluation(key, "nulls", text=text, metadata={**nulls, "rows": rows, "block": block["key"]}),
    ]


def topic_checks(module: Module, topics: Sequence[Row]) -> list[AssetCheckEvaluation]:
    """What also changes while nothing is loaded: late rows, and how far the table is behind.

    Dagster keeps one result of a check for a table: it is that of all its topics, the worst first, so that a shard that is well
    does not hide one that is not.
    """
    return [_late_rows(module, topics), _freshness(module, topics)] if topics else []


def _late_rows(module: Module, topics: Sequence[Row]) -> AssetCheckEvaluation:
    worst = sorted(topics, key=lambda row: (row["late_rows"], row["changed_blocks"]), reverse=True)
    texts = [text for row in worst for text in _late_texts(row)]
    more = f"; and {len(texts) - TOLD} more" if len(texts) > TOLD else ""
    return _evaluation(
        module_key(module),
        "late_rows",
        passed=not texts,
        severity=AssetCheckSeverity.WARN,
        text="; ".join(texts[:TOLD]) + more or "no late rows",
        metadata={name: sum(row[name] for row in topics) for name in ("late_rows", "changed_blocks")},
    )


def _late_texts(row: Row) -> Iterator[str]:
    topic, late, changed = row["topic"], row["late_rows"], row["changed_blocks"]
    if late:
        yield f"{late} late rows; dwh restate {topic} --late loads them"
    if changed:
        yield f"{changed} blocks of {topic} have changed base rows; dwh alerts names them"


def _freshness(module: Module, topics: Sequence[Row]) -> AssetCheckEvaluation:
    worst = max(topics, key=lambda row: (is_behind(module, row), row["lag_seconds"] or 0))
    lag = worst["lag_seconds"]
    shard = f"{worst['topic']}: " if len(topics) > 1 else ""
    text = "nothing is loaded yet" if lag is None else f"complete up to {timedelta(seconds=round(lag))} ago; {worst['why']}"
    return _evaluation(
        module_key(module),
        "freshness",
        passed=not is_behind(module, worst),
        severity=AssetCheckSeverity.WARN,
        text=shard + text,
        metadata={
            "lag_seconds": lag,
            "allowed_seconds": allowed_lag(module).total_seconds(),
            "pending_rows": sum(row["pending_rows"] for row in topics),
        },
    )


def allowed_lag(module: Module) -> timedelta:
    """How far a table may be behind while it has rows to load: its promise, else what its delay and repeat make likely."""
    return module.promise or module.delay + 3 * max(module.repeat, timedelta(minutes=1))


def is_behind(module: Module, status: Row) -> bool:
    """Behind is a table that has rows to load and does not; one whose source is quiet is not."""
    lag = status["lag_seconds"]
    waiting = bool(status["pending_rows"] or status["more"] or status["parked"])
    return waiting and lag is not None and lag > allowed_lag(module).total_seconds()


def _evaluation(
    key: AssetKey,
    name: str,
    *,
    text: str,
    metadata: Mapping[str, Any],
    passed: bool = True,
    severity: AssetCheckSeverity = AssetCheckSeverity.ERROR,
) -> AssetCheckEvaluation:
    shown = {label: value for label, value in metadata.items() if value is not None}
    return AssetCheckEvaluation(
        key, name, passed, metadata={**shown, "why": MetadataValue.text(text)}, severity=severity, description=text
    )
