"""A cache of what is made of users, bounded by the memory that it takes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

LARGE_BYTES: Final = 1 << 20
"""What takes more is made in tens of milliseconds, or hundreds: some hundred memories."""

User = TypeVar("User", bound="Hashable")
Value = TypeVar("Value")


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
        self._values: dict[bool, OrderedDict[User, Value]] = {False: OrderedDict(), True: OrderedDict()}
        self._sizes: dict[User, int] = {}
        self._bytes = {False: 0, True: 0}
        self._lock = threading.RLock()

    @property
    def nbytes(self) -> int:
        """What all of it takes, as far as it was told."""
        return sum(self._bytes.values())

    def __contains__(self, user: object) -> bool:
        """Return whether there is something of a user."""
        return user in self._sizes

    def __len__(self) -> int:
        """Return of how many users there is something."""
        return len(self._sizes)

    def __iter__(self) -> Iterator[User]:
        """Yield the users, as they are now."""
        return iter(list(self._sizes))

    def get(self, user: User) -> Value | None:
        """Return what there is of a user, who was asked for now."""
        with self._lock:
            if (size := self._sizes.get(user)) is None:
                return None
            values = self._values[size > LARGE_BYTES]
            values.move_to_end(user)
            return values[user]

    def peek(self, user: User) -> Value | None:
        """Return what there is of a user, without having been asked for it."""
        with self._lock:
            size = self._sizes.get(user)
            return None if size is None else self._values[size > LARGE_BYTES][user]

    def put(self, user: User, value: Value, size: int) -> None:
        """Keep what takes so many bytes; those asked for longest ago make room."""
        with self._lock:
            self.pop(user)
            is_large = size > LARGE_BYTES
            self._values[is_large][user] = value
            self._sizes[user] = size
            self._bytes[is_large] += size
            self._make_room()

    def resize(self, user: User, size: int) -> None:
        """Take in that what there is of a user takes so many bytes now; nothing where there is none."""
        with self._lock:
            if (before := self._sizes.get(user)) is None:
                return
            if (before > LARGE_BYTES) is not (size > LARGE_BYTES):
                self.put(user, self._values[before > LARGE_BYTES][user], size)
                return
            self._sizes[user] = size
            self._bytes[size > LARGE_BYTES] += size - before
            self._make_room()

    def pop(self, user: User) -> None:
        """Drop what there is of a user."""
        with self._lock:
            if (size := self._sizes.pop(user, None)) is not None:
                is_large = size > LARGE_BYTES
                del self._values[is_large][user]
                self._bytes[is_large] -= size

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            for values in self._values.values():
                values.clear()
            self._sizes.clear()
            self._bytes = {False: 0, True: 0}

    def _make_room(self) -> None:
        """Drop those asked for longest ago, but for one of each kind."""
        small, large = self._values[False], self._values[True]
        while self._bytes[False] > self._bounds[False] and len(small) > 1:
            self.pop(next(iter(small)))
        while self.nbytes > self._bounds[True] and (oldest := large if len(large) > 1 else small) and len(oldest) > 1:
            self.pop(next(iter(oldest)))
