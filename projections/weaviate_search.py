"""Searching Weaviate: both legs fetched and scored for one user at a time, by our own BM25 and by the cosine."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from weaviate.classes.aggregate import Metrics
from weaviate.classes.query import Filter, MetadataQuery

from projections.bm25 import Statistics
from projections.index import Hit, Legs
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
    weights,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from weaviate.collections.classes.filters import _Filters
    from weaviate.collections.collection import CollectionAsync

    from projections.index import IndexQuery

_FOUND: Final = ["owner", "memory_id", "version", "tokens", "occurred_us", *COLUMNS]
_TIES: Final = 16
"""Hits asked for beyond the limit, so that equals at the limit are told apart by id."""
_CANDIDATES: Final = 400
"""With fewer memories that have a word of the query all are looked at, and the keyword leg is exact."""
_LARGE_KNOWN: Final = 10_000
_MOST: Final = 10_000
"""What Weaviate answers at most, unless it is configured otherwise."""


class WeaviateSearch:
    """Asks one collection; what a late writer has left may be among the hits, at another version than the shard's."""

    def __init__(self, collection: WeaviateCollection, partitions: int) -> None:
        self.collection = collection
        self._partitions = partitions
        self._large: frozenset[tuple[str, str]] = frozenset()
        """Users for whom all memories with a word were too many before; a hint, which saves asking in vain."""

    async def search(self, query: IndexQuery) -> Legs:
        """Search one user's memories; an unknown user has empty legs."""
        tenant = partition_tenant(query.tenant, query.user_id, self._partitions)
        ours = (await self.collection.open()).with_tenant(tenant)
        legs = asyncio.gather(self._keyword(ours, query), self._semantic(ours, query))
        nothing: tuple[tuple[Hit, ...], tuple[Hit, ...]] = ((), ())
        found = await self.collection.reach(unless_there_is_no_tenant(legs, nothing), SEARCH_SECONDS)
        if found is nothing:
            await self.collection.be_the_same()
        return Legs(*found)

    async def _keyword(self, ours: CollectionAsync, query: IndexQuery) -> tuple[Hit, ...]:
        """Score by our own BM25 what Weaviate finds: its weights would follow the other users of the tenant."""
        before = mark(query.tenant, query.user_id)
        asked = [before + token for token in query.tokens]
        user = (query.tenant, query.user_id)
        if not asked:
            return ()
        if user not in self._large:
            found, statistics = await asyncio.gather(_all(ours, asked), _statistics(ours, query))
            if len(found) < _CANDIDATES:
                words = [set(one["tokens"].split()) for one in found]
                holding = {token: sum(token in has for has in words) for token in asked}
                return hits_of(found, query, statistics, holding)
            self._large = (self._large if len(self._large) < _LARGE_KNOWN else frozenset()) | {user}
        statistics, counts = await asyncio.gather(
            _statistics(ours, query), asyncio.gather(*(_count(ours, token) for token in (None, *asked)))
        )
        if statistics.rows < _CANDIDATES:
            self._large -= {user}
        holding = {token: count for token, count in zip(asked, counts[1:], strict=True) if count}
        found = await _best(ours, query, weights(holding, statistics.rows, counts[0])) if holding else []
        return hits_of(found, query, statistics, holding)

    async def _semantic(self, ours: CollectionAsync, query: IndexQuery) -> tuple[Hit, ...]:
        if query.vector is None or query.embedding_model is None or len(query.vector) not in self.collection.dimensions:
            return ()
        chosen = _chosen(query) & Filter.by_property("embedding_model").equal(exactly(query.embedding_model))
        limit = query.limit + _TIES
        while True:
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


async def _all(ours: CollectionAsync, asked: Sequence[str]) -> list[dict[str, Any]]:
    """Return the memories that have one of the words, if they are fewer than _CANDIDATES."""
    answer = await ours.query.bm25(
        " ".join(asked), query_properties=["tokens"], limit=_CANDIDATES, return_properties=_FOUND
    )
    return [dict(one.properties) for one in answer.objects]


async def _best(ours: CollectionAsync, query: IndexQuery, weights: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the memories that score best, some more than the limit.

    Weaviate scores all before we cut: asked for fewer than there are, it misses some of the best (1.35.2, of what it
    has not yet written to a segment).
    """
    repeated = " ".join(token for token, times in weights.items() for _ in range(times))
    scored = await ours.query.bm25(
        repeated,
        query_properties=["tokens"],
        limit=_MOST,
        filters=_chosen(query),
        return_properties=[],
        return_metadata=MetadataQuery(score=True),
    )
    first = sorted(scored.objects, key=lambda one: -(one.metadata.score or 0.0))[: query.limit + query.limit // 4]
    if not first:
        return []
    chosen = Filter.by_id().contains_any([one.uuid for one in first])
    answer = await ours.query.fetch_objects(filters=chosen, limit=len(first), return_properties=_FOUND)
    return [dict(one.properties) for one in answer.objects]


async def _statistics(ours: CollectionAsync, query: IndexQuery) -> Statistics:
    """Return how many memories and tokens the user has."""
    lengths = Metrics("length").integer(sum_=True)
    counted = await ours.aggregate.over_all(filters=_of_user(query), return_metrics=lengths)
    total: Any = counted.properties.get("length")
    return Statistics(counted.total_count or 0, int(total.sum_ or 0) if total else 0)


async def _count(ours: CollectionAsync, token: str | None) -> int:
    """Return how many memories hold a token; None: how many there are."""
    chosen = None if token is None else Filter.by_property("tokens").contains_any([token])
    return (await ours.aggregate.over_all(filters=chosen)).total_count or 0


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
