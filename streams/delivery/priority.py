"""Priority on the event loop: callers who wait for an append precede the agents, whose records are safe in the log."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_SECONDS: Final = 0.02
"""The longest that an agent gives way: an endless stream of callers slows the agents down, but never stops them."""

LINGER_SECONDS: Final = 0.008
"""How long a caller that brought a batch keeps the event loop: its next batch is often on its way."""
BATCH_RECORDS: Final = 100
"""The fewest records of a batch: frequent single events must not make the agents give way all the time."""
LONGEST_TURN_SECONDS: Final = 0.001
"""How long an agent runs before it gives way."""


class AppendPriority:
    """Counts the callers with priority; agents give way to them before each of their own turns."""

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
        """Have priority inside this block, which appends a number of records.

        Do not wait for an agent inside the block, because agents give way to it.
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
        """Yield the event loop for one turn, and then for at most LONGEST_SECONDS while callers have priority."""
        await asyncio.sleep(0)
        if not self._free.is_set():
            try:
                async with asyncio.timeout(self._longest_seconds):
                    await self._free.wait()
            except TimeoutError:
                return
