"""Batching: calls of a busy event loop are collected until it has no other work, so that they share a write."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

BATCH_RECORDS: Final = 256
"""So many records are written at once, without waiting for more."""
LONGEST_WAIT_SECONDS: Final = 0.1
"""The calls of a loop that is never idle are collected for at most so long."""
IDLE_TURN_SECONDS: Final = 0.0003
"""A turn of the loop that is shorter ran nothing else."""


def when_idle(loop: asyncio.AbstractEventLoop, hand_over: Callable[[], None], count: Callable[[], int]) -> None:
    """Call `hand_over` in the loop when it has no other work, at BATCH_RECORDS records or after LONGEST_WAIT_SECONDS.

    `count` returns the records collected so far. The tasks that one write wakes up thus share the next one, and a
    single caller waits for one turn of the loop.
    """
    now = loop.time()
    loop.call_soon(_turn_over, loop, hand_over, count, now - 1, now + LONGEST_WAIT_SECONDS)


def _turn_over(
    loop: asyncio.AbstractEventLoop, hand_over: Callable[[], None], count: Callable[[], int], last: float, until: float
) -> None:
    """Call `hand_over`, or this again in the loop's next turn.

    It is no closure: one that names itself is garbage for the collector to find, with all that it holds, once for each
    append.
    """
    now = loop.time()
    if count() < BATCH_RECORDS and now - last > IDLE_TURN_SECONDS and now < until:
        loop.call_soon(_turn_over, loop, hand_over, count, now, until)
    else:
        hand_over()


class AppendBatcher:
    """Lets callers wait until their loop has no other work; then all go on, in the order of their calls."""

    def __init__(self) -> None:
        self._waiting: list[tuple[asyncio.Future[None], int]] = []

    async def wait(self, records: int) -> None:
        """Wait before writing so many records; what other tasks bring meanwhile goes into the same write."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            when_idle(loop, self._hand_over, lambda: sum(count for _, count in self._waiting))
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiting.append((waiter, records))
        await waiter

    def _hand_over(self) -> None:
        waiting, self._waiting = self._waiting, []
        for waiter, _ in waiting:
            if not waiter.done():  # else it was cancelled
                waiter.set_result(None)
