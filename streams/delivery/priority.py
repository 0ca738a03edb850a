"""Who goes first on the one event loop: a caller who waits for the log goes before what the log already holds."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_SECONDS: Final = 0.02
"""Agents give way for so long at once, and then work on: callers without end slow them down, and never stop them."""

LINGER_SECONDS: Final = 0.008
"""Who brought a batch has the event loop a little longer: the next one is often on its way."""
BATCH_RECORDS: Final = 100
"""Fewer are no batch: single events may come so often that the agents would always give way, while nobody works."""


class AppendPriority:
    """Counts who is first; everyone else gives way before each turn."""

    def __init__(self, *, longest_seconds: float = LONGEST_SECONDS, linger_seconds: float = LINGER_SECONDS) -> None:
        """Begin with nobody first."""
        self._longest_seconds = longest_seconds
        self._linger_seconds = linger_seconds
        self._first = 0
        self._free = asyncio.Event()
        self._free.set()
        self._leaving: asyncio.TimerHandle | None = None

    @contextmanager
    def first(self, records: int) -> Iterator[None]:
        """Go first within this, with so many records: hold it only while nothing that gives way is waited for."""
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
        """Let others have the event loop; while it is not free, for LONGEST_SECONDS or until it is."""
        await asyncio.sleep(0)
        if not self._free.is_set():
            try:
                async with asyncio.timeout(self._longest_seconds):
                    await self._free.wait()
            except TimeoutError:
                return
