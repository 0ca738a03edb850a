"""Priority on the one event loop: callers who wait for an append go before the agents, whose records are in the log."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_SECONDS: Final = 0.02
"""An agent gives way at most so long: an endless stream of callers slows the agents down, but never stops them."""

LINGER_SECONDS: Final = 0.008
"""How long a caller that brought a batch keeps the event loop: its next batch is often on its way."""
BATCH_RECORDS: Final = 100
"""Fewer records are no batch: single events may come so often that agents would give way all the time to no work."""
LONGEST_TURN_SECONDS: Final = 0.001
"""After so long an agent lets the event loop run something else."""


class AppendPriority:
    """Counts the callers that go first; agents give way before each of their turns."""

    def __init__(self, *, longest_seconds: float = LONGEST_SECONDS, linger_seconds: float = LINGER_SECONDS) -> None:
        """`longest_seconds`: the longest that agents give way; `linger_seconds`: how long a batch keeps its turn."""
        self._longest_seconds = longest_seconds
        self._linger_seconds = linger_seconds
        self._first = 0
        self._free = asyncio.Event()
        self._free.set()
        self._leaving: asyncio.TimerHandle | None = None

    @contextmanager
    def first(self, records: int) -> Iterator[None]:
        """Go first inside this block, with so many records.

        Do not wait for an agent inside it: the agent gives way to the block.
        """
        self._first += 1
        self._free.clear()
        if self._leaving is not None:
            self._leaving.cancel()
        try:
            yield
        finally:
            self._first -= 1
            if not self._first and records >= BATCH_RECORDS:
                self._leaving = asyncio.get_running_loop().call_later(self._linger_seconds, self._free.set)
            elif not self._first:
                self._free.set()

    async def give_way(self) -> None:
        """Give the event loop to others: for one turn, and while callers go first for at most LONGEST_SECONDS."""
        await asyncio.sleep(0)
        if not self._free.is_set():
            try:
                async with asyncio.timeout(self._longest_seconds):
                    await self._free.wait()
            except TimeoutError:
                return
