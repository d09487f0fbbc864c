"""What was used last, up to a weight: what lies in memory is bounded by its size, not by the number of things."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """One value a key, for the state of it that was asked for last. Threads may share it; two may make the same value at once."""

    def __init__(self, weight: int) -> None:
        self._limit = weight
        self._known: OrderedDict[K, tuple[object, V, int]] = OrderedDict()
        self._lock = Lock()
        self._weight = 0

    @property
    def weight(self) -> int:
        return self._weight

    def get(self, key: K, state: object, make: Callable[[], V], weigh: Callable[[V], int]) -> V:
        """The value of this state of the key: the one in memory, or a new one in its place."""
        with self._lock:
            known = self._known.get(key)
            if known is not None and known[0] == state:
                self._known.move_to_end(key)
                return known[1]
        value = make()
        with self._lock:
            self._put(key, state, value, weigh(value))
        return value

    def clear(self) -> None:
        with self._lock:
            self._known.clear()
            self._weight = 0

    def _put(self, key: K, state: object, value: V, weight: int) -> None:
        """The newest is kept however heavy it is: it is asked for again at once."""
        before = self._known.pop(key, None)
        self._known[key] = (state, value, weight)
        self._weight += weight - (0 if before is None else before[2])
        while self._weight > self._limit and len(self._known) > 1:
            _, (_, _, gone) = self._known.popitem(last=False)
            self._weight -= gone
