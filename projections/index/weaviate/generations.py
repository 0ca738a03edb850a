"""Generations in Weaviate: collections `Memory_v<generation>`, one of which the alias `Memory` names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from projections.index.protocol import Index
    from projections.index.weaviate.collection import WeaviateCollection


class WeaviateGenerations:
    """Lists, opens, activates and drops collections through the connection of the index that is searched."""

    def __init__(self, collection: WeaviateCollection, make: Callable[[int], Index]) -> None:
        """`make` returns a generation as an index of its own."""
        self._collection = collection
        self._make = make

    async def known(self) -> tuple[int, list[int]]:
        """Return the generation that the alias names, and all there are. Raises IndexUnavailable."""
        return await self._collection.generations()

    def open(self, generation: int) -> Index:
        """Return a generation as an index of its own, made when it is first used."""
        return self._make(generation)

    async def activate(self, generation: int) -> None:
        """Let the alias name a generation, for every worker. Raises IndexUnavailable."""
        await self._collection.activate(generation)

    async def drop(self, generation: int) -> None:
        """Delete a generation; one that does not exist is no error. Raises IndexUnavailable."""
        await self._collection.drop(generation)
