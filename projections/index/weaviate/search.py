"""Search of one user's memories: the nearest vectors by Weaviate, the words by the shard's own BM25.

Weaviate's BM25 is either wrong or slow in a tenant of many users (1.35.2): its weights depend on all users, it reads
every memory to count those that have a word, and from objects not yet written to a segment it returns the oldest that
have a word and not the best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from weaviate.classes.query import Filter, MetadataQuery

from projections.index.protocol import Legs
from projections.index.remote.hits import ordered, semantic_hit
from projections.index.remote.object_ids import owner_id, partition_name
from projections.index.weaviate.collection import SEARCH_SECONDS, WeaviateCollection, unless_missing
from projections.index.weaviate.objects import accepted_values, exactly
from projections.index.weaviate.schema import vector_name
from schemas import telemetry
from schemas.instant import microseconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weaviate.classes.query import FilterReturn
    from weaviate.collections.collection import CollectionAsync

    from projections.index.protocol import Hit, IndexQuery
    from projections.index.remote.local_search import LocalSearch

_TIES: Final = 16
"""The number of hits requested beyond the limit, so that ties at the limit are broken by id."""
MOST: Final = 10_000
"""The most hits that Weaviate returns, unless it is configured otherwise."""
MOST_NAMED: Final = 500
"""The most memories to which Weaviate restricts a search; for more, the hits are filtered here."""


class WeaviateSearch:
    """Searches one collection. Hits may be of a version that a late writer has left: the caller drops them."""

    def __init__(self, collection: WeaviateCollection, local: LocalSearch, partitions: int) -> None:
        """Search words, and more hits than Weaviate returns, with `local`."""
        self.collection = collection
        self._local = local
        self._partitions = partitions

    async def search(self, query: IndexQuery) -> Legs:
        """Search one user's memories; an unknown user has empty legs."""
        tenant = partition_name(query.tenant, query.user_id, self._partitions)
        ours = (await self.collection.open()).with_tenant(tenant)
        keyword = await self._local.keyword(query)  # it may load from the shard, outside of Weaviate's time limit
        nothing: list[Hit] = []
        with telemetry.span("vector"):
            hits = await self.collection.reach(unless_missing(self._nearest(ours, query), nothing), SEARCH_SECONDS)
        if hits is nothing:  # a user without entries so far, or a collection that was emptied
            await self.collection.check_identity()
        return Legs(keyword, await self._local.semantic(query) if hits is None else tuple(hits))

    async def _nearest(self, ours: CollectionAsync, query: IndexQuery) -> list[Hit] | None:
        """Return the semantic leg; None if it needs more hits than Weaviate returns."""
        if query.vector is None or query.embedding_model is None or query.among == frozenset():
            return []
        filters = _filters(query, query.embedding_model)
        limit = query.limit + _TIES
        while limit <= MOST:
            answer = await ours.query.near_vector(
                query.vector.tolist(),
                target_vector=vector_name(len(query.vector)),
                limit=limit,
                filters=filters,
                return_properties=["memory_id", "version"],
                return_metadata=MetadataQuery(distance=True),
            )
            hits = ordered(
                _hit(found.properties, found.metadata.distance)
                for found in answer.objects
                if query.among is None or found.properties["memory_id"] in query.among
            )
            if len(answer.objects) < limit or (
                len(hits) > query.limit and hits[query.limit - 1].score > hits[-1].score
            ):
                return hits[: query.limit]
            limit *= 4
        return None


def _hit(properties: Mapping[str, Any], distance: float | None) -> Hit:
    return semantic_hit(properties["memory_id"], int(properties["version"]), 1.0 - (distance or 0.0))


def _filters(query: IndexQuery, embedding_model: str) -> FilterReturn:
    """Return the query's filters, including those for the user and the model."""
    filters = Filter.by_property("owner").equal(owner_id(query.tenant, query.user_id).hex)
    filters &= Filter.by_property("embedding_model").equal(exactly(embedding_model))
    for name, values in accepted_values(query).items():
        filters &= Filter.by_property(name).contains_any(values)
    if query.since is not None:
        filters &= Filter.by_property("occurred_us").greater_or_equal(microseconds(query.since))
    if query.until is not None:
        filters &= Filter.by_property("occurred_us").less_or_equal(microseconds(query.until))
    if query.among is not None and len(query.among) <= MOST_NAMED:
        filters &= Filter.by_property("memory_id").contains_any(sorted(query.among))
    return filters
