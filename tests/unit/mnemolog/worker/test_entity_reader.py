"""Entities are read once of the same memories, and one user at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mnemolog.worker.entity_reader import MOST_KNOWN, EntityReader
from schemas.identity import Owner

if TYPE_CHECKING:
    from collections.abc import Iterable

    from projections.queries.entities import Entity
    from projections.state.memory import Memory


class Named:
    """As much of a memory as is looked at here."""

    def __init__(self, memory_id: str, version: int = 1) -> None:
        self.memory_id, self.version = memory_id, version


async def test_the_same_memories_are_read_once_and_changed_ones_anew():
    read: list[Owner] = []

    def names(owner: Owner, _: Iterable[Memory]) -> list[Entity]:
        read.append(owner)
        return []

    reader, owner = EntityReader(names), Owner("a", "u")
    one: Any = [Named("m1")]
    await asyncio.gather(*(reader.read(owner, one) for _ in range(12)))
    assert len(read) == 1
    changed: Any = [Named("m1", 2)]
    await reader.read(owner, changed)
    await reader.read(Owner("b", "u"), one)
    assert len(read) == 3
    for number in range(2 * MOST_KNOWN):
        some: Any = [Named(f"m{number}")]
        await reader.read(owner, some)
    assert len(reader._known) == MOST_KNOWN
