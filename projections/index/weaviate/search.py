"""Searching one user's memories: the nearest vectors by Weaviate, the words by the shard's own BM25.

Weaviate's BM25 cannot be had right and fast in a tenant of many users (1.35.2): its weights follow all of them, to
count the memories that have a word it reads every one, and of what it has not yet written to a segment it returns the
oldest that have a word and not the best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from weaviate.classes.query import Filter, MetadataQuery

from projections.index.protocol import Legs
from projections.index.weaviate.collection import (
    SEARCH_SECONDS,
    WeaviateCollection,
    unless_there_is_no_tenant,
    vector_name,
)
from projections.index.weaviate.objects import (
    exactly,
    microseconds,
    near,
    ordered,
    owner_id,
    partition_tenant,
    wanted_of,
)

if TYPE_CHECKING:
    from weaviate.collections.classes.filters import _Filters
    from weaviate.collections.collection import CollectionAsync

    from projections.index.protocol import Hit, IndexQuery
    from projections.index.weaviate.local_search import ShardSearch

_TIES: Final = 16
"""Hits asked for beyond the limit, so that equals at the limit are told apart by id."""
MOST: Final = 10_000
"""What Weaviate answers at most, unless it is configured otherwise."""


class WeaviateSearch:
    """Asks one collection; what a late writer has left may be among the hits, at another version than the shard's."""

    def __init__(self, collection: WeaviateCollection, shard: ShardSearch, partitions: int) -> None:
        """`shard` finds words, and what lies deeper than Weaviate answers."""
        self.collection = collection
        self._shard = shard
        self._partitions = partitions

    async def search(self, query: IndexQuery) -> Legs:
        """Search one user's memories; an unknown user has empty legs."""
        tenant = partition_tenant(query.tenant, query.user_id, self._partitions)
        ours = (await self.collection.open()).with_tenant(tenant)
        keyword = await self._shard.keyword(query)  # it may load: outside the time that Weaviate is given
        nothing: list[Hit] = []
        found = await self.collection.reach(
            unless_there_is_no_tenant(self._nearest(ours, query), nothing), SEARCH_SECONDS
        )
        if found is nothing:
            await self.collection.be_the_same()
        return Legs(keyword, await self._shard.semantic(query) if found is None else tuple(found))

    async def _nearest(self, ours: CollectionAsync, query: IndexQuery) -> list[Hit] | None:
        """Return the semantic leg; None where it is deeper than Weaviate answers."""
        if query.vector is None or query.embedding_model is None or len(query.vector) not in self.collection.dimensions:
            return []
        chosen = _chosen(query, query.embedding_model)
        limit = query.limit + _TIES
        while limit <= MOST:
            answer = await ours.query.near_vector(
                query.vector.tolist(),
                target_vector=vector_name(len(query.vector)),
                limit=limit,
                filters=chosen,
                return_properties=["memory_id", "version"],
                return_metadata=MetadataQuery(distance=True),
            )
            hits = ordered(near(one.properties, one.metadata.distance or 0.0) for one in answer.objects)
            if len(answer.objects) < limit or (
                len(hits) > query.limit and hits[query.limit - 1].score > hits[-1].score
            ):
                return hits[: query.limit]
            limit *= 4
        return None


def _chosen(query: IndexQuery, embedding_model: str) -> _Filters:
    """Return the query's filters, the user's and the model's among them."""
    chosen = Filter.by_property("owner").equal(owner_id(query.tenant, query.user_id).hex)
    chosen &= Filter.by_property("embedding_model").equal(exactly(embedding_model))
    for name, wanted in wanted_of(query).items():
        chosen &= Filter.by_property(name).contains_any(wanted)
    if query.since is not None:
        chosen &= Filter.by_property("occurred_us").greater_or_equal(microseconds(query.since))
    if query.until is not None:
        chosen &= Filter.by_property("occurred_us").less_or_equal(microseconds(query.until))
    return chosen
