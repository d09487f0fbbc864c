"""Names that a person may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str], most: int = 3) -> str:
    """` Did you mean a or b?`, to be put behind a sentence; nothing where no name is near."""
    by_small_letters = {word.lower(): word for word in known}
    near = [by_small_letters[word] for word in get_close_matches(name.lower(), by_small_letters, n=most, cutoff=0.5)]
    return f" Did you mean {' or '.join(near)}?" if near else ""
