"""What the suite of shared indexes needs of a server, or of a file that stands for one.

An adapter's test supplies `stop`, `start` and `wipe`; `step` where a write takes longer than a turn of the event loop,
and `spoil` where what was put can be lost in part.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from projections.index.adapter import IndexAdapter, IndexConfig
    from projections.index.protocol import Index, IndexEntry, LoadEntries


def no_memories(_tenant: str, _user_id: str) -> list[IndexEntry]:
    """Load what a shard has that holds no memory: words are found nowhere."""
    return []


class IndexStore(ABC):
    """A server that holds nothing yet. Several indexes may be open on it, as several workers have them."""

    def __init__(self, adapter: IndexAdapter, config: IndexConfig) -> None:
        self.adapter, self.config = adapter, config
        self._opened: list[Index] = []

    def open(self, load: LoadEntries = no_memories) -> Index:
        """Return an index as a worker makes it; it is closed with the store."""
        index = self.adapter.make(self.config, load)
        self._opened.append(index)
        return index

    async def close(self) -> None:
        """Close what was opened."""
        for index in self._opened:
            await index.close()

    async def step(self) -> None:
        """Wait about as long as a write takes from one of its steps to the next."""
        await asyncio.sleep(0)

    async def spoil(self, entry: IndexEntry) -> None:  # noqa: B027 - optional: most servers lose nothing in part
        """Lose part of what was put of a memory, as a server may that is killed soon after it acknowledged a put."""

    @abstractmethod
    async def stop(self) -> None:
        """Let the server be away; it keeps what it holds. A file may be locked, or its permission taken away."""

    @abstractmethod
    async def start(self) -> None:
        """Let the server be back."""

    @abstractmethod
    async def wipe(self) -> None:
        """Lose all that the server holds, while it runs. A file may be deleted."""
