"""The chain of what a topic waits for, drawn as a tree."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.markup import escape
from rich.tree import Tree

from dwh_assets.cli import formats
from dwh_assets.cli.chain import Link
from dwh_assets.cli.estimate import Estimate
from dwh_assets.cli.output import console


def print_chain(link: Link) -> None:
    tree = Tree(_label(link, False), guide_style="dim")
    _grow(tree, link)
    console().print(tree)


def _grow(tree: Tree, link: Link) -> None:
    for child in link.waits_for:
        _grow(tree.add(_label(child, child.followed and len(link.waits_for) > 1)), child)


def _label(link: Link, slowest: bool) -> str:
    verdict = formats.coloured(link.verdict, red=link.parked)
    mark = " [yellow]<- slowest[/]" if slowest else ""
    watermark = f"complete up to {formats.instant(link.watermark)}" if link.watermark else "completeness unknown"
    lines = [f"[bold]{link.name}[/] {verdict}, {watermark}{mark}", escape(link.why)]
    if link.kind == "topic":
        lines += [f"[dim]{escape(link.usual)}[/]"] if link.usual else []
        lines.append(f"[dim]should be done:[/] {_when(link.estimate)}")
    return "\n".join(lines)


def _when(estimate: Estimate) -> str:
    if estimate.at is None:
        return escape(estimate.text)
    left = (estimate.at - datetime.now(UTC)).total_seconds()
    soon = f" (in {formats.span(left)})" if left > 1 else ""
    return f"{formats.instant(estimate.at)}{soon}: {escape(estimate.text)}"
