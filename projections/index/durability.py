"""What an index was told so lately that it may lose it, and how far it safely is."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from projections.shard.shard import Shard
    from schemas.identity import Owner

SAFE_AFTER_SECONDS: Final = 30.0
"""An index that is killed may lose what it acknowledged so recently; Weaviate does, of vectors, for about 3 s."""
LOOK_EVERY_SECONDS: Final = 2.0
"""Shorter than any index takes to start, so that no restart goes unnoticed."""
UNSEEN_SECONDS: Final = 3 * LOOK_EVERY_SECONDS
"""Who has not looked for so long stood still, and may have missed a restart."""


class UnconfirmedWrites:
    """Nothing told becomes safe while the index does not answer, or nobody has looked whether it does."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self.is_seen = True
        """The index answered when it was looked at last."""
        self._monotonic = monotonic
        self._looked = monotonic()
        self._told: deque[tuple[float, Mapping[Owner, Sequence[str]]]] = deque()
        self._reached: deque[tuple[float, list[tuple[Shard, int]]]] = deque()

    def has_stood_still(self) -> bool:
        """Tell whether nobody has looked in time."""
        return self._monotonic() - self._looked > UNSEEN_SECONDS

    def looks(self) -> None:
        """Note that somebody looks."""
        self._looked = self._monotonic()

    def note(self, some: Mapping[Owner, Sequence[str]]) -> None:
        """Note what the index was told, and forget what has become safe."""
        self._told.append((self._monotonic(), some))
        self._forget_safe()

    def reaches(self, shards: Sequence[Shard]) -> list[tuple[Shard, int]]:
        """Note that the index is where the shards are; return how far in each ledger it safely is, if that is new."""
        safe: list[tuple[Shard, int]] = []
        if not self._forget_safe():
            return safe
        now = self._monotonic()
        self._reached.append((now, [(shard, shard.offset(shard.ledger_topic)) for shard in shards]))
        while self._reached and self._reached[0][0] < now - SAFE_AFTER_SECONDS:
            safe = self._reached.popleft()[1]
        return safe

    def forget(self) -> None:
        """Forget everything: the index is another."""
        self._told.clear()
        self._reached.clear()

    def take_back(self) -> Iterator[Mapping[Owner, Sequence[str]]]:
        """Yield, and forget, what the index may have lost."""
        self._reached.clear()
        while self._told:
            yield self._told.popleft()[1]

    def _forget_safe(self) -> bool:
        if not self.is_seen or self.has_stood_still():
            return False
        while self._told and self._told[0][0] < self._monotonic() - SAFE_AFTER_SECONDS:
            self._told.popleft()
        return True
