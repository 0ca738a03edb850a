"""The next generation of the index: filled while the present one is searched, until it replaces that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projections.index.changes import write
from projections.index.protocol import IndexUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from projections.index.changes import ChangeReader, Changes
    from projections.index.encoding import Encoding
    from projections.index.protocol import Index, IndexGenerations
    from schemas.identity import Owner


class NextGeneration:
    """The generation that is being built, if any. Every write to the searched generation goes to it as well."""

    def __init__(self, searched: Index, reader: ChangeReader) -> None:
        """Start without a generation; `reader` reads the entries with another encoding's vectors."""
        self._searched = searched
        self._reader = reader
        self._encoding: Encoding | None = None
        """The encoding of its vectors; None for the serving ones."""
        self._index: Index | None = None
        self._number = 0

    async def open(self, generations: IndexGenerations, number: int, encoding: Encoding | None = None) -> Index:
        """Create a generation, and write to it from now on. Raises IndexUnavailable."""
        self._index = index = generations.open(number)
        self._number, self._encoding = number, encoding
        await index.check()  # this creates it, even if no user has a memory
        return index

    async def write(self, batch: Mapping[Owner, Sequence[str]], changes: Changes) -> None:
        """Write a batch to the generation if there is one: these changes, or the same with its own vectors.

        Raises IndexUnavailable, and as the reader.

        A deleted generation is given up instead. That happens to a worker that was frozen when its rebuild was given
        up, and during the whole next one: otherwise its writes would fail for as long as it lives.
        """
        index = self._index
        if index is None:
            return
        if self._encoding is not None:
            changes = await self._reader.read(batch, self._encoding)
        try:
            await write(index, changes)
        except IndexUnavailable:
            if not await self._is_deleted():
                raise
            self._index = None
            await index.close()

    async def drop(self) -> None:
        """Stop writing to the generation, whether it is searched by now or was given up."""
        index, self._index, self._encoding = self._index, None, None
        if index is not None:
            await index.close()

    @property
    def is_open(self) -> bool:
        """Return whether a generation other than the searched one is being written to."""
        return self._index is not None

    async def _is_deleted(self) -> bool:
        generations = self._searched.generations
        return generations is not None and self._number not in (await generations.known())[1]
