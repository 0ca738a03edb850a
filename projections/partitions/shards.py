"""The shards of the partitions that a worker holds: looked up, folded, and exchanged for another generation."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from projections.partitions.assignment import MOVE_SECONDS, Assignment, NotHeld
from projections.partitions.generation import Generation, prepare_folder
from projections.partitions.held import Held
from projections.partitions.takeover import NoListener, Takeover
from projections.partitions.users import Users
from schemas.topics import GLOBALS, partition_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from projections.index.encoding import Encoding
    from projections.partitions.takeover import ShardListener
    from projections.shard.errors import ShardUnavailable
    from projections.shard.shard import Shard
    from projections.state.memory import UserState
    from schemas.identity import Owner
    from schemas.log import Log, Position, Record


class Shards:  # noqa: PLR0904 - eight of them look up, by partition or owner
    """The shards of the partitions that this worker holds, and one for the global memories of all tenants.

    A partition is held from when its shard has been folded to the log's end until it is released. Before and after
    that, nothing is answered about its users, and nothing is decided.
    """

    def __init__(self, folder: Path, log: Log, partitions: int, *, move_seconds: float = MOVE_SECONDS) -> None:
        """Hold no partition yet. Creates the generation's folder if it is missing. Raises ShardDamaged."""
        self.partitions = partitions
        self._log = log
        self.listener: ShardListener = NoListener()
        self.encoding: Encoding | None = None
        """The encoding whose vectors searches read instead of the log's; None for the log's."""
        self.assignment = Assignment(move_seconds)
        self.generation = Generation(prepare_folder(folder), log, partitions, self._mark_dirty)
        self.globals = self.generation.open_globals()
        self.takeover = Takeover(self, log)
        self.users = Users(self.all, self.counts)

    def subscribe(self, listener: ShardListener) -> None:
        """Report to a listener from now on; to be called before any partition is held."""
        self.listener = listener

    def open_generation(self, folder: Path) -> tuple[dict[int, Shard], Shard]:
        """Open another generation of the shards held, and of the global one. They report no changes."""
        generation = Generation(folder, self._log, self.partitions)
        return {partition: generation.open(partition) for partition in self.held()}, generation.open_globals()

    def switch(self, folder: Path, shards: dict[int, Shard], shared: Shard) -> list[Shard]:
        """Replace this generation with another. Returns the old shards, retired, for the caller to close."""
        old = self._open_shards()
        self.generation = Generation(folder, self._log, self.partitions, self._mark_dirty)
        self.globals = shared
        self.assignment.replace(shards)
        for shard in self.all():
            shard.changed = self._mark_dirty
        for shard in old:
            shard.retired = True
        return old

    def trouble(self) -> ShardUnavailable | None:
        """Return why a shard cannot be folded now, if one cannot."""
        return next((trouble for shard in self._open_shards() if (trouble := shard.writes.trouble) is not None), None)

    def close(self) -> None:
        """Close all files."""
        for shard in self._open_shards():
            shard.close()

    def _open_shards(self) -> list[Shard]:
        return [*self.all(), *self.assignment.resting.values()]

    def _mark_dirty(self, owner: Owner, ids: Sequence[str]) -> None:
        self.listener.mark_dirty(owner, ids)

    # -- looking up

    def held(self) -> list[int]:
        """Return the partitions held, in order."""
        return self.assignment.held()

    def all(self) -> list[Shard]:
        """Return every shard held, in the order of their partitions, and last that of global memories."""
        return [*(self.at(partition) for partition in self.held()), self.globals]

    def at(self, partition: int) -> Shard:
        """Return a partition's shard. Raises NotHeld."""
        return self.assignment.shard(partition)

    def resolve(self, owner: Owner) -> Held:
        """Return an owner together with the lease and the shard of the owner's memories, to be passed on."""
        partition = self.partition(owner)
        find = (lambda: self.globals) if owner.is_global else partial(self.assignment.shard, partition)
        return Held(owner, self.assignment.lease(partition), find)

    def of(self, owner: Owner) -> Shard:
        """Return the shard that holds an owner's memories. Raises NotHeld."""
        return self.resolve(owner).shard

    def partition(self, owner: Owner) -> int:
        """Return the partition of an owner's messages."""
        return int(owner.user_id) if owner.is_partition else partition_of(owner.key, self.partitions)

    def counts(self, owner: Owner) -> bool:
        """Return whether this worker decides about an owner, and counts the memories."""
        return self.partition(owner) in self.assignment.shards

    def require(self, owner: Owner) -> None:
        """Raise NotHeld unless this worker decides about an owner."""
        if not self.counts(owner):
            raise NotHeld(self.partition(owner))

    def state(self, owner: Owner) -> UserState:
        """Return a user's state. Raises as `Held.state`."""
        return self.resolve(owner).state

    def folded_state(self, owner: Owner) -> UserState:
        """Return a user's state as far as it could be folded. Raises as `Held.folded_state`."""
        return self.resolve(owner).folded_state

    async def load(self, owner: Owner) -> None:
        """Read a user's state into the cache. Raises as `Held.load`."""
        await self.resolve(owner).load()

    async def record(self, position: Position) -> Record | None:
        """Return a record of the log, or None when the log does not hold it any more, or its user was erased."""
        found = await self._log.read(position.topic, position.partition, position.offset, 1)
        return found[0] if found and found[0].position == position and not found[0].is_erased else None

    # -- folding

    async def up_to(self, topic: str, partition: int, offset: int) -> None:
        """Fold a topic's partition up to `offset`. Raises NotHeld, ShardDamaged, ShardUnavailable.

        A rebuild may replace a shard while it folds; then its replacement is folded as well.
        """
        while True:
            shard = self._folding(topic, partition)
            await shard.up_to(topic, offset)
            if not shard.retired:
                return

    def fold_known(self, records: Sequence[Record]) -> bool:
        """Fold records of one topic and partition that this process has just appended; see `Shard.fold_known`.

        Raises NotHeld, ShardDamaged, ShardUnavailable.
        """
        place = records[0].position
        return self._folding(place.topic, place.partition).fold_known(place.topic, records)

    def has_folded(self, topic: str, partition: int, offset: int) -> bool:
        """Return whether a topic's partition is folded up to `offset`. Raises NotHeld."""
        shard = self._folding(topic, partition)
        return shard.offset(topic) >= offset and not shard.retired

    def _folding(self, topic: str, partition: int) -> Shard:
        return self.globals if topic == GLOBALS.name else self.at(partition)

    async def come_to_end(self, owner: Owner) -> None:
        """Fold all decisions that the log holds of an owner. Raises as `up_to`."""
        topic, partition = self.resolve(owner).ledger_place
        await self.up_to(topic, partition, await self._log.end(topic, partition))
