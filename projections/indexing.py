"""Indexing: the index follows the shards, one put after the other, and what it could not take yet is not forgotten."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from projections.analyser import tokens
from projections.evolve import events_of
from projections.index import IndexEntry
from schemas import codec
from schemas.decision import Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from projections.index import Index, IndexGenerations, IndexQuery, Legs
    from projections.memory import Memory
    from schemas.identity import Owner
    from schemas.log import Record

    Split: TypeAlias = Callable[[Owner, Sequence[str]], tuple[list[IndexEntry], list[str]]]

AT_ONCE: Final = 500
"""Memories put at once, about."""


def index_entry(owner: Owner, memory: Memory, vector: bytes) -> IndexEntry:
    """Return what the index holds of a memory."""
    return IndexEntry(
        tenant=owner.tenant,
        user_id=owner.user_id,
        memory_id=memory.memory_id,
        version=memory.text_version,
        agent_id=memory.agent_id,
        tokens=tuple(tokens(memory.content)),
        vector=np.frombuffer(vector, "<f4"),
        embedding_model=memory.embedding_model,
        kind=memory.kind,
        category=memory.category,
        memory_type=memory.memory_type,
        source_type=memory.source_type,
        occurred_at=memory.occurred_at,
    )


class Indexing:
    """Brings the index after the shards. A user who is moving between workers waits for the one who gets it."""

    def __init__(
        self,
        index: Index,
        split: Split,
        entries: Callable[[Owner], Sequence[IndexEntry]],
        is_held: Callable[[Owner], bool],
    ) -> None:
        """`split` returns from the shard the entries of active memories, and which of the ids are not active.

        `entries` returns those of all active memories of a user.
        """
        self._index = index
        self._entries = entries
        self._split = split
        self._is_held = is_held
        self._behind: dict[Owner, dict[str, int]] = {}
        """Memories that the index has to follow, each with the number of its last change."""
        self._changes = 0
        self._following = asyncio.Lock()
        self._beside: Index | None = None
        """Another generation, which is built and follows the shards as well."""

    def changed(self, owner: Owner, memory_ids: Iterable[str]) -> None:
        """Take note of memories that the shard has changed, or that the index has wrong."""
        self._changes += 1
        self._behind.setdefault(owner, {}).update(dict.fromkeys(memory_ids, self._changes))

    def decided(self, record: Record) -> None:
        """Take note of the memories of a decision, where other workers search the same index.

        The decision's record is acknowledged after they are put: who dies before leaves the put to the next owner.
        """
        if self._index.is_shared:
            decision = codec.decode_as(record.value, Decision)
            ids = [i for e in events_of(decision) if (i := getattr(e, "memory_id", None)) is not None]
            self.changed(decision.envelope.owner, ids)

    async def follow(self) -> None:
        """Bring the index to where the shards are. Raises IndexUnavailable; then nothing is forgotten."""
        async with self._following:  # a put must not overtake a later removal
            while some := self._some_behind():
                split = {owner: self._split(owner, list(ids)) for owner, ids in some.items()}
                for index in (self._index, *([] if self._beside is None else [self._beside])):
                    await index.put([entry for entries, _ in split.values() for entry in entries])
                    for owner, (_, gone) in split.items():
                        await index.remove(owner.tenant, owner.user_id, gone)
                for owner, ids in some.items():
                    self._followed(owner, ids)

    async def search(self, owner: Owner, query: IndexQuery) -> Legs:
        """Search the index when it has followed the user's last change. Raises IndexUnavailable."""
        if owner in self._behind:
            await self.follow()
        return await self._index.search(query)

    def let_go(self, owners: Iterable[Owner]) -> None:
        """Forget users whose partition another worker has now."""
        for owner in owners:
            self._behind.pop(owner, None)
            self._index.let_go(owner.tenant, owner.user_id)

    # -- generations

    @property
    def generations(self) -> IndexGenerations | None:
        """The generations of an index that outlives this process."""
        return self._index.generations

    async def build(self, generation: int, owners: Sequence[Owner]) -> None:
        """Fill a generation of the index with these users beside the one that is searched; both follow from now on.

        Does nothing where the index is made from the shards when it is searched. Raises IndexUnavailable.
        """
        generations = self._index.generations
        if generations is None:
            return
        self._beside = beside = generations.open(generation)
        for owner in owners:
            async with self._following:
                if self._is_held(owner):
                    await beside.put(self._entries(owner))

    async def switch(self) -> None:
        """Follow shards of another generation."""
        if self._index.generations is None:
            async with self._following:
                self._behind.clear()
                await self._index.reset()

    async def drop_built(self) -> None:
        """Follow with one generation only again, whichever is searched by now."""
        if self._beside is not None:
            async with self._following:
                beside, self._beside = self._beside, None
                await beside.close()
                await self._index.reopen()

    def _some_behind(self) -> dict[Owner, dict[str, int]]:
        some: dict[Owner, dict[str, int]] = {}
        number = 0
        for owner, ids in list(self._behind.items()):
            if not self._is_held(owner):
                continue
            if not self._index.follows(owner.tenant, owner.user_id):
                del self._behind[owner]
                continue
            some[owner] = dict(ids)
            number += len(ids)
            if number >= AT_ONCE:
                break
        return some

    def _followed(self, owner: Owner, ids: dict[str, int]) -> None:
        """Forget what the index has followed, unless it has changed again meanwhile."""
        left = self._behind.get(owner, {})
        for memory_id, change in ids.items():
            if left.get(memory_id) == change:
                del left[memory_id]
        if not left:
            self._behind.pop(owner, None)
