"""dwh test: transforms on rows that are written down, held against the rows that are expected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from dwh_assets.cli import formats
from dwh_assets.cli.logs import log_to_file
from dwh_assets.cli.opening import settings_of
from dwh_assets.cli.options import Json
from dwh_assets.cli.output import Printer, printer, working
from dwh_assets.cli.rows import shown

if TYPE_CHECKING:
    from dwh_assets.engine.cases import Result

MOST_LINES = 20


def test(
    context: typer.Context,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE...", help="files or folders; default tests/transforms", show_default=False),
    ] = None,
    only: Annotated[
        str, typer.Option("--only", "-k", help="Cases whose name or table holds this text.", show_default=False)
    ] = "",
    as_json: Json = False,
) -> None:
    """Run transforms on fixture rows. Exit code 1 if a case fails. Needs Spark, and no warehouse."""
    from dwh_assets.config.case_files import find_cases
    from dwh_assets.engine.case_bench import case_runner

    settings, out = settings_of(context), printer(as_json)
    cases = [case for case in find_cases(settings.project, list(paths or [])) if only in f"{case.module} {case.name}"]
    log_to_file(settings)
    results = []
    with working("starting Spark", long=True) as tell, case_runner(settings) as runner:
        for case in cases:
            tell(str(case))
            results.append(runner.check(case))
            _print(out, results[-1])
    failed = [result for result in results if not result.passed]
    if as_json:
        out.json([_as_dict(result) for result in results])
    out.say(f"{len(results) - len(failed)} passed, {len(failed)} failed." if results else f"No case is called {escape(only)!r}.")
    raise typer.Exit(1 if failed or not results else 0)


def _print(out: Printer, result: Result) -> None:
    word = "[green]passed[/]" if result.passed else "[red]failed[/]"
    out.say(f"{word}  {escape(str(result.case))}  [dim]{formats.seconds(result.seconds)}[/]")
    for line in _lines(result):
        out.say(f"          {escape(line)}")


def _lines(result: Result) -> list[str]:
    if result.problem is not None:
        return [f"{result.case.file}:{result.case.line}: {result.problem}"]
    lines = list(result.diff.lines(shown))
    return lines if len(lines) <= MOST_LINES else [*lines[:MOST_LINES], f"... and {len(lines) - MOST_LINES} more"]


def _as_dict(result: Result) -> dict[str, Any]:
    differences = {"changed": [{"expected": pair.expected, "given": pair.given} for pair in result.diff.changed]}
    differences |= {"missing": list(result.diff.missing), "extra": list(result.diff.extra)}
    case = result.case
    facts = {"file": case.file, "line": case.line, "table": case.module, "case": case.name, "passed": result.passed}
    return facts | {"problem": result.problem, "seconds": result.seconds} | differences
