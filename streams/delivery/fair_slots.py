"""Slots that are given to parties in turns, so that a party with many requests does not delay the others."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from streams.delivery.fair_queue import FairQueue

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Hashable


class FairSlots:
    """A number of slots; a free slot goes to the next waiting party, and within a party to its first request.

    A party (a tenant) with one request therefore waits for at most one request of each other party.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: FairQueue[asyncio.Future[None]] = FairQueue()

    @asynccontextmanager
    async def slot(self, party: Hashable) -> AsyncIterator[None]:
        """Wait for a slot, and occupy it in the block."""
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
                self._give()  # the slot was just granted: pass it on
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
