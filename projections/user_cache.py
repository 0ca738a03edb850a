"""A cache of what is made of users, bounded by the memory that it takes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

LARGE_BYTES: Final = 1 << 20
"""What takes more is made in tens of milliseconds, or hundreds: some hundred memories."""

User = TypeVar("User", bound="Hashable")
Value = TypeVar("Value")


@dataclass(slots=True, eq=False)
class _Entry(Generic[Value]):
    """What there is of a user, and what it takes."""

    value: Value
    size: int

    @property
    def is_large(self) -> bool:
        return self.size > LARGE_BYTES


class UserCache(Generic[User, Value]):
    """What was made of the users asked for last. Dropping one is always safe: it is made again.

    What is small is made again in a moment, and there may be any number of such users: all of it together has a bound
    of its own, `small_bytes`. What is large is kept as long as everything takes at most `max_bytes`. Of each kind the
    one asked for last is kept however large it is.

    Safe from any thread.
    """

    def __init__(self, small_bytes: int, max_bytes: int) -> None:
        """Start empty."""
        self._bounds = {False: small_bytes, True: max_bytes}
        self._entries: dict[User, _Entry[Value]] = {}
        self._orders: dict[bool, OrderedDict[User, None]] = {False: OrderedDict(), True: OrderedDict()}
        """The users of small and of large entries, in the order in which they were asked for."""
        self._last: _Entry[Value] | None = None
        """The one asked for last, which is at the end of its order."""
        self._bytes = {False: 0, True: 0}
        self._lock = threading.RLock()

    @property
    def nbytes(self) -> int:
        """What all of it takes, as far as it was told."""
        return sum(self._bytes.values())

    def __contains__(self, user: object) -> bool:
        """Return whether there is something of a user."""
        return user in self._entries

    def __len__(self) -> int:
        """Return of how many users there is something."""
        return len(self._entries)

    def __iter__(self) -> Iterator[User]:
        """Yield the users, as they are now."""
        return iter(list(self._entries))

    def get(self, user: User) -> Value | None:
        """Return what there is of a user, who was asked for now."""
        with self._lock:
            if (entry := self._entries.get(user)) is None:
                return None
            if entry is not self._last:
                self._orders[entry.is_large].move_to_end(user)
                self._last = entry
            return entry.value

    def peek(self, user: User) -> Value | None:
        """Return what there is of a user, without having been asked for it."""
        with self._lock:
            entry = self._entries.get(user)
            return None if entry is None else entry.value

    def put(self, user: User, value: Value, size: int) -> None:
        """Keep what takes so many bytes; those asked for longest ago make room."""
        with self._lock:
            self.pop(user)
            self._entries[user] = self._last = entry = _Entry(value, size)
            self._orders[entry.is_large][user] = None
            self._bytes[entry.is_large] += size
            self._make_room()

    def replace(self, user: User, value: Value) -> bool:
        """Put a value of about the same size in the place of another one; return whether there was one."""
        with self._lock:
            if self.get(user) is None:
                return False
            self._entries[user].value = value
            return True

    def resize(self, user: User, size: int) -> None:
        """Take in that what there is of a user takes so many bytes now; nothing where there is none."""
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
        """Drop what there is of a user."""
        with self._lock:
            if (entry := self._entries.pop(user, None)) is not None:
                del self._orders[entry.is_large][user]
                self._bytes[entry.is_large] -= entry.size
                if entry is self._last:
                    self._last = None

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            for order in self._orders.values():
                order.clear()
            self._entries.clear()
            self._last = None
            self._bytes = {False: 0, True: 0}

    def _make_room(self) -> None:
        """Drop those asked for longest ago, but for one of each kind."""
        small, large = self._orders[False], self._orders[True]
        while self._bytes[False] > self._bounds[False] and len(small) > 1:
            self.pop(next(iter(small)))
        while self.nbytes > self._bounds[True] and (oldest := large if len(large) > 1 else small) and len(oldest) > 1:
            self.pop(next(iter(oldest)))
