"""The next generation of the index: filled beside the one that is searched, until it takes its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projections.index.protocol import IndexUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from projections.index.protocol import Index, IndexGenerations


class NextGeneration:
    """At most one generation that is being built. Whatever is written to the searched one is written to it as well."""

    def __init__(self, searched: Index) -> None:
        """Stand beside the index that is searched."""
        self._searched = searched
        self._index: Index | None = None
        self._number = 0

    async def open(self, generations: IndexGenerations, number: int) -> Index:
        """Make a generation, and write to it from now on. Raises IndexUnavailable."""
        self._index = index = generations.open(number)
        self._number = number
        await index.check()  # this makes it, even if no user has a memory
        return index

    async def write(self, write: Callable[[Index], Awaitable[None]]) -> None:
        """Write to the generation if there is one. Raises IndexUnavailable.

        One that has been deleted is given up instead. That happens to a worker that was frozen when its rebuild was
        given up, and slept through the next one: without this its writes would fail for as long as it lives.
        """
        index = self._index
        if index is None:
            return
        try:
            await write(index)
        except IndexUnavailable:
            if not await self._is_deleted():
                raise
            self._index = None
            await index.close()

    async def drop(self) -> None:
        """Write to the generation no more, whether it is searched by now or was given up."""
        index, self._index = self._index, None
        if index is not None:
            await index.close()

    @property
    def is_open(self) -> bool:
        """Return whether a generation is being written to beside the searched one."""
        return self._index is not None

    async def _is_deleted(self) -> bool:
        generations = self._searched.generations
        return generations is not None and self._number not in (await generations.known())[1]
