"""A cache of the most recently used values, with a bound on their total size."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

Key = TypeVar("Key", bound="Hashable")
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """A cache that drops the least recently used values beyond a total size, but never the last one put.

    It is thread-safe.
    """

    def __init__(self, most: int) -> None:
        """`most` is in the unit of the sizes, by default a number of values; nothing is kept at 0."""
        self._most = most
        self._entries: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        """Each value and its size, the least recently used first."""
        self._size = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def values(self) -> list[Value]:
        """Return the current values, without marking them as used."""
        with self._lock:
            return [value for value, _ in self._entries.values()]

    def get(self, key: Key) -> Value | None:
        """Return the value of a key, or None, and mark it as the most recently used."""
        if not self._entries:  # hashing a long key takes a microsecond
            return None
        with self._lock:
            if (entry := self._entries.get(key)) is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: Key, value: Value, size: int = 1) -> None:
        """Set the value of a key; the least recently used ones make room."""
        with self._lock:
            self._remove(key)
            self._entries[key] = value, size
            self._size += size
            while self._size > self._most and (len(self._entries) > 1 or not self._most):
                self._remove(next(iter(self._entries)))

    def pop(self, key: Key) -> Value | None:
        """Remove the value of a key, and return it, or None."""
        with self._lock:
            return self._remove(key)

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._entries.clear()
            self._size = 0

    def _remove(self, key: Key) -> Value | None:
        if (entry := self._entries.pop(key, None)) is None:
            return None
        self._size -= entry[1]
        return entry[0]
