"""The index in Weaviate: vectors only, in one Weaviate tenant for each partition, safe against late writers.

Weaviate has no conditional write. So every object is one copy of one version of a memory, and is never overwritten
with other content. A writer puts the next copy first, and then deletes, by id, the objects that it had read before and
that are not newer than its own version. A writer that froze between two of these steps, lost the partition and woke up
deletes nothing that was put meanwhile, and its own copy is an extra one: the reader drops such a hit, whose version is
not the shard's, and queues the memory again. The last copy of a version is never deleted in favour of the same version:
a writer that deletes a copy has put a later one.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from weaviate.classes.data import DataObject
from weaviate.classes.query import Filter
from weaviate.exceptions import WeaviateInsertManyAllFailedError

from projections.index.protocol import IndexUnavailable
from projections.index.remote.batches import by_partition
from projections.index.remote.local_search import LocalSearch
from projections.index.remote.object_ids import object_id, owner_id, partition_name
from projections.index.weaviate.collection import WRITE_SECONDS, WeaviateCollection, unless_missing
from projections.index.weaviate.generations import WeaviateGenerations
from projections.index.weaviate.objects import object_properties
from projections.index.weaviate.schema import vector_name
from projections.index.weaviate.search import MOST, WeaviateSearch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from weaviate.collections.collection import CollectionAsync

    from projections.index.protocol import IndexEntry, IndexQuery, Legs, LoadEntries
    from projections.index.weaviate.address import WeaviateAddress

_BATCH: Final = 500
_ATTEMPTS: Final = 3
_RETRY_PAUSE_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True)
class _Held:
    """An object in Weaviate."""

    uuid: UUID
    version: int
    copy: int


class WeaviateIndex:
    """Holds the vectors of every user's active memories; several workers share it, each writing for its own users.

    All workers write the same objects of global memories.
    """

    def __init__(
        self,
        address: WeaviateAddress,
        load: LoadEntries,
        *,
        partitions: int,
        api_key: str | None = None,
        generation: int | None = None,
        retry_pause_seconds: float = _RETRY_PAUSE_SECONDS,
    ) -> None:
        """Connect at first use, to a generation or, if that is None, to the one that is searched.

        `load` reads the shard, where words are searched. A write that Weaviate refuses is tried again after the pause,
        and once more after twice the pause.
        """
        self.collection = WeaviateCollection(address, api_key, generation)
        self._load = load
        self._partitions = partitions
        self._local = LocalSearch(load)
        self._retry_pause_seconds = retry_pause_seconds
        self._search = WeaviateSearch(self.collection, self._local, partitions)

    @property
    def outlives_process(self) -> bool:
        """Return True: everything that is put outlives this process."""
        return True

    async def identity(self) -> str:
        """Return Weaviate's address and the identity of its contents. Raises IndexUnavailable."""
        await self.collection.open()
        return f"{self.collection.address} {self.collection.identity}"

    def needs_changes(self, tenant: str, user_id: str) -> bool:  # noqa: ARG002 - the protocol's
        """Return True, for every user."""
        return True

    @property
    def generations(self) -> WeaviateGenerations:
        """The generations, each a collection."""
        return WeaviateGenerations(self.collection, self._generation)

    def _generation(self, generation: int) -> WeaviateIndex:
        return WeaviateIndex(
            self.collection.address,
            self._load,
            partitions=self._partitions,
            api_key=self.collection.api_key,
            generation=generation,
            retry_pause_seconds=self._retry_pause_seconds,
        )

    async def reopen(self) -> None:
        """Resolve the alias again at the next use; drop all words and vectors here."""
        self.collection.forget()
        await self._local.reopen()

    def release(self, tenant: str, user_id: str) -> None:
        """Drop the user's words and vectors here; the next worker finds the vectors in Weaviate."""
        self._local.release(tenant, user_id)

    async def check(self) -> None:
        """Raise IndexUnavailable unless Weaviate is ready; create a lost collection anew, and reread the identity."""
        await self.collection.check()

    async def close(self) -> None:
        """Close the connections."""
        await self.collection.close()

    async def search(self, query: IndexQuery) -> Legs:
        """Search one user's memories; an unknown user has empty legs."""
        return await self._search.search(query)

    async def put(self, entries: Sequence[IndexEntry]) -> None:
        """Store each entry unless the index holds the same memory at a later version.

        The same version is put again, as another copy: a Weaviate that was killed within about 3 s of the first put
        holds the object without its vector, and does not write an object that equals the one that it has.
        """
        for tenant, batch in by_partition(entries, self._partitions, _BATCH):
            held = await self._held(tenant, [(_owner(entry), entry.memory_id) for entry in batch])
            new: list[tuple[IndexEntry, int]] = []
            old: list[UUID] = []
            for entry in batch:
                objects = held.get((_owner(entry), entry.memory_id), [])
                if all(one.version <= entry.version for one in objects):
                    new.append((entry, 1 + max((o.copy for o in objects if o.version == entry.version), default=-1)))
                    old += [one.uuid for one in objects]
            await self._write(tenant, new)
            await self._delete(tenant, old)
        await self._local.put(entries)

    async def remove(self, tenant: str, user_id: str, memory_ids: Mapping[str, int]) -> None:
        """Remove memories, except those held at a later version than the one named; unknown ids are not an error."""
        owner, where = owner_id(tenant, user_id).hex, partition_name(tenant, user_id, self._partitions)
        ids = list(memory_ids)
        for start in range(0, len(ids), _BATCH):
            held = await self._held(where, [(owner, memory_id) for memory_id in ids[start : start + _BATCH]])
            known = ((one, memory_ids[memory_id]) for (_, memory_id), objects in held.items() for one in objects)
            await self._delete(where, [one.uuid for one, version in known if one.version <= version])
        await self._local.remove(tenant, user_id, memory_ids)

    async def _held(self, tenant: str, names: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[_Held]]:
        """Return the objects of memories, which are given by owner and id."""
        ours = (await self.collection.open()).with_tenant(tenant)
        request = ours.query.fetch_objects(
            filters=Filter.by_property("memory_id").contains_any(list({memory_id for _, memory_id in names})),
            limit=MOST,
            return_properties=["owner", "memory_id", "version", "copy"],
        )
        answer = await self.collection.reach(unless_missing(request, None), WRITE_SECONDS)
        objects: dict[tuple[str, str], list[_Held]] = {}
        for one in answer.objects if answer else ():
            properties: Any = one.properties
            held = _Held(one.uuid, int(properties["version"]), int(properties["copy"]))
            objects.setdefault((properties["owner"], properties["memory_id"]), []).append(held)
        return {name: objects[name] for name in names if name in objects}

    async def _write(self, tenant: str, entries: Sequence[tuple[IndexEntry, int]]) -> None:
        """Write entries, each as one copy; refused ones are tried again. Raises IndexUnavailable if some remain."""
        await self.collection.make_room(len(entry.vector) for entry, _ in entries)
        ours = (await self.collection.open()).with_tenant(tenant)
        left, refusal = [_object(entry, copy) for entry, copy in entries], ""
        for attempt in range(_ATTEMPTS):
            if not left:
                return
            await asyncio.sleep(attempt * self._retry_pause_seconds)
            refused = await self.collection.reach(_refused(ours, left), WRITE_SECONDS)
            refusal = next(iter(refused.values()), "")
            left = [left[number] for number in sorted(refused)]
        if left:
            detail = f"refuses {len(left)} of {len(entries)} memories: {refusal}"
            raise IndexUnavailable(f"{self.collection.address} {detail}")

    async def _delete(self, tenant: str, ids: Sequence[UUID]) -> None:
        for start in range(0, len(ids), _BATCH):
            ours = (await self.collection.open()).with_tenant(tenant)
            named = Filter.by_id().contains_any(list(ids[start : start + _BATCH]))
            deleting = unless_missing(ours.data.delete_many(where=named), None)
            await self.collection.reach(deleting, WRITE_SECONDS)


async def _refused(ours: CollectionAsync[Any, Any], objects: Sequence[DataObject[Any, None]]) -> dict[int, str]:
    """Insert objects; return the reason of each refusal by the object's number."""
    try:
        answer = await ours.data.insert_many(objects)
    except WeaviateInsertManyAllFailedError as error:  # one refused object of one is all of them
        return dict.fromkeys(range(len(objects)), error.message)
    return {number: error.message for number, error in answer.errors.items()}


def _owner(entry: IndexEntry) -> str:
    """Return the name of an entry's user in its object."""
    return owner_id(entry.tenant, entry.user_id).hex


def _object(entry: IndexEntry, copy: int) -> DataObject[Any, None]:
    vector = {vector_name(len(entry.vector)): entry.vector.tolist()}
    return DataObject(uuid=object_id(entry, copy), properties=object_properties(entry, copy), vector=vector)
