"""The erasure gate: the users who are being erased, and the check for erased words."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from projections.state.evolve import is_cut_off

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from projections.partitions.held import Held
    from projections.partitions.shards import Shards
    from schemas.identity import Owner
    from schemas.log import Position
    from streams.extraction.protocol import Piece


class Erased(Exception):
    """Words of a window were erased meanwhile."""


class ErasureRunning(Exception):
    """The user is being erased already."""


class ErasureGate:
    """Closed for a user who is being erased: no answer to the user's words passes until the erasure has ended."""

    def __init__(self, shards: Shards) -> None:
        self._shards = shards
        self._erasing: dict[Owner, asyncio.Event] = {}

    @asynccontextmanager
    async def erasing(self, owner: Owner) -> AsyncIterator[None]:
        """Hold back the answers to a user's windows until the block has ended.

        Pending requests to a model are answered meanwhile; after the block, an answer to erased words is dropped. The
        surviving words of its window are sent again without them.
        """
        if owner in self._erasing:
            raise ErasureRunning(f"{owner.key.decode()!r} is being erased already: wait for it")
        self._erasing[owner] = over = asyncio.Event()
        try:
            yield
        finally:
            del self._erasing[owner]
            over.set()

    async def wait(self, owner: Owner) -> None:
        """Wait until no erasure of a user is under way."""
        while (erasing := self._erasing.get(owner)) is not None:
            await erasing.wait()

    def passes(self, owner: Owner, pieces: Sequence[Piece]) -> bool:
        """Return whether an answer to these pieces may be appended now: none is erased, and no erasure is under way."""
        return owner not in self._erasing and len(self.surviving(owner, pieces)) == len(pieces)

    def surviving(self, owner: Owner, pieces: Sequence[Piece]) -> list[Piece]:
        """Return the pieces that were not erased."""
        held = self._shards.resolve(owner)
        return [p for p in pieces if p.position is None or not was_erased(held, p.event_id, p.position)]


def was_erased(held: Held, event_id: str, position: Position) -> bool:
    """Return whether an observation is gone: with its user, or with a memory. Raises NotHeld."""
    is_cut = is_cut_off(held.state, position.topic, position.offset)
    return is_cut or held.shard.ledger.is_erased(held.owner, event_id)
