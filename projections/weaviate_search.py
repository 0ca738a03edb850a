"""Searching Weaviate for one user at a time: both legs fetched, and scored by our own BM25 and by the cosine.

Of a user with more than a few memories the words are weighed at the shard. Weaviate's weights follow the other users of
the tenant, it reads all memories that have a word to count them, and of those that it has not yet written to a segment
it returns the oldest and not the best (1.35.2).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from weaviate.classes.aggregate import Metrics
from weaviate.classes.query import Filter, MetadataQuery

from projections.bm25 import Statistics
from projections.index import Legs
from projections.weaviate_collection import (
    SEARCH_SECONDS,
    WeaviateCollection,
    unless_there_is_no_tenant,
    vector_name,
)
from projections.weaviate_objects import (
    COLUMNS,
    exactly,
    hits_of,
    mark,
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

    from projections.index import Hit, IndexQuery
    from projections.large_users import LargeUsers

Leg: TypeAlias = "tuple[Hit, ...]"
_FOUND: Final = ["owner", "memory_id", "version", "tokens", "occurred_us", *COLUMNS]
_TIES: Final = 16
"""Hits asked for beyond the limit, so that equals at the limit are told apart by id."""
FEW: Final = 64
"""Up to so many memories of a user the keyword leg is Weaviate's, which returns all that have one of the words."""
_MOST: Final = 10_000
"""What Weaviate answers at most, unless it is configured otherwise."""


class WeaviateSearch:
    """Asks one collection; what a late writer has left may be among the hits, at another version than the shard's."""

    def __init__(self, collection: WeaviateCollection, large: LargeUsers, partitions: int, few: int) -> None:
        """`large` answers for users with more than `few` memories, and what is deeper than Weaviate goes."""
        self.collection = collection
        self._large = large
        self._partitions = partitions
        self._few = few

    async def search(self, query: IndexQuery) -> Legs:
        """Search one user's memories; an unknown user has empty legs."""
        tenant = partition_tenant(query.tenant, query.user_id, self._partitions)
        ours = (await self.collection.open()).with_tenant(tenant)
        legs = asyncio.gather(self._semantic(ours, query), self._keyword(ours, query))
        nothing: tuple[Leg, Leg] = ((), ())
        found = await self.collection.reach(unless_there_is_no_tenant(legs, nothing), SEARCH_SECONDS)
        if found is nothing:
            await self.collection.be_the_same()
        semantic, keyword = found
        # what has to be loaded first is, outside the time that Weaviate is given
        return Legs(
            keyword=await self._large.keyword(query) if keyword is None else keyword,
            semantic=await self._large.semantic(query) if semantic is None else semantic,
        )

    async def _keyword(self, ours: CollectionAsync, query: IndexQuery) -> Leg | None:
        """Return the leg; None where the user's words have to be loaded for it."""
        if not query.tokens:
            return ()
        if self._large.are_loaded(query.tenant, query.user_id):
            return await self._large.keyword(query)
        found, statistics = await asyncio.gather(_all(ours, query, self._few), _statistics(ours, query))
        return hits_of(found, query, statistics) if statistics.rows <= self._few else None

    async def _semantic(self, ours: CollectionAsync, query: IndexQuery) -> Leg | None:
        """Return the leg; None where it is deeper than Weaviate answers."""
        if query.vector is None or query.embedding_model is None or len(query.vector) not in self.collection.dimensions:
            return ()
        chosen = _chosen(query) & Filter.by_property("embedding_model").equal(exactly(query.embedding_model))
        limit = query.limit + _TIES
        while limit <= _MOST:
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


async def _all(ours: CollectionAsync, query: IndexQuery, few: int) -> list[dict[str, Any]]:
    """Return the memories that have one of the words, if the user has but a few."""
    before = mark(query.tenant, query.user_id)
    answer = await ours.query.bm25(
        " ".join(before + token for token in query.tokens),
        query_properties=["tokens"],
        limit=max(1, few),
        return_properties=_FOUND,
    )
    return [dict(one.properties) for one in answer.objects]


async def _statistics(ours: CollectionAsync, query: IndexQuery) -> Statistics:
    """Return how many memories and tokens the user has."""
    lengths = Metrics("length").integer(sum_=True)
    counted = await ours.aggregate.over_all(filters=_of_user(query), return_metrics=lengths)
    total: Any = counted.properties.get("length")
    return Statistics(counted.total_count or 0, int(total.sum_ or 0) if total else 0)


def _of_user(query: IndexQuery) -> _Filters:
    return Filter.by_property("owner").equal(owner_id(query.tenant, query.user_id).hex)


def _chosen(query: IndexQuery) -> _Filters:
    """Return the query's filters, the user's among them."""
    chosen = _of_user(query)
    for name, wanted in wanted_of(query).items():
        chosen &= Filter.by_property(name).contains_any(wanted)
    if query.since is not None:
        chosen &= Filter.by_property("occurred_us").greater_or_equal(microseconds(query.since))
    if query.until is not None:
        chosen &= Filter.by_property("occurred_us").less_or_equal(microseconds(query.until))
    return chosen
