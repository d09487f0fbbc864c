"""Names that a person may have meant."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches


def near_names(name: str, known: Collection[str]) -> str:
    """` Did you mean a or b?`, or nothing: close ones, else those that hold its last part."""
    ordered = sorted(known)
    tail = name.rpartition(".")[2]
    near = get_close_matches(name, ordered, n=3, cutoff=0.5) or [other for other in ordered if tail and tail in other][:3]
    return f" Did you mean {' or '.join(near)}?" if near else ""
