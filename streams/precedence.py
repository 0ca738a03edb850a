"""Who goes first on the one event loop: a caller who waits for the log goes before what the log already holds."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_SECONDS: Final = 0.02
"""Agents give way for so long at once, and then work on: callers without end slow them down, and never stop them."""


class Precedence:
    """Counts who is first; everyone else gives way before each turn."""

    def __init__(self) -> None:
        """Begin with nobody first."""
        self._first = 0
        self._free = asyncio.Event()
        self._free.set()

    @contextmanager
    def first(self) -> Iterator[None]:
        """Go first within this: hold it only while nothing that gives way is waited for."""
        self._first += 1
        self._free.clear()
        try:
            yield
        finally:
            self._first -= 1
            if not self._first:
                self._free.set()

    async def give_way(self) -> None:
        """Let others have the event loop; while somebody is first, for LONGEST_SECONDS or until all are done."""
        await asyncio.sleep(0)
        if self._first:
            try:
                async with asyncio.timeout(LONGEST_SECONDS):
                    await self._free.wait()
            except TimeoutError:
                return
