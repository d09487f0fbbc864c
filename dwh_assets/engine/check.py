"""Check: rows, nulls and bounds from the branch's manifests, declared checks, measures; all before the commit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dwh_assets.engine.stage import StagedAttempt
from dwh_assets.model.block import BlockStats, CheckResult, Claim
from dwh_assets.model.errors import CheckFailed
from dwh_assets.model.module import Check, Module
from dwh_assets.model.position import EPOCH
from dwh_assets.processors.processor import AUDIT
from dwh_assets.warehouse.session import spark_errors


@dataclass(frozen=True)
class Figures:
    """What is known of the rows that a block is about to publish."""

    rows: int
    nulls: dict[str, int]
    lower: dict[str, Any]
    upper: dict[str, Any]
    declared: dict[str, Any]  # measures, expects and unique checks, by alias


def check(claim: Claim, attempt: StagedAttempt, seconds: float, memory: int | None) -> list[BlockStats]:
    """Statistics of each block of the attempt; raises CheckFailed when a blocking check fails that nobody waived."""
    if claim.kind == "rollback":
        return []
    if len(claim.blocks) == 1:
        return [_one(claim, attempt, seconds, memory)]
    return _many(claim, attempt, seconds, memory)


def _one(claim: Claim, attempt: StagedAttempt, seconds: float, memory: int | None) -> BlockStats:
    block = claim.block
    figures = _figures(claim.module, attempt)
    fingerprint = attempt.fingerprints[block.id]
    results = tuple(judge(c, figures, fingerprint.rows) for c in claim.module.checks)
    require(claim, results, block.waived)
    pos, id_ = claim.module.position
    return BlockStats(
        block_id=block.id,
        rows=figures.rows,
        base_rows=fingerprint.rows,
        hash_sum=fingerprint.hash_sum,
        bytes=attempt.staged.bytes,
        seconds=seconds,
        memory=memory,
        max_id=_int(figures.upper.get(id_)),
        min_pos=figures.lower.get(pos),
        max_pos=figures.upper.get(pos),
        nulls={name: count for name, count in figures.nulls.items() if count and name not in AUDIT},
        measures={name: figures.declared[f"m_{name}"] for name in claim.module.measures},
        expects={name: figures.declared[f"e_{name}"] for name in claim.module.expect},
        checks=results,
    )


def _many(claim: Claim, attempt: StagedAttempt, seconds: float, memory: int | None) -> list[BlockStats]:
    """Restated blocks share one job: their rows are counted together by Spark, their checks judged over all of them."""
    whole = _figures(claim.module, attempt)
    base_rows = sum(f.rows for f in attempt.fingerprints.values())
    results = tuple(judge(c, whole, base_rows) for c in claim.module.checks)
    waived = tuple(name for block in claim.blocks for name in block.waived)
    require(claim, results, waived)
    by_block = _by_block(claim.module, attempt)
    return [
        BlockStats(
            block_id=block.id,
            base_rows=attempt.fingerprints[block.id].rows,
            hash_sum=attempt.fingerprints[block.id].hash_sum,
            seconds=seconds / len(claim.blocks),
            memory=memory,
            checks=results,
            **by_block.get(block.id, {"rows": 0}),
        )
        for block in claim.blocks
    ]


def _by_block(module: Module, attempt: StagedAttempt) -> dict[int, dict[str, Any]]:
    rows = attempt.work.output
    columns = [c for c in rows.columns if c not in AUDIT]
    counts = [F.count_if(F.col(c).isNull()).alias(f"n_{c}") for c in columns]
    with spark_errors():
        found = rows.groupBy("_block").agg(F.count(F.lit(1)).alias("rows"), *_spread(module, rows), *counts).collect()
    return {
        row["_block"]: {
            "rows": row["rows"],
            "nulls": {c: row[f"n_{c}"] for c in columns if row[f"n_{c}"]},
            "max_id": _int(row["max_id"]) if "max_id" in row else None,
            "min_pos": _utc(row["min_pos"]) if "min_pos" in row else None,
            "max_pos": _utc(row["max_pos"]) if "max_pos" in row else None,
        }
        for row in found
    }


def _spread(module: Module, rows: DataFrame) -> list[Any]:
    pos, id_ = module.position
    spread = [F.max(id_).alias("max_id")] if id_ in rows.columns else []
    return spread + (
        [F.unix_micros(F.min(pos)).alias("min_pos"), F.unix_micros(F.max(pos)).alias("max_pos")] if pos in rows.columns else []
    )


def _figures(module: Module, attempt: StagedAttempt) -> Figures:
    staged = attempt.staged
    declared = _declared(module, attempt)
    if attempt.processor.replaces or not staged.only_appends:
        return _figures_of_rows(module, attempt, declared)
    return Figures(staged.rows, staged.nulls, staged.lower, staged.upper, declared)


def _figures_of_rows(module: Module, attempt: StagedAttempt, declared: dict[str, Any]) -> Figures:
    """Manifests of a merge also count the rows it rewrote, so the block's own rows are counted instead."""
    rows = attempt.work.output
    columns = [c for c in rows.columns if c not in AUDIT and not c.startswith("_")]
    nulls = [F.count_if(F.col(c).isNull()).alias(f"n_{c}") for c in columns]
    with spark_errors():
        row = rows.agg(F.count(F.lit(1)).alias("rows"), *_spread(module, rows), *nulls).first()
    assert row is not None
    found = row.asDict()
    pos, id_ = module.position
    lower = {pos: _utc(found.get("min_pos"))}
    upper = {pos: _utc(found.get("max_pos")), id_: found.get("max_id")}
    return Figures(found["rows"], {c: found[f"n_{c}"] for c in columns}, lower, upper, declared)


def _declared(module: Module, attempt: StagedAttempt) -> dict[str, Any]:
    """Measures, expectations and uniqueness in one query over the staged rows, where any are declared."""
    wanted = [F.expr(aggregate).alias(f"m_{name}") for name, aggregate in module.measures.items()]
    wanted += [F.expr(f"count_if({p})").alias(f"e_{name}") for name, p in module.expect.items()]
    for check_ in module.checks:
        if check_.kind == "expect":
            wanted.append(F.expr(f"count_if({check_.predicate})").alias(f"c_{check_.name}"))
        elif check_.kind == "unique":
            keys = ", ".join(f"`{c}`" for c in check_.columns)
            wanted.append(F.expr(f"count(*) - count(DISTINCT struct({keys}))").alias(f"c_{check_.name}"))
    if not wanted:
        return {}
    with spark_errors():
        row = attempt.work.output.agg(*wanted).first()
    assert row is not None
    return row.asDict()


def judge(check_: Check, figures: Figures, base_rows: int) -> CheckResult:
    """One declared check against the figures of a block."""
    value, passed, text = _JUDGES[check_.kind](check_, figures, base_rows)
    return CheckResult(check_.name, check_.severity, passed, value, text)


def _not_null(check_: Check, figures: Figures, base_rows: int) -> tuple[float, bool, str]:
    nulls = figures.nulls.get(check_.columns[0], 0)
    return nulls, nulls == 0, f"{nulls} of {figures.rows} rows have no {check_.columns[0]}"


def _null_ratio(check_: Check, figures: Figures, base_rows: int) -> tuple[float, bool, str]:
    ratio = figures.nulls.get(check_.columns[0], 0) / figures.rows if figures.rows else 0.0
    limit = check_.maximum if check_.maximum is not None else 0.0
    return ratio, ratio <= limit, f"{ratio:.2%} of {check_.columns[0]} is null, at most {limit:.2%} is allowed"


def _rows(check_: Check, figures: Figures, base_rows: int) -> tuple[float, bool, str]:
    ratio = figures.rows / base_rows if base_rows else 1.0
    limits = [
        (
            check_.minimum is None or figures.rows >= check_.minimum,
            f"at least {check_.minimum:g}" if check_.minimum is not None else "",
        ),
        (
            check_.maximum is None or figures.rows <= check_.maximum,
            f"at most {check_.maximum:g}" if check_.maximum is not None else "",
        ),
        (
            check_.min_ratio is None or ratio >= check_.min_ratio,
            f"ratio at least {check_.min_ratio}" if check_.min_ratio is not None else "",
        ),
        (
            check_.max_ratio is None or ratio <= check_.max_ratio,
            f"ratio at most {check_.max_ratio}" if check_.max_ratio is not None else "",
        ),
    ]
    wanted = ", ".join(text for _, text in limits if text)
    return figures.rows, all(ok for ok, _ in limits), f"{figures.rows} rows from {base_rows} base rows; wanted {wanted}"


def _unique(check_: Check, figures: Figures, base_rows: int) -> tuple[float, bool, str]:
    doubles = figures.declared[f"c_{check_.name}"]
    return doubles, doubles == 0, f"{doubles} rows repeat a value of {', '.join(check_.columns)} within the block"


def _expect(check_: Check, figures: Figures, base_rows: int) -> tuple[float, bool, str]:
    met = figures.declared[f"c_{check_.name}"]
    ratio = met / figures.rows if figures.rows else 1.0
    wanted = 1.0 if check_.min_ratio is None else check_.min_ratio
    return ratio, ratio >= wanted, f"{met} of {figures.rows} rows meet {check_.predicate!r}, at least {wanted:.2%} is wanted"


_JUDGES = {"not_null": _not_null, "null_ratio": _null_ratio, "rows": _rows, "unique": _unique, "expect": _expect}


def require(claim: Claim, results: tuple[CheckResult, ...], waived: tuple[str, ...]) -> None:
    failed = [r for r in results if not r.passed and r.severity == "error" and r.name not in waived]
    if failed:
        lines = "\n".join(f"  {r.name}: {r.text}" for r in failed)
        raise CheckFailed(
            f"{claim.label}: {len(failed)} blocking check{'s' if len(failed) > 1 else ''} failed, the block is parked:\n{lines}\n"
            "Nothing of it was published; its rows are kept on their branch.\n"
            f"Look with `dwh block {claim.block.id} --sample`, then `dwh retry`, `dwh skip` or "
            f"`dwh release {claim.topic} --check '{failed[0].name}'`, each with --reason."
        )


def _int(value: Any) -> int | None:
    return None if value is None else int(value)


def _utc(microseconds: int | None) -> datetime | None:
    """Instants come as microseconds: what Spark hands over as a datetime has lost its zone."""
    return None if microseconds is None else EPOCH + timedelta(microseconds=microseconds)
