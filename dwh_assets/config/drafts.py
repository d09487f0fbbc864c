"""Drafts of Lineage files and transforms, made from the columns that a base table really has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dwh_assets.model.column import TableColumn
from dwh_assets.model.topic import TopicName

KEYED = ("upsert", "history")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PLAIN = re.compile(r"[A-Za-z0-9(][\w ,.;()/+-]*", re.ASCII)
_INSTANTS = ("pos", "updated_at", "changed_at", "modified_at", "created_at", "loaded_at", "event_time")
_WIDTH = 44  # where comments begin


@dataclass(frozen=True)
class Wish:
    """What a person asked for, and what is known of the base table."""

    table: str
    base: str
    processor: str
    columns: Sequence[TableColumn]
    position: tuple[str, str]
    undeclared: bool = False  # the base exists in the catalog, but no file names it

    @property
    def name(self) -> TopicName:
        return TopicName.parse(self.table)


def draft(wish: Wish) -> dict[str, str]:
    """File -> text, below the project's folder."""
    name = wish.name
    stem = f"{name.table.replace('.', '/')}{'_' + name.tag if name.tag else ''}"
    files = {f"lineage/sources/{wish.base}.yaml": _source_file(wish)} if wish.undeclared else {}
    files[f"lineage/{stem}.yaml"] = _module_file(wish, f"{stem}.sql")
    if wish.processor != "ingest":
        files[f"sql/transforms/{stem}.sql"] = _transform(wish)
    return files


def key_of(columns: Sequence[TableColumn], base: str, position: tuple[str, ...] = ()) -> tuple[list[str], str]:
    """The columns that seem to make a row the same one, and why. A key that is the position tells changes apart, not things."""
    declared = [column.name for column in columns if column.key]
    if declared and not set(declared) <= set(position):
        return declared, "its primary key"
    stem = base.partition(".")[2]
    singular = stem.removesuffix("es") if stem.endswith("ches") else stem.removesuffix("s")
    names = {column.name.lower(): column.name for column in columns}
    for guess in (f"{singular}_id", f"{singular}_no", f"{stem}_id", f"{singular}_key", "uuid"):
        if guess in names:
            return [names[guess]], "by its name"
    ids = [column.name for column in columns if column.name.lower().endswith("_id") and column.name not in position]
    return (ids[:1], "the first that ends in _id") if ids and declared else (declared, "its primary key" if declared else "")


def position_of(columns: Sequence[TableColumn], base: str) -> tuple[str, str] | None:
    """The instant and the whole number that seem to say where a row stands; None where there are no such two."""
    instants = [column.name for column in columns if column.is_instant]
    numbers = [column.name for column in columns if column.is_whole_number]
    if not instants or not numbers:
        return None
    keys, _ = key_of(columns, base)
    known = [name for name in _INSTANTS if name in instants] + [name for name in instants if name.endswith("_at")] + instants
    ids = [name for name in ("id", *keys) if name in numbers] + [name for name in numbers if name.endswith("_id")] + numbers
    return known[0], ids[0]


def _module_file(wish: Wish, transform: str) -> str:
    lines = [
        f"table: {wish.table}",
        _noted(f"description: One row per row of {wish.base}.", "say what one row means for the business"),
        _noted(f"depends_on: [{wish.base}]", "the first is the base table; add those that the transform joins"),
        f"processor: {wish.processor}",
        *([f"transforms: [{transform}]"] if wish.processor != "ingest" else []),
        *(_position(wish) if wish.processor not in ("ingest", "reload") else []),
        *(_key(wish) if wish.processor != "ingest" else []),
        *([] if wish.processor == "ingest" else ["repeat: 1min", _noted("# delay: 30s", "how long the newest rows wait")]),
        *_comments(wish),
        *_checks(wish),
    ]
    return "\n".join(lines) + "\n"


def _position(wish: Wish) -> list[str]:
    """Said aloud: it is the one thing that must be right before the first block is cut."""
    text = f"position: [{', '.join(wish.position)}]"
    others = [c.name for c in _own(wish) if c.is_instant and c.name not in wish.position]
    hint = f"; other instants: {', '.join(others)}" if others else ""
    return [_noted(text, f"the base's cursor: an instant that only rises, and an id{hint}")]


def _key(wish: Wish) -> list[str]:
    keys, why = key_of(_own(wish), wish.base, wish.position)
    if wish.processor in KEYED:
        text = f"key: [{', '.join(keys or [wish.position[1]])}]"
        return [_noted(text, f"what makes two rows the same: {why or 'a guess, no column looks like a key'}")]
    return [_noted(f"# key: [{', '.join(keys)}]", f"for upsert and history: {why}")] if keys else []


def _comments(wish: Wish) -> list[str]:
    told = [(_renamed(c.name), c.comment) for c in _own(wish) if c.comment]
    return ["columns:", *(f"  {name}: {_quoted(' '.join(text.split()))}" for name, text in told)] if told else []


def _checks(wish: Wish) -> list[str]:
    if wish.processor == "ingest":
        return ["checks:", "  - dead_letters: {max_ratio: 0.1, severity: warn}"]
    keys, _ = key_of(_own(wish), wish.base, wish.position)
    required = [_renamed(c.name) for c in _own(wish) if (c.required or c.key) and c.name not in wish.position]
    asked = list(dict.fromkeys([*required, *(_renamed(key) for key in keys if key not in wish.position)]))
    if not asked:
        return ["# checks:", _noted("#   - not_null: [column]", "a failure parks the block, no reader sees it")]
    return ["checks:", _noted(f"  - not_null: [{', '.join(asked)}]", "a failure parks the block, no reader sees it")]


def _transform(wish: Wish) -> str:
    columns = _own(wish)
    lines = [_selected(column, wish, last=column is columns[-1]) for column in columns]
    source = wish.base if wish.processor == "reload" else "{{ block }}"
    kept = " Keep the two columns of the position." if wish.processor != "reload" else ""
    head = f"-- What {wish.table} makes of each row of {wish.base}.{kept}"
    return "\n".join([head, "select", *lines, f"from {source}"]) + "\n"


def _selected(column: TableColumn, wish: Wish, last: bool) -> str:
    plain = _NAME.fullmatch(column.name)
    text = f"    {column.name}" if plain else f"    `{column.name.replace('`', '``')}` as {_renamed(column.name)}"
    text += "" if last else ","
    role = ", position" if column.name in wish.position else ""
    return f"{text.ljust(_WIDTH)}-- {column.type}{role}"


def _source_file(wish: Wish) -> str:
    position = f"position: [{', '.join(wish.position)}]"
    return "\n".join(
        [
            f"name: {wish.base}",
            "kind: iceberg",
            _noted(position, "an instant that only rises, and an id; correct it before the first apply"),
            _noted("# delay: 2s", "a row may become visible this long after its instant"),
            "",
        ]
    )


def _noted(text: str, comment: str) -> str:
    return f"{text.ljust(_WIDTH)} # {comment}"


def _own(wish: Wish) -> list[TableColumn]:
    """Without what every built table has beside its columns."""
    return [column for column in wish.columns if not column.name.startswith("_")]


def _renamed(name: str) -> str:
    """A name that a table may have: `Order No` as order_no."""
    if _NAME.fullmatch(name):
        return name
    word = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_").lower() or "column"
    return f"c_{word}" if word[0].isdigit() else word


def _quoted(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "''") + "'"
