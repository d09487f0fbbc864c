"""Names that a person may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str], most: int = 3) -> str:
    """` Did you mean a or b?`, to be put behind a sentence: close ones, else those that hold its last part; else nothing."""
    by_small_letters = {word.lower(): word for word in sorted(known)}
    asked = name.lower()
    tail = asked.rpartition(".")[2]
    close = get_close_matches(asked, by_small_letters, n=most, cutoff=0.5)
    found = close or [word for word in by_small_letters if tail and tail in word][:most]
    near = [by_small_letters[word] for word in found]
    return f" Did you mean {' or '.join(near)}?" if near else ""
