"""Growth: followers of the log are notified which partitions have grown, each follower in its own event loop."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

Place: TypeAlias = tuple[str, int]
"""A topic and a partition."""
Told: TypeAlias = "Callable[[Collection[Place], bool], None]"
"""A follower's function: it is called with the partitions that have grown, and whether all new records are settled."""


class Growth:
    """Collects the partitions to which a transaction appends, and notifies the followers once it is durable."""

    def __init__(self) -> None:
        self._followers: set[tuple[asyncio.AbstractEventLoop, Told]] = set()
        self._grown: set[Place] = set()
        self._is_settled = True

    def follow(self, told: Told) -> Callable[[], None]:
        """Call `told` in the running loop after each commit by which partitions grew; return a function to end that."""
        follower = (asyncio.get_running_loop(), told)
        self._followers.add(follower)
        return lambda: self._followers.discard(follower)

    def add(self, places: Collection[Place], *, is_settled: bool) -> None:
        """Note which partitions have grown, and whether by settled records only. The writer's thread calls this."""
        self._grown.update(places)
        self._is_settled = self._is_settled and is_settled

    def tell(self) -> None:
        """Notify the followers of all noted partitions. The writer's thread calls this, and does not wait for them."""
        if self._grown:
            grown, is_settled = self._grown, self._is_settled
            self._grown, self._is_settled = set(), True
            for loop, told in tuple(self._followers):
                with suppress(RuntimeError):  # the loop is closed, and its tasks with it
                    loop.call_soon_threadsafe(told, grown, is_settled)
