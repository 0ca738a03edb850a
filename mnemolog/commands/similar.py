"""Similar memories: those that say nearly the same as another one, which the answer to a new memory lists."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from projections.embedding.choice import BUILTIN
from projections.embedding.stored_vector import vector_of
from projections.index.protocol import IndexQuery, IndexUnavailable
from projections.shard.errors import ShardUnavailable
from projections.state.memory import ACTIVE

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from projections.partitions.shards import Shards
    from projections.queries.search import SearchedIndex
    from projections.state.memory import Memory
    from schemas.identity import Owner

MOST: Final = 3
BUILTIN_COSINE: Final = 0.5
"""The least cosine of two similar memories by the built-in encoder.

"The user is vegetarian." and "The user eats no meat." have 0.67, "User has a dog." and "User's dog is called Rex."
0.64, "User lives in Berlin." and "User likes tea." 0.32.
"""
OTHER_COSINE: Final = 0.7
"""The least cosine by other encoders, which were not measured here and place texts nearer to each other."""
_LOOKED_AT: Final = 50
"""The nearest memories that are filtered for those that may be shown."""


def least_cosine(model: str) -> float:
    """Return the least cosine of two similar memories, by the encoder of their vectors."""
    return BUILTIN_COSINE if model.rpartition(",")[2] == BUILTIN else OTHER_COSINE


class SimilarMemories:
    """Finds the memories of a user that say nearly the same as one of them."""

    def __init__(self, shards: Shards, index: SearchedIndex) -> None:
        """Read memories from the shards, and find the nearest with the index."""
        self._shards = shards
        self._index = index

    async def of(self, owner: Owner, memory: Memory, now: datetime, is_shown: Callable[[Memory], bool]) -> list[Memory]:
        """Return up to MOST active memories of the same encoder that may be shown, the nearest first. Raises NotHeld.

        Returns an empty list if the index or the shard's file is unavailable, so that the caller can answer anyway.
        """
        vector = self._shards.of(owner).ledger.vectors(owner).get(memory.memory_id)
        if vector is None:
            return []
        query = IndexQuery(
            tenant=owner.tenant,
            user_id=owner.user_id,
            tokens=(),
            vector=vector_of(vector),
            embedding_model=memory.embedding_model,
            limit=_LOOKED_AT,
        )
        try:
            legs = await self._index.search(owner, query)
        except (IndexUnavailable, ShardUnavailable):
            return []
        least = least_cosine(memory.embedding_model)
        known = self._shards.state(owner).memories
        near = (known[hit.memory_id] for hit in legs.semantic if hit.score >= least and hit.memory_id in known)
        others = (one for one in near if one.memory_id != memory.memory_id and one.status_at(now) == ACTIVE)
        return list(islice(filter(is_shown, others), MOST))
