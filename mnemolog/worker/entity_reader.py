"""Entities of users, read by rules of up to 10,000 memories: one user at a time, tenants in turn, and remembered."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, TypeAlias

from projections.queries.entities import Entity, entities
from streams.delivery.fair_slots import FairSlots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from projections.state.memory import Memory
    from schemas.identity import Owner

MOST_KNOWN: Final = 64
"""Results that are kept: pages of one list, and of an entity in it, ask for the same."""

_Read: TypeAlias = "tuple[Owner, tuple[tuple[str, int], ...]]"
"""Whose memories were read, and which versions of which."""


class EntityReader:
    """Reads what memories name. Twelve requests of one tenant had held up those of others for ten seconds."""

    def __init__(self, names: Callable[[Owner, Iterable[Memory]], list[Entity]] = entities) -> None:
        """`names` reads what memories name, in a thread."""
        self._names = names
        self._turns = FairSlots(1)
        self._known: OrderedDict[_Read, list[Entity]] = OrderedDict()

    async def read(self, owner: Owner, memories: Sequence[Memory]) -> list[Entity]:
        """Return the entities that memories name, as `entities` does; the same memories are read once."""
        asked = owner, tuple((memory.memory_id, memory.version) for memory in memories)
        if asked not in self._known:
            async with self._turns.slot(owner.tenant):
                if asked not in self._known:
                    self._known[asked] = await asyncio.to_thread(self._names, owner, memories)
        self._known.move_to_end(asked)
        found = self._known[asked]
        while len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)
        return found
