"""Slots that are given in turns: whoever wants many of them keeps nobody else waiting for all of these."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from streams.delivery.fair_queue import FairQueue

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Hashable


class FairSlots:
    """At most `count` at a time; a free slot goes to the next party that waits, and within a party to the first.

    So a party (a tenant) with one request waits for at most one request of each other party, however many these have.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: FairQueue[asyncio.Future[None]] = FairQueue()

    @asynccontextmanager
    async def slot(self, party: Hashable) -> AsyncIterator[None]:
        """Wait for a slot, and hold it."""
        await self._take(party)
        try:
            yield
        finally:
            self._give()

    async def _take(self, party: Hashable) -> None:
        if self._free and not self._waiting:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.put(party, turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give()  # it was given just before: the next one takes it
            else:
                self._waiting.remove(party, turn)
            raise

    def _give(self) -> None:
        while self._waiting:
            turn = self._waiting.take()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
