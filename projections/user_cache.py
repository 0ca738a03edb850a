"""A cache of values computed per user, bounded by its memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

LARGE_BYTES: Final = 1 << 20
"""The bound of small values: larger ones (some hundred memories) take tens or hundreds of milliseconds to compute."""

User = TypeVar("User", bound="Hashable")
Value = TypeVar("Value")


@dataclass(slots=True, eq=False)
class _Entry(Generic[Value]):
    """The value of a user and its size."""

    value: Value
    size: int

    @property
    def is_large(self) -> bool:
        return self.size > LARGE_BYTES


class UserCache(Generic[User, Value]):
    """A cache of values of the most recently used users. Eviction is always safe: a value is computed again.

    Small values can be computed quickly, for any number of users: together they are bounded by `small_bytes`. Large
    values are kept while everything takes at most `max_bytes`. The most recently used value of each kind is kept,
    whatever its size.

    The cache is thread-safe.
    """

    def __init__(self, small_bytes: int, max_bytes: int) -> None:
        self._bounds = {False: small_bytes, True: max_bytes}
        self._entries: dict[User, _Entry[Value]] = {}
        self._orders: dict[bool, OrderedDict[User, None]] = {False: OrderedDict(), True: OrderedDict()}
        """The users of small and of large entries, the least recently used first."""
        self._last: _Entry[Value] | None = None
        """The most recently used entry, which is at the end of its order."""
        self._bytes = {False: 0, True: 0}
        self._lock = threading.RLock()

    @property
    def nbytes(self) -> int:
        """The sum of the given sizes of all values."""
        return sum(self._bytes.values())

    def __contains__(self, user: object) -> bool:
        return user in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[User]:
        return iter(list(self._entries))

    def get(self, user: User) -> Value | None:
        """Return the value of a user, or None, and mark it as the most recently used."""
        with self._lock:
            if (entry := self._entries.get(user)) is None:
                return None
            if entry is not self._last:
                self._orders[entry.is_large].move_to_end(user)
                self._last = entry
            return entry.value

    def peek(self, user: User) -> Value | None:
        """Return the value of a user, or None, without marking it as used."""
        with self._lock:
            entry = self._entries.get(user)
            return None if entry is None else entry.value

    def put(self, user: User, value: Value, size: int) -> None:
        """Set the value of a user and its size in bytes; the least recently used values make room."""
        with self._lock:
            self.pop(user)
            self._entries[user] = self._last = entry = _Entry(value, size)
            self._orders[entry.is_large][user] = None
            self._bytes[entry.is_large] += size
            self._make_room()

    def replace(self, user: User, value: Value) -> bool:
        """Replace the value of a user by another one of about the same size; return whether there was one."""
        with self._lock:
            if self.get(user) is None:
                return False
            self._entries[user].value = value
            return True

    def resize(self, user: User, size: int) -> None:
        """Set the size of a user's value in bytes; do nothing if there is none."""
        with self._lock:
            if (entry := self._entries.get(user)) is None:
                return
            if entry.is_large is not (size > LARGE_BYTES):
                self.put(user, entry.value, size)
                return
            self._bytes[entry.is_large] += size - entry.size
            entry.size = size
            self._make_room()

    def pop(self, user: User) -> None:
        """Remove the value of a user."""
        with self._lock:
            if (entry := self._entries.pop(user, None)) is not None:
                del self._orders[entry.is_large][user]
                self._bytes[entry.is_large] -= entry.size
                if entry is self._last:
                    self._last = None

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            for order in self._orders.values():
                order.clear()
            self._entries.clear()
            self._last = None
            self._bytes = {False: 0, True: 0}

    def _make_room(self) -> None:
        """Evict the least recently used values, except the last one of each kind."""
        small, large = self._orders[False], self._orders[True]
        while self._bytes[False] > self._bounds[False] and len(small) > 1:
            self.pop(next(iter(small)))
        while self.nbytes > self._bounds[True] and (oldest := large if len(large) > 1 else small) and len(oldest) > 1:
            self.pop(next(iter(oldest)))
