"""Small plots as inline SVG: one series over time, a line or stems, with its greatest value and its two ends in time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Literal

WIDTH, HEIGHT = 280, 110
LEFT, RIGHT, TOP, BOTTOM = 8, 8, 20, 18  # margins, with room for the words


@dataclass(frozen=True)
class Point:
    at: datetime
    value: float


@dataclass(frozen=True)
class Spot:
    """A point where it is drawn."""

    x: float
    y: float
    text: str


def plot(title: str, points: Sequence[Point], form: Callable[[float], str], style: Literal["line", "stems"] = "line") -> str:
    """One plot; each point tells its value and time when the mouse is over it."""
    if not points:
        return _frame(title, "", '<text class="none" x="140" y="62" text-anchor="middle">no values</text>')
    spots = _placed(points, form)
    drawn = _line(spots) if style == "line" else _stems(spots)
    ends = (
        f'<text x="{LEFT}" y="{HEIGHT - 5}">{_moment(points[0].at)}</text>'
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 5}" text-anchor="end">{_moment(points[-1].at)}</text>'
    )
    return _frame(title, f"max {form(max(p.value for p in points))}", drawn + _targets(spots) + ends)


def _placed(points: Sequence[Point], form: Callable[[float], str]) -> list[Spot]:
    """By time from left to right; by number where all came at once."""
    first, last = points[0].at, points[-1].at
    span, top = (last - first).total_seconds(), max(p.value for p in points) or 1
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    spots = []
    for number, point in enumerate(points):
        part = (point.at - first).total_seconds() / span if span else (number + 0.5) / len(points)
        y = HEIGHT - BOTTOM - high * max(point.value, 0) / top
        spots.append(Spot(LEFT + wide * part, y, f"{form(point.value)}, {_moment(point.at)}"))
    return spots


def _line(spots: Sequence[Spot]) -> str:
    path = " ".join(f"{spot.x:.1f},{spot.y:.1f}" for spot in spots)
    floor = HEIGHT - BOTTOM
    area = f"{spots[0].x:.1f},{floor} {path} {spots[-1].x:.1f},{floor}"
    dots = "".join(f'<circle class="dot" cx="{s.x:.1f}" cy="{s.y:.1f}" r="1.6"/>' for s in spots) if len(spots) <= 12 else ""
    return f'<polygon class="area" points="{area}"/><polyline class="line" points="{path}"/>{dots}'


def _stems(spots: Sequence[Spot]) -> str:
    floor = HEIGHT - BOTTOM
    return "".join(f'<line class="stem" x1="{s.x:.1f}" x2="{s.x:.1f}" y1="{floor}" y2="{s.y:.1f}"/>' for s in spots)


def _targets(spots: Sequence[Spot]) -> str:
    """Invisible and larger than the points, so that a mouse finds them."""
    size = f'y="{TOP}" width="6" height="{HEIGHT - TOP - BOTTOM}"'
    return "".join(f'<rect class="hit" x="{s.x - 3:.1f}" {size}><title>{escape(s.text)}</title></rect>' for s in spots)


def _frame(title: str, note: str, inside: str) -> str:
    name, floor = escape(title), HEIGHT - BOTTOM
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{name} {escape(note)}">'
        f'<text class="name" x="{LEFT}" y="13">{name}</text>'
        f'<text x="{WIDTH - RIGHT}" y="13" text-anchor="end">{escape(note)}</text>'
        f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{floor}" y2="{floor}"/>{inside}</svg>'
    )


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%m-%d %H:%M}"
