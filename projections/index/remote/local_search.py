"""Local search: the part of a search that the shard answers, because the server holds vectors only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from projections.index.embedded.index import EmbeddedIndex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from projections.index.protocol import Hit, IndexEntry, IndexQuery, LoadEntries

_WORDS_BYTES: Final = 512 * 1024 * 1024
_VECTORS_BYTES: Final = 256 * 1024 * 1024
_NO_VECTOR: Final = np.empty(0, np.float32)


class LocalSearch:
    """The embedded index's tables of users' words, and of their vectors only if a question needs them.

    They are a cache of the shard: loaded at a user's first question, kept up to date by puts and removals, and dropped
    when others need the memory.
    """

    def __init__(self, load: LoadEntries) -> None:
        """Load a user's active memories from the shard with `load(tenant, user_id)`, whose errors are passed on."""
        self._words = EmbeddedIndex(
            lambda tenant, user_id: [_without_vector(entry) for entry in load(tenant, user_id)],
            max_bytes=_WORDS_BYTES,
        )
        self._vectors = EmbeddedIndex(load, max_bytes=_VECTORS_BYTES)

    async def keyword(self, query: IndexQuery) -> Sequence[Hit]:
        """Return the keyword leg."""
        return (await self._words.search(replace(query, vector=None))).keyword if query.tokens else ()

    async def semantic(self, query: IndexQuery) -> Sequence[Hit]:
        """Return the semantic leg, which loads the user's vectors."""
        return (await self._vectors.search(replace(query, tokens=()))).semantic

    async def put(self, entries: Sequence[IndexEntry]) -> None:
        """Keep loaded tables up to date."""
        await self._words.put([_without_vector(entry) for entry in entries])
        await self._vectors.put(entries)

    async def remove(self, tenant: str, user_id: str, memory_ids: Mapping[str, int]) -> None:
        """Keep loaded tables up to date."""
        for tables in (self._words, self._vectors):
            await tables.remove(tenant, user_id, memory_ids)

    def release(self, tenant: str, user_id: str) -> None:
        """Drop a user's tables."""
        for tables in (self._words, self._vectors):
            tables.release(tenant, user_id)

    async def reopen(self) -> None:
        """Drop all tables."""
        for tables in (self._words, self._vectors):
            await tables.reopen()


def _without_vector(entry: IndexEntry) -> IndexEntry:
    return replace(entry, vector=_NO_VECTOR)
