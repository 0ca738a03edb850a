"""Durability of the index: the writes that it may still lose, and the offset in each ledger up to which it is safe."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from projections.shard.shard import Shard
    from schemas.identity import Owner

SAFE_AFTER_SECONDS: Final = 30.0
"""A killed index may lose writes that it acknowledged more recently than this: Weaviate loses vectors of about 3 s."""
LOOK_EVERY_SECONDS: Final = 2.0
"""The interval between checks of the index: less than any index takes to start, so that no restart goes unnoticed."""
UNSEEN_SECONDS: Final = 3 * LOOK_EVERY_SECONDS
"""A process whose last check is older than this was frozen, and may have missed a restart."""


class UnconfirmedWrites:
    """Writes that the index acknowledged less than SAFE_AFTER_SECONDS ago, in the order of their acknowledgement.

    Time confirms a write only while the index is known to be up: it answered the last check, and that check was less
    than UNSEEN_SECONDS ago. Otherwise it may have been killed, and the write lost, unnoticed.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self.is_up = True
        """Whether the index answered the last check."""
        self._monotonic = monotonic
        self._checked = monotonic()
        self._writes: deque[tuple[float, Mapping[Owner, Sequence[str]]]] = deque()
        self._reached: deque[tuple[float, list[tuple[Shard, int]]]] = deque()
        """The times at which the index held all of each ledger up to an offset, which is safe after long enough."""

    def has_stalled(self) -> bool:
        """Return whether the last check is so long ago that a restart may have been missed."""
        return self._monotonic() - self._checked > UNSEEN_SECONDS

    def note_check(self) -> None:
        """Note that the index is being checked now."""
        self._checked = self._monotonic()

    def add(self, batch: Mapping[Owner, Sequence[str]]) -> None:
        """Add a batch that the index has acknowledged, and drop those that have become safe."""
        self._writes.append((self._monotonic(), batch))
        self._drop_safe()

    def confirm(self, shards: Sequence[Shard]) -> list[tuple[Shard, int]]:
        """Note that the index holds everything that these shards have folded.

        Returns the shards whose safe offset has moved, each with the offset of its ledger before which the index is
        safe by now.
        """
        safe: list[tuple[Shard, int]] = []
        if not self._drop_safe():
            return safe
        now = self._monotonic()
        self._reached.append((now, [(shard, shard.offset(shard.ledger_topic)) for shard in shards]))
        while self._reached and self._reached[0][0] < now - SAFE_AFTER_SECONDS:
            safe = self._reached.popleft()[1]
        return safe

    def clear(self) -> None:
        """Forget everything: the index is another one, or empty."""
        self._writes.clear()
        self._reached.clear()

    def take_all(self) -> Iterator[Mapping[Owner, Sequence[str]]]:
        """Yield every batch that the index may have lost, and forget it."""
        self._reached.clear()
        while self._writes:
            yield self._writes.popleft()[1]

    def _drop_safe(self) -> bool:
        """Drop writes that are old enough; return False, and drop none, while the index may be down."""
        if not self.is_up or self.has_stalled():
            return False
        while self._writes and self._writes[0][0] < self._monotonic() - SAFE_AFTER_SECONDS:
            self._writes.popleft()
        return True
