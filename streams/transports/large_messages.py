"""Large messages: a limit on the bytes of those that are unfinished."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemas.topics import SCREENSHOTS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from faust.types import TP

LARGE_BYTES = 64 * 1024
"""A larger message contains a picture rather than text, and is counted."""
ROOM_AGAIN = 0.75
"""The share of `most_bytes` at which large messages are fetched again: many together, not one for each finished one."""


class LargeMessages:
    """The large messages that are delivered and not acknowledged. Another one waits while there is no room for it."""

    def __init__(self, has_room: Callable[[], None]) -> None:
        """Begin empty. `has_room` is called when crowded partitions may be fetched from again."""
        self.most_bytes = 128 * 1024 * 1024
        """About 180 of the largest pictures."""
        self.topics = frozenset({SCREENSHOTS.name})
        """The topics whose messages may wait for room. Such a message must not need those that follow it. A turn does:
        its window closes with a later turn, and if that one waited, there would be a deadlock."""
        self.crowded: set[TP] = set()
        """The partitions whose next message is large while there is no room: nothing is fetched from them."""
        self._has_room = has_room
        self._sizes: dict[TP, dict[int, int]] = {}
        """The bytes by offset, so that each message is subtracted from `_bytes` only once: when it is acknowledged, or
        when its partition is forgotten."""
        self._bytes = 0

    def must_wait(self, tp: TP, record: Any) -> bool:  # noqa: ANN401 - the driver's record
        """Return whether there is no room for a record; if so, its partition becomes crowded."""
        if self._bytes < self.most_bytes or not self._size(tp, record):
            return False
        self.crowded.add(tp)
        return True

    def add(self, tp: TP, message: Any) -> None:  # noqa: ANN401 - Faust's message
        """Count a delivered message if it is large."""
        if size := self._size(tp, message):
            self._sizes.setdefault(tp, {})[message.offset] = size
            self._bytes += size

    def done(self, tp: TP, offset: int) -> None:
        """Stop counting a message."""
        self._make_room(self._sizes.get(tp, {}).pop(offset, 0))

    def forget(self, tps: Collection[TP]) -> None:
        """Stop counting the messages of these partitions."""
        self._make_room(sum(sum(self._sizes.pop(tp, {}).values()) for tp in tps))
        self.crowded.difference_update(tps)

    def _size(self, tp: TP, message: Any) -> int:  # noqa: ANN401 - a record of the driver, or Faust's message
        size = len(message.value or b"") if tp.topic in self.topics else 0
        return size if size > LARGE_BYTES else 0

    def _make_room(self, freed: int) -> None:
        self._bytes -= freed
        if self.crowded and self._bytes <= ROOM_AGAIN * self.most_bytes:
            self.crowded.clear()
            self._has_room()
