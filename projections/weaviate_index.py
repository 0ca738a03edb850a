"""The index in Weaviate: a Weaviate tenant for each partition, both legs fetched and scored for one user at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, TypeVar

from weaviate.classes.aggregate import Metrics
from weaviate.classes.data import DataObject
from weaviate.classes.query import Filter, MetadataQuery
from weaviate.exceptions import WeaviateBaseError

from projections.bm25 import Statistics
from projections.index import Hit, IndexUnavailable, Legs
from projections.weaviate_collection import SEARCH_SECONDS, WRITE_SECONDS, WeaviateCollection, vector_name
from projections.weaviate_generations import WeaviateGenerations
from projections.weaviate_objects import (
    COLUMNS,
    by_tenant,
    exactly,
    hits_of,
    id_of,
    mark,
    microseconds,
    near,
    object_id,
    ordered,
    owner_id,
    partition_tenant,
    properties,
    wanted_of,
    weights,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence
    from uuid import UUID

    from weaviate.collections.classes.filters import _Filters
    from weaviate.collections.collection import CollectionAsync

    from projections.index import IndexEntry, IndexQuery
    from projections.weaviate_address import WeaviateAddress

_FOUND: Final = ["owner", "memory_id", "version", "tokens", "occurred_us", *COLUMNS]
_BATCH: Final = 500
_ATTEMPTS: Final = 3
_PAUSE_SECONDS: Final = 0.2
_TIES: Final = 16
"""Hits asked for beyond the limit, so that equals at the limit are told apart by id."""
_CANDIDATES: Final = 400
"""With fewer memories that have a word of the query all are looked at, and the keyword leg is exact."""
_LARGE_KNOWN: Final = 10_000
_MOST: Final = 10_000
"""What Weaviate answers at most, unless it is configured otherwise."""
_T = TypeVar("_T")


class WeaviateIndex:
    """Holds every user's active memories; several workers may share it, each writing for its own users.

    Versions are compared before a write, and one worker writes for a user at a time (for everybody's memories all do,
    the same); a worker that has lost the user and does not know it yet may still write an older version, whose hits the
    reader drops and has put again.
    """

    def __init__(
        self,
        address: WeaviateAddress,
        *,
        partitions: int,
        api_key: str | None = None,
        generation: int | None = None,
    ) -> None:
        """Connect at first use. `generation` None: the one that is searched."""
        self.collection = WeaviateCollection(address, api_key, generation)
        self._partitions = partitions
        self._large: frozenset[tuple[str, str]] = frozenset()
        """Users for whom all memories with a word were too many before; a hint, which saves asking in vain."""

    @property
    def kept_as(self) -> str:
        """Weaviate's address: another Weaviate holds other things."""
        return str(self.collection.address)

    def follows(self, tenant: str, user_id: str) -> bool:  # noqa: ARG002 - the protocol's
        """Tell that every user's changes must be put and removed."""
        return True

    @property
    def generations(self) -> WeaviateGenerations:
        """The collections there are."""
        return WeaviateGenerations(self.collection, self._generation)

    def _generation(self, generation: int) -> WeaviateIndex:
        address, api_key = self.collection.address, self.collection.api_key
        return WeaviateIndex(address, partitions=self._partitions, api_key=api_key, generation=generation)

    async def reopen(self) -> None:
        """Look again at which collection the alias names."""
        self.collection.forget()

    def let_go(self, tenant: str, user_id: str) -> None:
        """Do nothing: the next worker finds the user's memories here."""

    async def check(self) -> None:
        """Raise IndexUnavailable unless Weaviate is ready."""
        await self.collection.check()

    async def close(self) -> None:
        """Close the connections."""
        await self.collection.close()

    async def put(self, entries: Sequence[IndexEntry]) -> None:
        """Store each entry unless the index holds the same memory at a later version.

        The same version is deleted and written again: a Weaviate that was killed within about 3 s of the first time
        holds the object without its vector, and what is equal to the object it has, it does not write.
        """
        for tenant, some in by_tenant(entries, self._partitions, _BATCH):
            held = await self._versions(tenant, [id_of(entry) for entry in some])
            await self._delete(tenant, [id_of(entry) for entry in some if held.get(id_of(entry)) == entry.version])
            await self._write(tenant, [entry for entry in some if held.get(id_of(entry), -1) <= entry.version])

    async def remove(self, tenant: str, user_id: str, memory_ids: Sequence[str]) -> None:
        """Drop memories; unknown ids are no error."""
        ids = [object_id(tenant, user_id, memory_id) for memory_id in memory_ids]
        await self._delete(partition_tenant(tenant, user_id, self._partitions), ids)

    async def search(self, query: IndexQuery) -> Legs:
        """Search one user's memories; an unknown user has empty legs."""
        tenant = partition_tenant(query.tenant, query.user_id, self._partitions)
        ours = (await self.collection.open()).with_tenant(tenant)
        legs = asyncio.gather(self._keyword(ours, query), self._semantic(ours, query))
        nothing: tuple[tuple[Hit, ...], tuple[Hit, ...]] = ((), ())
        return Legs(*await self.collection.reach(_unless_there_is_no_tenant(legs, nothing), SEARCH_SECONDS))

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
            if len(hits) < limit or hits[query.limit - 1].score > hits[-1].score:
                return hits[: query.limit]
            limit *= 4

    async def _versions(self, tenant: str, ids: Sequence[UUID]) -> dict[UUID, int]:
        """Return which version is held of each object that there is."""
        ours = (await self.collection.open()).with_tenant(tenant)
        asking = ours.query.fetch_objects(
            filters=Filter.by_id().contains_any(list(ids)), limit=len(ids), return_properties=["version"]
        )
        answer = await self.collection.reach(_unless_there_is_no_tenant(asking, None), WRITE_SECONDS)
        return {one.uuid: int(str(one.properties["version"])) for one in answer.objects} if answer else {}

    async def _write(self, tenant: str, entries: Sequence[IndexEntry]) -> None:
        """Write entries; those that are refused are tried again. Raises IndexUnavailable when some remain."""
        await self.collection.make_room(len(entry.vector) for entry in entries)
        ours = (await self.collection.open()).with_tenant(tenant)
        left, refusal = [_object(entry) for entry in entries], ""
        for attempt in range(_ATTEMPTS):
            if not left:
                return
            await asyncio.sleep(attempt * _PAUSE_SECONDS)
            answer = await self.collection.reach(ours.data.insert_many(left), WRITE_SECONDS)
            refusal = next((error.message for error in answer.errors.values()), "")
            left = [left[number] for number in sorted(answer.errors)]
        if left:
            detail = f"refuses {len(left)} of {len(entries)} memories: {refusal}"
            raise IndexUnavailable(f"{self.collection.address} {detail}")

    async def _delete(self, tenant: str, ids: Sequence[UUID]) -> None:
        for start in range(0, len(ids), _BATCH):
            ours = (await self.collection.open()).with_tenant(tenant)
            chosen = Filter.by_id().contains_any(list(ids[start : start + _BATCH]))
            deleting = _unless_there_is_no_tenant(ours.data.delete_many(where=chosen), None)
            await self.collection.reach(deleting, WRITE_SECONDS)


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


async def _unless_there_is_no_tenant(answer: Awaitable[_T], empty: _T) -> _T:
    """Return the answer; `empty` where nobody of the partition has been put yet."""
    try:
        return await answer
    except WeaviateBaseError as error:
        if "tenant not found" in str(error):
            return empty
        raise


async def _ids(ours: CollectionAsync) -> list[UUID]:
    """Return the id of every object of a Weaviate tenant."""
    return [one.uuid async for one in ours.iterator(return_properties=[])]


def _object(entry: IndexEntry) -> DataObject[Any, None]:
    vector = {vector_name(len(entry.vector)): entry.vector.tolist()}
    return DataObject(uuid=id_of(entry), properties=properties(entry), vector=vector)


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
