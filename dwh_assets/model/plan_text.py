"""Spark's analysed plan as text, read into a tree. Over Spark Connect this text is all of the plan that can be reached."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_BEGINS = "== Analyzed Logical Plan ==\n"
_ENDS = "\n== Optimized Logical Plan =="
_LINE = re.compile(r"^(?P<guides>(?:[: ] {2})*)(?P<joint>[:+]- )(?P<text>.*)$")
_ID = re.compile(r"#(\d+)")
_NAMED = re.compile(r"^(?:(?P<given>.*) AS )?(?P<name>.*?)#(?P<id>\d+)L?(?:-T\d+ms)?$", re.DOTALL)
_OPENS, _CLOSES = "([{", ")]}"
LEVEL = 3


@dataclass
class Node:
    """One operator: its text, the operators that it reads, and those of the subqueries in its expressions."""

    text: str
    children: list[Node] = field(default_factory=list)
    subqueries: list[Node] = field(default_factory=list)

    @property
    def name(self) -> str:
        return re.split(r"[ (\[]", self.text, maxsplit=1)[0]


@dataclass(frozen=True)
class Item:
    """An entry of an output list. `given` is the expression; none where a column is passed on as it is."""

    id: int
    name: str
    given: str | None = None


def analysed_part(explained: str) -> str:
    """The operators of the analysed plan, without the line that names the columns."""
    _, found, rest = explained.partition(_BEGINS)
    if not found:
        return ""
    plan, _, _ = rest.partition(_ENDS)
    return plan.partition("\n")[2]


def tree_of(plan: str) -> Node | None:
    """The tree that the guides at the left of each line draw. A subquery is drawn one level deeper than a child."""
    root: Node | None = None
    path: list[tuple[int, Node]] = []
    for line in plan.split("\n"):
        drawn = _LINE.match(line)
        if root is None:
            root = Node(line)
            path = [(0, root)]
        elif drawn is None:
            path[-1][1].text += f"\n{line}"  # a literal with a line break in it
        else:
            depth = len(drawn["guides"]) // LEVEL + 1
            while path[-1][0] >= depth:
                path.pop()
            above, parent = path[-1]
            node = Node(drawn["text"])
            (parent.children if depth == above + 1 else parent.subqueries).append(node)
            path.append((depth, node))
    return root


def ids_in(text: str) -> list[int]:
    return [int(found) for found in _ID.findall(text)]


def lists_in(text: str) -> list[str]:
    """The outermost [...] of an operator's text, without their brackets."""
    found, depth, begun = [], 0, 0
    for place, letter in enumerate(text):
        if letter in _OPENS:
            if depth == 0:
                begun = place
            depth += 1
        elif letter in _CLOSES and depth:
            depth -= 1
            if depth == 0 and text[begun] == "[":
                found.append(text[begun + 1 : place])
    if depth and text[begun] == "[":  # a literal holds a bracket without its pair: the rest of the text is this list
        found.append(text[begun + 1 :].removesuffix("]"))
    return found


def items_of(text: str) -> list[Item]:
    """The entries of an output list. Each ends with the id of its column; what does not is a part of the next one.

    Literals come without quotes. Where one holds a bracket without its pair, brackets tell nothing, and an entry ends where
    a column is named.
    """
    parts = text.split(", ") if _depth(text) else parts_of(text)
    return [item for part in _ended(parts, bool(_depth(text))) if (item := _item(part)) is not None]


def parts_of(text: str) -> list[str]:
    """Split at the commas that lie outside of all brackets."""
    parts, depth, begun = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in _OPENS) - (letter in _CLOSES and depth > 0)
        if letter == "," and depth == 0 and text[place : place + 2] == ", ":
            parts.append(text[begun:place])
            begun = place + 2
    return [*parts, text[begun:]]


def _ended(parts: Iterable[str], brackets_lie: bool) -> Iterator[str]:
    held = ""
    for part in parts:
        held = f"{held}, {part}" if held else part
        if _NAMED.match(held) and not (brackets_lie and _inside(held)):
            yield held
            held = ""


def _inside(text: str) -> bool:
    """In the middle of an expression: it has a bracket, and nothing that gives it a name."""
    return any(letter in text for letter in _OPENS) and not re.search(r" AS .*#\d+L?$", text)


def _depth(text: str) -> int:
    """How many brackets are left open at the end; none where each has its pair."""
    depth = 0
    for letter in text:
        depth += (letter in _OPENS) - (letter in _CLOSES and depth > 0)
    return depth


def _item(text: str) -> Item | None:
    found = _NAMED.match(text)
    return None if found is None else Item(int(found["id"]), found["name"], found["given"])
