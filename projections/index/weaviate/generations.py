"""Generations in Weaviate: collections `Memory_v<generation>`; the alias `Memory` names one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from projections.index.protocol import Index
    from projections.index.weaviate.collection import WeaviateCollection


class WeaviateGenerations:
    """Lists, opens, activates and drops collections through the connection of the index that is searched."""

    def __init__(self, collection: WeaviateCollection, make: Callable[[int], Index]) -> None:
        """Open a generation as an index of its own with `make`."""
        self._collection = collection
        self._make = make

    async def known(self) -> tuple[int, list[int]]:
        """Return the generation that the alias names, and all generations. Raises IndexUnavailable."""
        return await self._collection.generations()

    def open(self, generation: int) -> Index:
        """Return a generation as an index of its own, created at its first use."""
        return self._make(generation)

    async def activate(self, generation: int) -> None:
        """Point the alias to a generation, for every worker. Raises IndexUnavailable."""
        await self._collection.activate(generation)

    async def drop(self, generation: int) -> None:
        """Delete a generation; a missing one is not an error. Raises IndexUnavailable."""
        await self._collection.drop(generation)
