"""Check: rows, nulls and bounds from the branch's manifests, declared checks, measures; all before the commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dwh_assets.engine.stage import StagedAttempt
from dwh_assets.model.block import BlockStats, CheckResult, Claim
from dwh_assets.model.errors import CheckFailed
from dwh_assets.model.module import Check, Module
from dwh_assets.processors.figures import Figures, declared_figures, figures_by_block, figures_of_rows
from dwh_assets.sources.source import Fingerprint

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Evidence:
    """What the checks of a block are judged by."""

    figures: Figures
    declared: dict[str, Any]
    base_rows: int
    rejected: int = 0


def check(claim: Claim, attempt: StagedAttempt, seconds: float, memory: int | None) -> list[BlockStats]:
    """Statistics of each block of the attempt; raises CheckFailed when a blocking check fails that nobody waived."""
    if claim.kind == "rollback":
        return []
    if len(claim.blocks) == 1:
        return [_one(claim, attempt, seconds, memory)]
    return _many(claim, attempt, seconds, memory)


def _one(claim: Claim, attempt: StagedAttempt, seconds: float, memory: int | None) -> BlockStats:
    block, module = claim.block, claim.module
    fingerprint = attempt.fingerprints[block.id]
    evidence = _evidence(module, attempt)
    results = judged(claim, evidence, block.waived)
    return BlockStats(
        block_id=block.id,
        base_rows=fingerprint.rows,
        hash_sum=fingerprint.hash_sum,
        bytes=attempt.staged.bytes,
        bytes_read=fingerprint.bytes,
        **_content(fingerprint),
        seconds=seconds,
        memory=memory,
        checks=results,
        **_declared(module, evidence.declared),
        **_columns(module, evidence.figures),
    )


def _many(claim: Claim, attempt: StagedAttempt, seconds: float, memory: int | None) -> list[BlockStats]:
    """Restated blocks share one job: their rows are counted together, their checks judged over all of them."""
    waived = tuple(name for block in claim.blocks for name in block.waived)
    results = judged(claim, _evidence(claim.module, attempt), waived)
    by_block = figures_by_block(claim.module, _own_rows(attempt))
    nothing = Figures(0, {}, {}, {})
    return [
        BlockStats(
            block_id=block.id,
            base_rows=attempt.fingerprints[block.id].rows,
            hash_sum=attempt.fingerprints[block.id].hash_sum,
            bytes_read=attempt.fingerprints[block.id].bytes,
            **_content(attempt.fingerprints[block.id]),
            seconds=seconds / len(claim.blocks),
            memory=memory,
            checks=results,
            **_declared(claim.module, by_block.get(block.id, nothing).declared),
            **_columns(claim.module, by_block.get(block.id, nothing)),
        )
        for block in claim.blocks
    ]


def _content(read: Fingerprint) -> dict[str, Any]:
    """What the base rows held, for the audit to compare with later."""
    return {} if read.content is None else {"base_content": read.content.hash_sum, "base_hashed": list(read.content.hashed)}


def _declared(module: Module, figures: dict[str, Any]) -> dict[str, Any]:
    """Measures and expectations; a block without rows has no measure, and none of its rows meets anything."""
    return {
        "measures": {name: figures.get(f"m_{name}") for name in module.measures},
        "expects": {name: figures.get(f"e_{name}", 0) for name in module.expect},
    }


def _columns(module: Module, figures: Figures) -> dict[str, Any]:
    pos, id_ = module.position
    greatest = figures.upper.get(id_)
    return {
        "rows": figures.rows,
        "max_id": None if greatest is None else int(greatest),
        "min_pos": figures.lower.get(pos),
        "max_pos": figures.upper.get(pos),
        "nulls": {name: count for name, count in figures.nulls.items() if count and not name.startswith("_")},
    }


def _evidence(module: Module, attempt: StagedAttempt) -> Evidence:
    staged, rows = attempt.staged, _own_rows(attempt)
    if attempt.processor.replaces or not staged.only_appends:
        figures = figures_of_rows(module, rows)
    else:
        figures = Figures(staged.rows, staged.nulls, staged.lower, staged.upper)
    base_rows = attempt.counts.read or sum(f.rows for f in attempt.fingerprints.values())
    return Evidence(figures, declared_figures(module, rows), base_rows, attempt.counts.rejected)


def _own_rows(attempt: StagedAttempt) -> DataFrame:
    return attempt.work.output if attempt.processor.merges else attempt.work.written()


def judged(claim: Claim, evidence: Evidence, waived: tuple[str, ...]) -> tuple[CheckResult, ...]:
    results = tuple(judge(check_, evidence) for check_ in claim.module.checks)
    require(claim, results, waived)
    return results


def judge(check_: Check, evidence: Evidence) -> CheckResult:
    """One declared check against what is known of a block."""
    value, passed, text = _JUDGES[check_.kind](check_, evidence)
    return CheckResult(check_.name, check_.severity, passed, value, text)


def _not_null(check_: Check, evidence: Evidence) -> tuple[float, bool, str]:
    nulls = evidence.figures.nulls.get(check_.columns[0], 0)
    return nulls, nulls == 0, f"{nulls} of {evidence.figures.rows} rows have no {check_.columns[0]}"


def _null_ratio(check_: Check, evidence: Evidence) -> tuple[float, bool, str]:
    rows, nulls = evidence.figures.rows, evidence.figures.nulls.get(check_.columns[0], 0)
    ratio = nulls / rows if rows else 0.0
    limit = check_.max_ratio if check_.max_ratio is not None else 0.0
    return ratio, ratio <= limit, f"{ratio:.2%} of {check_.columns[0]} is null, at most {limit:.2%} is allowed"


def _rows(check_: Check, evidence: Evidence) -> tuple[float, bool, str]:
    rows = evidence.figures.rows
    ratio = rows / evidence.base_rows if evidence.base_rows else 1.0
    limits = [
        (check_.minimum, lambda limit: rows >= limit, "at least {:g} rows"),
        (check_.maximum, lambda limit: rows <= limit, "at most {:g} rows"),
        (check_.min_ratio, lambda limit: ratio >= limit, "at least {:g} of its base rows"),
        (check_.max_ratio, lambda limit: ratio <= limit, "at most {:g} of its base rows"),
    ]
    given = [(holds(limit), text.format(limit)) for limit, holds, text in limits if limit is not None]
    wanted = ", ".join(text for _, text in given)
    return rows, all(ok for ok, _ in given), f"{rows} rows from {evidence.base_rows} base rows; wanted {wanted}"


def _unique(check_: Check, evidence: Evidence) -> tuple[float, bool, str]:
    doubles = evidence.declared[f"c_{check_.name}"]
    return doubles, doubles == 0, f"{doubles} rows repeat a value of {', '.join(check_.columns)} within the block"


def _expect(check_: Check, evidence: Evidence) -> tuple[float, bool, str]:
    rows, met = evidence.figures.rows, evidence.declared[f"c_{check_.name}"]
    ratio = met / rows if rows else 1.0
    wanted = 1.0 if check_.min_ratio is None else check_.min_ratio
    return ratio, ratio >= wanted, f"{met} of {rows} rows meet {check_.predicate!r}, at least {wanted:.2%} is wanted"


def _dead_letters(check_: Check, evidence: Evidence) -> tuple[float, bool, str]:
    dead, events = evidence.rejected, evidence.base_rows
    ratio = dead / events if events else 0.0
    limits = [(check_.maximum, dead, "at most {:g}"), (check_.max_ratio, ratio, "at most {:g} of them")]
    given = [(value <= limit, text.format(limit)) for limit, value, text in limits if limit is not None]
    wanted = ", ".join(text for _, text in given)
    return dead, all(ok for ok, _ in given), f"{dead} of {events} events could not be loaded; wanted {wanted}"


_JUDGES = {
    "dead_letters": _dead_letters,
    "not_null": _not_null,
    "null_ratio": _null_ratio,
    "rows": _rows,
    "unique": _unique,
    "expect": _expect,
}


def require(claim: Claim, results: tuple[CheckResult, ...], waived: tuple[str, ...]) -> None:
    failed = [r for r in results if not r.passed and r.severity == "error" and r.name not in waived]
    if failed:
        first, others = failed[0], "".join(f"\n  and {r.name}: {r.text}" for r in failed[1:])
        raise CheckFailed(
            f"{claim.label}: check {first.name} failed: {first.text}{others}\n"
            "The block is parked. Nothing of it was published; its rows are kept on their branch.\n"
            f"Look with `dwh block {claim.block.id} --sample 20`, then `dwh retry`, `dwh skip` or "
            f"`dwh release {claim.topic} --check '{first.name}'`, each with --reason.",
            results,
        )
