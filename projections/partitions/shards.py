"""The shards that a worker holds, and the index that follows them."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from projections.index.entries import entries_of, split
from projections.index.sync import IndexSync
from projections.partitions.generation import made, nobody, open_globals, open_shard, path_in
from projections.partitions.sender import ShardSender
from projections.shard.snapshot import digests_of, nothing
from schemas.identity import Owner
from schemas.topics import GLOBALS, LEDGER, partition_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from projections.index.protocol import Index, IndexEntry
    from projections.partitions.generation import Changed
    from projections.partitions.receiver import ShardReceiver
    from projections.shard.errors import ShardUnavailable
    from projections.shard.shard import Shard
    from projections.state.memory import UserState
    from schemas.log import Log, Position, Record

log = logging.getLogger("mnemolog.shards")


class NotHeld(Exception):
    """Another worker holds the user's partition now, or nobody while it moves: ask again in a moment."""

    def __init__(self, partition: int) -> None:
        super().__init__(f"partition {partition} is held by another worker, or is moving: ask again in a moment")
        self.partition = partition


class Shards:  # noqa: PLR0904 - until assignment is cut out of it
    """The shards of the partitions that this worker holds, and one for the global memories of all tenants.

    A partition that the worker is given is held when its shard has come to the log's end, and until it is taken away.
    In between nobody is answered about its users, and nothing is decided.
    """

    def __init__(
        self,
        folder: Path,
        log: Log,
        partitions: int,
        make_index: Callable[[Callable[[str, str], Sequence[IndexEntry]]], Index],
    ) -> None:
        """Hold no partition yet; the generation's folder is made if there is none. Raises ShardDamaged."""
        self.partitions = partitions
        self._folder = folder
        self._log = log
        self._held: dict[int, Shard] = {}
        self._folded: set[int] = set()
        """Of those held: what is decided there may be decided upon."""
        self._resting: dict[int, Shard] = {}
        """Taken away, and open: after most rebalances the same worker gets them again."""
        self.assigned: frozenset[int] | None = None
        """What this worker has, held already or not; None while partitions move."""
        self._terms: Counter[int] = Counter()
        self._opening: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._changed = asyncio.Event()
        self.lending = ShardSender(lambda partition: path_in(self._folder, partition), self._is_open)
        self.taking: ShardReceiver | None = None
        """Where there are other workers: how their files are had."""
        self.following = IndexSync(make_index(self._entries), self._split, self.entries, self.all, self._is_held)
        self.globals = open_globals(made(folder), log, self.following.note)
        self._globals_opened = False
        self._globals_opening = asyncio.Lock()

    async def hold(self, partition: int, term: int | None = None) -> None:
        """Fold a partition that was given to this worker (in a term, by default the present one), and hold it.

        Returns without holding it when it is taken away meanwhile. Raises ShardDamaged, ShardUnavailable.
        """
        term = self._terms[partition] if term is None else term
        async with self._opening[partition]:  # one of an earlier term may still be folding
            if self._terms[partition] != term:
                return
            await self.lending.take_back(partition)
            self._folded.discard(partition)  # one that is held already is given anew: somebody else may have had it
            known = self._held.get(partition) or self._resting.pop(partition, None)
            shard = known or self._open(self._folder, partition)
            try:
                await self._start_over_if_strange(shard)
                if self.taking is not None and partition not in self._held:
                    wanted = lambda: self._terms[partition] == term  # noqa: E731
                    if await self.taking.bring(shard, wanted, self._give_up):
                        shard = self._open(self._folder, partition)
                await shard.catch_up_at_start()
                await self.follow_globals()
            finally:
                if partition not in self._held and not shard.retired:
                    self._resting[partition] = shard
            if self._terms[partition] == term:
                self.following.note_missed(shard)
                self._held[partition] = self._resting.pop(partition, shard)
                self._folded.add(partition)
                self._tell()

    async def follow_globals(self) -> None:
        """Fold what anybody was told to remember for everyone: another worker may have decided it."""
        async with self._globals_opening:
            if not self._globals_opened:
                await self._start_over_if_strange(self.globals)
                await self.globals.catch_up()
                self.following.note_missed(self.globals)
                self._globals_opened = True
                self._tell()
        await self.globals.catch_up()

    def _give_up(self, shard: Shard) -> None:
        """Close a shard that others may still know, and forget its users."""
        self.following.let_go(shard.ledger.owners())
        shard.retired = True
        shard.close()

    async def _start_over_if_strange(self, shard: Shard) -> None:
        if not await shard.follows_log():
            log.warning("shard %s is no fold of this log, and is folded anew", shard.path.name)
            shard.start_over()

    def release(self, partition: int) -> None:
        """Let go of a partition that was taken away: from now on its users may belong to another worker."""
        self._terms[partition] += 1
        self._folded.discard(partition)
        shard = self._held.pop(partition, None)
        if shard is not None:
            self._resting[partition] = shard
        self._tell()

    def unassign(self) -> None:
        """Hear that partitions move: which this worker will have is not known."""
        self.assigned = None
        self._tell()

    def assign(self, partitions: Collection[int]) -> None:
        """Hear which partitions this worker has until they are released; the shards of others are closed."""
        self.assigned = frozenset(partitions)
        for partition in self._held.keys() - self.assigned:
            self.release(partition)
        for partition in self._resting.keys() - self.assigned:
            self._give_up(self._resting.pop(partition))
        self._tell()

    async def ready(self, partition: int) -> None:
        """Wait until a partition is held. Raises NotHeld when it is taken away, or is another worker's."""
        term = self._terms[partition]
        while partition not in self._folded:
            elsewhere = self.assigned is not None and partition not in self.assigned
            if elsewhere or self._terms[partition] != term:
                raise NotHeld(partition)
            await self._changed.wait()

    @property
    def is_settled(self) -> bool:
        """Tell whether every partition that this worker is assigned is held, and what everybody shares."""
        return self._globals_opened and self.assigned is not None and self.assigned <= self._folded

    async def settled(self) -> None:
        """Wait until every partition that this worker is assigned is held."""
        while not self.is_settled:
            await self._changed.wait()

    def term(self, partition: int) -> int:
        """Return how often the partition was taken away: work of an earlier term must not go on."""
        return self._terms[partition]

    def tenure(self) -> dict[int, int]:
        """Return the partitions held, each with its term: as long as it stays the same, nothing has moved."""
        return {partition: self._terms[partition] for partition in self.held()}

    def held(self) -> list[int]:
        """Return the partitions held."""
        return sorted(self._held)

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    # -- files

    def _open(self, folder: Path, partition: int, changed: Changed | None = None) -> Shard:
        return open_shard(folder, self._log, partition, self.partitions, changed or self.following.note)

    def open_generation(self, folder: Path) -> tuple[dict[int, Shard], Shard]:
        """Open another generation of the shards held, which tells nobody what it folds, and copies nothing."""
        return {p: self._open(folder, p, nobody) for p in self.held()}, open_globals(folder, self._log, nobody)

    def _is_open(self, partition: int) -> bool:
        """Tell whether a partition's file is open here, or about to be."""
        return partition in self._held or partition in self._resting or self._opening[partition].locked()

    def _is_held(self, owner: Owner) -> bool:
        return owner.is_global or self.partition(owner) in self._held

    def switch(self, folder: Path, held: dict[int, Shard], shared: Shard) -> list[Shard]:
        """Put another generation in the place of this one, and return the old one, retired."""
        old = [*self.all(), *self._resting.values()]
        self._folder, self._held, self.globals = folder, held, shared
        self._resting.clear()
        for shard in self.all():
            shard.notify(self.following.note)
        for shard in old:
            shard.retired = True
        return old

    def trouble(self) -> ShardUnavailable | None:
        """Return why a shard cannot be folded now, if one cannot."""
        shards = (*self.all(), *self._resting.values())
        return next((shard.trouble for shard in shards if shard.trouble is not None), None)

    def close(self) -> None:
        """Close all files."""
        for shard in (*self.all(), *self._resting.values()):
            shard.close()

    def all(self) -> list[Shard]:
        """Return every shard held, that of global memories last."""
        return [*(self._held[partition] for partition in self.held()), self.globals]

    def at(self, partition: int) -> Shard:
        """Return a partition's shard. Raises NotHeld."""
        try:
            return self._held[partition]
        except KeyError:
            raise NotHeld(partition) from None

    def of(self, owner: Owner) -> Shard:
        """Return the shard that holds an owner's memories. Raises NotHeld."""
        return self.globals if owner.is_global else self.at(self.partition(owner))

    def partition(self, owner: Owner) -> int:
        """Return the partition of an owner's messages."""
        return int(owner.user_id) if owner.is_partition else partition_of(owner.key, self.partitions)

    def ledger_of(self, owner: Owner) -> tuple[str, int]:
        """Return the topic and partition that hold an owner's decisions."""
        return (GLOBALS.name, 0) if owner.is_global else (LEDGER.name, self.partition(owner))

    def require(self, owner: Owner) -> None:
        """Raise NotHeld unless this worker decides about an owner."""
        if not self.counts(owner):
            raise NotHeld(self.partition(owner))

    def state(self, owner: Owner) -> UserState:
        """Return what is known of a user. Raises NotHeld."""
        return self.of(owner).ledger.state(owner)

    def owners(self) -> list[Owner]:
        """Return every user that this worker decides about; memories of everybody are held by all, and count once."""
        return [owner for shard in self.all() for owner in shard.ledger.owners() if self.counts(owner)]

    async def digests(self, go_on: Callable[[], None] = nothing) -> dict[str, str]:
        """Return the digests over every user that this worker decides about. Raises ShardUnavailable, ShardDamaged."""
        return await digests_of([shard.path for shard in self.all()], self.counts, go_on)

    def counts(self, owner: Owner) -> bool:
        """Tell whether this worker decides about an owner, and counts the memories."""
        return self.partition(owner) in self._held

    async def record(self, position: Position) -> Record | None:
        """Return a record of the log, or None when the log does not hold it any more."""
        found = await self._log.read(position.topic, position.partition, position.offset, 1)
        return found[0] if found and found[0].position == position else None

    async def folded(self, owner: Owner, offset: int) -> None:
        """Fold the owner's ledger up to `offset`, and bring the index after it, or later if it is away."""
        topic, partition = self.ledger_of(owner)
        await self.up_to(topic, partition, offset)
        await self.following.tell_if_it_answers()

    async def come_to_end(self, owner: Owner) -> None:
        """Fold everything that the log holds of an owner."""
        topic, partition = self.ledger_of(owner)
        await self.up_to(topic, partition, await self._log.end(topic, partition))

    async def up_to(self, topic: str, partition: int, offset: int) -> None:
        """Fold a topic's partition up to `offset`, in whichever generation is the active one by then."""
        while True:
            shard = self.globals if topic == GLOBALS.name else self.at(partition)
            await shard.up_to(topic, offset)
            if not shard.retired:
                return

    def entries(self, owner: Owner) -> list[IndexEntry]:
        """Return index entries of a user's active memories."""
        return entries_of(owner, self.of(owner).ledger)

    def _split(self, owner: Owner, ids: Sequence[str]) -> tuple[list[IndexEntry], dict[str, int]]:
        return split(owner, self.of(owner).ledger, ids)

    def _entries(self, tenant: str, user_id: str) -> list[IndexEntry]:
        return self.entries(Owner(tenant, user_id))
