"""Calls of a busy event loop gathered until it has nothing else to do, so that they share a write."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

GATHERED_RECORDS: Final = 256
"""Enough for a write of their own: they wait for nobody."""
LONGEST_GATHERING_SECONDS: Final = 0.1
"""A busy loop's calls are gathered at most so long."""
IDLE_TURN_SECONDS: Final = 0.0003
"""A turn of the loop in which nothing else ran is shorter."""


def when_idle(loop: asyncio.AbstractEventLoop, hand_over: Callable[[], None], gathered: Callable[[], int]) -> None:
    """Call `hand_over` in the loop when it has no other work, has `gathered` enough records, or has waited too long.

    The tasks that one write woke up share the next one as well, and a caller alone waits for one turn of the loop.
    """

    def turn_over(last: float) -> None:
        now = loop.time()
        if gathered() < GATHERED_RECORDS and now - last > IDLE_TURN_SECONDS and now < until:
            loop.call_soon(turn_over, now)
        else:
            hand_over()

    until = loop.time() + LONGEST_GATHERING_SECONDS
    loop.call_soon(turn_over, loop.time() - 1)


class AppendBatcher:
    """Lets those who want to write wait until their loop has nothing else to do, and then go on in their order."""

    def __init__(self) -> None:
        self._waiting: list[tuple[asyncio.Future[None], int]] = []

    async def wait(self, records: int) -> None:
        """Wait with so many records to write; what other tasks bring by then goes into the same write."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            when_idle(loop, self._hand_over, lambda: sum(count for _, count in self._waiting))
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiting.append((waiter, records))
        await waiter

    def _hand_over(self) -> None:
        waiting, self._waiting = self._waiting, []
        for waiter, _ in waiting:
            if not waiter.done():  # cancelled
                waiter.set_result(None)
