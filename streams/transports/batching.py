"""Batching: calls of a busy event loop are collected until it has no other work, so that they share a write."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

BATCH_RECORDS: Final = 256
"""The number of collected records at which they are written without waiting for more."""
LONGEST_WAIT_SECONDS: Final = 0.1
"""The longest time for which the calls of a loop that is never idle are collected."""
IDLE_TURN_SECONDS: Final = 0.0003
"""A shorter turn of the loop ran nothing else: the loop is idle."""


def when_idle(loop: asyncio.AbstractEventLoop, hand_over: Callable[[], None], count: Callable[[], int]) -> None:
    """Call `hand_over` in the loop when it has no other work, at BATCH_RECORDS records or after LONGEST_WAIT_SECONDS.

    `count` returns the number of records collected so far. Tasks that one write wakes up share the next write, and a
    single caller waits for only one turn of the loop.
    """
    now = loop.time()
    loop.call_soon(_turn_over, loop, hand_over, count, now - 1, now + LONGEST_WAIT_SECONDS)


def _turn_over(
    loop: asyncio.AbstractEventLoop, hand_over: Callable[[], None], count: Callable[[], int], last: float, until: float
) -> None:
    """Call `hand_over`, or schedule this function again for the loop's next turn.

    It is not a closure: each append would create one that refers to itself, and only the garbage collector would free
    it, with everything that it refers to.
    """
    now = loop.time()
    if count() < BATCH_RECORDS and now - last > IDLE_TURN_SECONDS and now < until:
        loop.call_soon(_turn_over, loop, hand_over, count, now, until)
    else:
        hand_over()


class AppendBatcher:
    """Lets callers wait until their loop has no other work; then all continue, in the order of their calls."""

    def __init__(self) -> None:
        self._waiting: list[tuple[asyncio.Future[None], int]] = []

    async def wait(self, records: int) -> None:
        """Wait before writing a number of records; those that other tasks bring meanwhile go into the same write."""
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
