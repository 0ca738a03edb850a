"""Large messages: how many bytes of them are in work is bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemas.topics import SCREENSHOTS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from faust.types import TP

LARGE_BYTES = 64 * 1024
"""A larger message is no text but a picture, and is counted."""
ROOM_AGAIN = 0.75
"""Large messages are fetched again below this share of `most_bytes`: for many at once, not for each one done."""


class LargeMessages:
    """The large messages that are delivered and not acknowledged. Where there is no room for another, it waits."""

    def __init__(self, has_room: Callable[[], None]) -> None:
        """Start with none. `has_room` is called when crowded partitions may be fetched from again."""
        self.most_bytes = 128 * 1024 * 1024
        """Some 180 of the largest pictures."""
        self.topics = frozenset({SCREENSHOTS.name})
        """Topics whose messages may wait for room. A message there must be done without the ones behind it: a turn is
        not, its window closes with a later one, and to hold that back would be a deadlock."""
        self.crowded: set[TP] = set()
        """Partitions whose next message is large while there is no room: they are not to be fetched from."""
        self._has_room = has_room
        self._sizes: dict[TP, dict[int, int]] = {}
        """Bytes by offset, so that each message is taken off `_bytes` only once: at its acknowledgement, or when its
        partition is forgotten."""
        self._bytes = 0

    def must_wait(self, tp: TP, record: Any) -> bool:  # noqa: ANN401 - the driver's record
        """Return whether there is no room for a record; its partition is crowded then."""
        if self._bytes < self.most_bytes or not self._size(tp, record):
            return False
        self.crowded.add(tp)
        return True

    def add(self, tp: TP, message: Any) -> None:  # noqa: ANN401 - Faust's message
        """Count a message that is delivered, if it is large."""
        if size := self._size(tp, message):
            self._sizes.setdefault(tp, {})[message.offset] = size
            self._bytes += size

    def done(self, tp: TP, offset: int) -> None:
        """Count a message no longer."""
        self._make_room(self._sizes.get(tp, {}).pop(offset, 0))

    def forget(self, tps: Collection[TP]) -> None:
        """Forget what is counted of these partitions."""
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
