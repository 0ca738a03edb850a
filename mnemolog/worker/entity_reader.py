"""Entities of users, read by rules from up to 10,000 memories: one user at a time, tenants in turn, with a cache."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeAlias

from projections.queries.entities import Entity, entities
from schemas.bounded_cache import BoundedCache
from streams.delivery.fair_slots import FairSlots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from projections.state.memory import Memory
    from schemas.identity import Owner

MOST_KNOWN: Final = 64
"""The most results that are cached: pages of a list, and requests for an entity in it, need the same result."""

_Read: TypeAlias = "tuple[Owner, tuple[tuple[str, int], ...]]"
"""The owner of the memories that were read, and the id and version of each."""


class EntityReader:
    """Reads the entities that memories name, one request at a time.

    Without these turns, twelve requests of one tenant delayed those of others by ten seconds.
    """

    def __init__(self, names: Callable[[Owner, Iterable[Memory]], list[Entity]] = entities) -> None:
        """`names` returns the entities that memories name; it runs in a thread."""
        self._names = names
        self._turns = FairSlots(1)
        self._known = BoundedCache[_Read, list[Entity]](MOST_KNOWN)

    async def read(self, owner: Owner, memories: Sequence[Memory]) -> list[Entity]:
        """Return the entities that memories name, as `entities` does; a repeated request is served from the cache."""
        asked = owner, tuple((memory.memory_id, memory.version) for memory in memories)
        if (found := self._known.get(asked)) is None:
            async with self._turns.slot(owner.tenant):
                if (found := self._known.get(asked)) is None:
                    found = await asyncio.to_thread(self._names, owner, memories)
                    self._known.put(asked, found)
        return found
