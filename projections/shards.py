"""The shards that a worker holds, and the index that follows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from projections.analyser import tokens
from projections.following import Following
from projections.index import IndexEntry
from projections.memory import ACTIVE
from projections.shard import Shard
from schemas.identity import Owner, partition_owner
from schemas.topics import GLOBALS, LEDGER, partition_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from projections.index import Index
    from projections.memory import Memory, UserState
    from schemas.log import Log, Position, Record


class NotHeld(Exception):
    """Another worker holds the user's partition now: ask again in a moment."""


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


class Shards:
    """One shard for each partition, and one for the global memories of all tenants."""

    def __init__(
        self,
        folder: Path,
        log: Log,
        partitions: int,
        make_index: Callable[[Callable[[str, str], Sequence[IndexEntry]]], Index],
    ) -> None:
        """Open the shards of a generation's folder, made if there is none. Raises ShardDamaged."""
        self.partitions = partitions
        self._log = log
        self._held, self.globals = self.open_generation(folder, self._note)
        self.index = make_index(self._entries)
        self.following = Following(self.index, self._split, self.all)

    def open_generation(
        self, folder: Path, changed: Callable[[Owner, Sequence[str]], None]
    ) -> tuple[dict[int, Shard], Shard]:
        """Open one complete set of shards: those of the partitions, and that of global memories."""
        folder.mkdir(parents=True, exist_ok=True)
        held = {
            p: Shard(
                folder / f"{p}.sqlite",
                self._log,
                p,
                changed,
                belongs=lambda owner, p=p: self._belongs(owner, p),  # type: ignore[misc]
            )
            for p in range(self.partitions)
        }
        shared = folder / "globals.sqlite"
        return held, Shard(shared, self._log, 0, changed, belongs=lambda o: o.is_global, holds_globals=True)

    def _belongs(self, owner: Owner, partition: int) -> bool:
        """Tell whether decisions of an owner stand in the ledger of a partition."""
        if owner.is_partition:
            return owner == partition_owner(partition)
        return not owner.is_global and partition_of(owner.key, self.partitions) == partition

    def switch(self, held: dict[int, Shard], shared: Shard) -> list[Shard]:
        """Put another generation in the place of this one, and return the old one, retired."""
        old = self.all()
        self._held, self.globals = held, shared
        for shard in held.values():
            shard.tell(self._note)
        shared.tell(self._note)
        for shard in old:
            shard.retired = True
        return old

    def close(self) -> None:
        """Close all files."""
        for shard in self.all():
            shard.close()

    def all(self) -> list[Shard]:
        """Return every shard held, that of global memories last."""
        return [*self._held.values(), self.globals]

    async def check(self) -> list[Shard]:
        """Make those shards start over that are not folds of this log; return them."""
        strangers = [shard for shard in self.all() if not await shard.follows_log()]
        for shard in strangers:
            shard.start_over()
        return strangers

    def at(self, partition: int) -> Shard:
        """Return a partition's shard. Raises NotHeld."""
        try:
            return self._held[partition]
        except KeyError:
            raise NotHeld(f"partition {partition} is held by another worker") from None

    def of(self, owner: Owner) -> Shard:
        """Return the shard that holds an owner's memories. Raises NotHeld."""
        return self.globals if owner.is_global else self.at(self.partition(owner))

    def partition(self, owner: Owner) -> int:
        """Return the partition of an owner's messages."""
        return int(owner.user_id) if owner.is_partition else partition_of(owner.key, self.partitions)

    def ledger_of(self, owner: Owner) -> tuple[str, int]:
        """Return the topic and partition that hold an owner's decisions."""
        return (GLOBALS.name, 0) if owner.is_global else (LEDGER.name, self.partition(owner))

    def state(self, owner: Owner) -> UserState:
        """Return what is known of a user. Raises NotHeld."""
        return self.of(owner).ledger.state(owner)

    def owners(self) -> list[Owner]:
        """Return every user that has decisions in the shards held."""
        return [owner for shard in self.all() for owner in shard.ledger.owners()]

    async def record(self, position: Position) -> Record | None:
        """Return a record of the log, or None when the log does not hold it any more."""
        found = await self._log.read(position.topic, position.partition, position.offset, 1)
        return found[0] if found and found[0].position == position else None

    async def folded(self, owner: Owner, offset: int) -> None:
        """Fold the owner's ledger up to `offset`, and bring the index after it."""
        topic, partition = self.ledger_of(owner)
        await self.up_to(topic, partition, offset)
        await self.following.tell_if_it_answers()

    async def up_to(self, topic: str, partition: int, offset: int) -> None:
        """Fold a topic's partition up to `offset`, in whichever generation is the active one by then."""
        while True:
            shard = self.globals if topic == GLOBALS.name else self.at(partition)
            await shard.up_to(topic, offset)
            if not shard.retired:
                return

    async def index_changes(self) -> None:
        """Bring the index to where the shards are. Raises IndexUnavailable; then nothing is forgotten."""
        await self.following.tell()

    async def rebuild_index(self) -> None:
        """Fill the index anew from the shards. Raises IndexUnavailable."""
        await self.following.rebuild(self.owners())

    def entries(self, owner: Owner, ids: Iterable[str] | None = None) -> list[IndexEntry]:
        """Return index entries of a user's active memories, all or those named."""
        shard = self.of(owner)
        state, vectors = shard.ledger.state(owner), shard.ledger.vectors(owner)
        if ids is None:
            known = vectors.all()
            return [index_entry(owner, m, known[m.memory_id]) for m in state.memories.values() if m.status == ACTIVE]
        return self._split(owner, list(ids))[0]

    def _split(self, owner: Owner, ids: Sequence[str]) -> tuple[list[IndexEntry], list[str]]:
        shard = self.of(owner)
        state, vectors = shard.ledger.state(owner), shard.ledger.vectors(owner)
        memories = [m for i in ids if (m := state.memories.get(i)) is not None]
        active = [m for m in memories if m.status == ACTIVE]
        return (
            [index_entry(owner, m, vectors[m.memory_id]) for m in active],
            [m.memory_id for m in memories if m.status != ACTIVE],
        )

    def _entries(self, tenant: str, user_id: str) -> list[IndexEntry]:
        return self.entries(Owner(tenant, user_id))

    def _note(self, owner: Owner, ids: Sequence[str]) -> None:
        self.following.note(owner, ids)
