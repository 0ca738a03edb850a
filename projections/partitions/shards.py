"""The shards of the partitions that a worker holds: opened, folded, looked up, and exchanged for another generation."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from projections.encrypted_files import sqlite3
from projections.partitions.assignment import MOVE_SECONDS, Assignment, HistoryDamaged, NotHeld
from projections.partitions.fold_process import FoldProcesses
from projections.partitions.generation import ignore_changes, open_globals, open_shard, path_in, prepare_folder
from projections.partitions.sender import ShardSender
from projections.shard.rows.damage import LedgerDamaged
from projections.shard.snapshot import digests_of, nothing
from projections.shard.tables import name_of
from schemas.topics import GLOBALS, LEDGER, partition_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from projections.index.encoding import Encoding
    from projections.partitions.assignment import Lease
    from projections.partitions.receiver import ShardReceiver
    from projections.shard.errors import ShardUnavailable
    from projections.shard.rows.damage import Damage
    from projections.shard.shard import Shard
    from projections.state.memory import UserState
    from schemas.identity import Owner
    from schemas.log import Log, Position, Record

log = logging.getLogger("mnemolog.shard")


class ShardListener(Protocol):
    """What keeps up with the shards: `IndexSync`. Its methods run to their end on the event loop, without waiting."""

    def mark_dirty(self, owner: Owner, ids: Iterable[str]) -> None:
        """Take in that memories have changed; a shard has just folded it."""
        ...

    def mark_missed(self, shard: Shard) -> None:
        """Take in that a shard is about to be held."""
        ...

    def forget(self, owners: Iterable[Owner]) -> None:
        """Take in that the shard of these users has been closed."""
        ...


class _NoListener:
    """Keeps up with nothing."""

    def mark_dirty(self, owner: Owner, ids: Iterable[str]) -> None:
        """Do nothing."""

    def mark_missed(self, shard: Shard) -> None:
        """Do nothing."""

    def forget(self, owners: Iterable[Owner]) -> None:
        """Do nothing."""


class Shards:  # noqa: PLR0904 - eight of them look up, by partition or owner
    """The shards of the partitions that this worker holds, and one for the global memories of all tenants.

    A partition is held from when its shard has been folded to the log's end until it is released. Before and after
    that, nothing is answered about its users, and nothing is decided.
    """

    def __init__(self, folder: Path, log: Log, partitions: int, *, move_seconds: float = MOVE_SECONDS) -> None:
        """Hold no partition yet. Creates the generation's folder if it is missing. Raises ShardDamaged."""
        self.partitions = partitions
        self._folder = folder
        self._log = log
        self._listener: ShardListener = _NoListener()
        self.kept_head: Callable[[str, int], tuple[int, bytes, int]] | None = None
        """Returns up to where the log's own head of a partition of the ledger goes, the head, and the partition's end.

        None where the log keeps no heads.
        """
        self.kept_elsewhere: dict[tuple[str, int], list[tuple[int, bytes]]] = {}
        """Up to where the furthest head goes that was kept elsewhere, and the head, by topic and partition.

        There are several where different heads were kept at one offset.
        """
        self._refolded: set[int] = set()
        """Partitions whose damaged ledger was folded anew by this process, to see whether the log is whole again."""
        self.encoding: Encoding | None = None
        """Vectors that searches read instead of the log's; None: the log's."""
        self.assignment = Assignment(move_seconds)
        self._opening: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Held while a partition is opened and folded: nothing else may use its file then."""
        self.sender = ShardSender(lambda partition: path_in(self._folder, partition), self._is_open)
        self.receiver: ShardReceiver | None = None
        """Fetches shards from other workers; None where there are none."""
        self.fold_processes = FoldProcesses(log, partitions)
        self.globals = open_globals(prepare_folder(folder), log, self._mark_dirty)
        self._globals_opened = False
        self._globals_opening = asyncio.Lock()

    def subscribe(self, listener: ShardListener) -> None:
        """Report to a listener from now on; to be called before any partition is held."""
        self._listener = listener

    # -- partitions that come and go

    def assign(self, partitions: Collection[int]) -> None:
        """Set the assigned partitions, release all others, and close their shards."""
        self._globals_opened = False  # the log may have been restored meanwhile: they are compared with it again
        for shard in self.assignment.assign(partitions):
            self._give_up(shard)

    def unassign(self) -> None:
        """Note that partitions move: which ones this worker will have is not known."""
        self.assignment.unassign()

    async def hold(self, partition: int, lease: Lease | None = None) -> None:
        """Fold a partition that was assigned to this worker (under a lease, by default the present one), and hold it.

        Returns without holding it when the lease ends meanwhile. Raises ShardDamaged, ShardUnavailable.
        """
        lease = lease or self.assignment.lease(partition)
        async with self._opening[partition]:  # the shard may still be folding under an earlier lease
            if not lease.is_valid:
                return
            await self.sender.revoke(partition)
            # Taken off the resting ones while it folds, perhaps in a thread, so that no assignment closes it meanwhile.
            shard = self.assignment.take(partition) or self.open(partition)
            try:
                await self._start_over_if_strange(shard)
                is_held = partition in self.assignment.shards  # then others may be reading the shard
                if self.receiver is not None and not is_held:  # noqa: SIM102 - the second asks other workers
                    if await self.receiver.replace_if_ahead(shard, lease, self._give_up):
                        shard = self.open(partition)
                if not is_held:
                    await self.assignment.until_released(lease, self.fold_processes.fold(shard))
                if not lease.is_valid:
                    return
                await shard.catch_up_at_start()
                await self._require_whole(shard)
                await self.fold_globals()
            finally:  # also when this is cancelled, or the lease has ended: it is open, and may soon be held again
                self.assignment.put_back(partition, shard)
            if lease.is_valid:
                self._listener.mark_missed(shard)
                self.assignment.hold(partition, shard)

    def release(self, partition: int) -> None:
        """Stop answering for a partition: from now on its users may belong to another worker."""
        self.assignment.release(partition)

    async def fold_globals(self) -> None:
        """Fold global memories, which another worker may have decided. Raises ShardDamaged, ShardUnavailable."""
        async with self._globals_opening:
            if not self._globals_opened:
                await self._start_over_if_strange(self.globals)
                await self.globals.catch_up()
                await self._require_whole(self.globals)
                self._listener.mark_missed(self.globals)
                self._globals_opened = True
                self.assignment.hold_globals()
        await self.globals.catch_up()

    async def _require_whole(self, shard: Shard) -> None:
        """Raise LedgerDamaged where the ledger of a shard's partition is not what was appended.

        A shard that has met damage is folded anew first, once: the log may have been mended since.
        """
        number = -1 if shard is self.globals else shard.partition
        for _ in range(2):
            damage = shard.ledger.damages.of_all()
            if damage is None and self.kept_head is not None:
                damage = shard.head_damage(*self.kept_head(shard.ledger_topic, shard.partition))
            damage = damage or await self._damage_since_kept(shard)
            if number in self._refolded or not (damage or shard.ledger.damages.all()):
                break
            self._refolded.add(number)
            self._listener.forget(shard.ledger.owners())
            shard.start_over()
            await shard.catch_up_at_start()
        if damage is not None:
            raise LedgerDamaged(str(damage))

    async def _damage_since_kept(self, shard: Shard) -> Damage | None:
        for kept in self.kept_elsewhere.get((shard.ledger_topic, shard.partition), ()):
            if (damage := await shard.damage_since(*kept)) is not None:
                return damage
        return None

    async def contradicted(self) -> list[int]:
        """Return the partitions held that heads kept elsewhere contradict; all of them where it is global memories."""
        if await self._damage_since_kept(self.globals):
            return self.held()
        return [shard.partition for shard in self.all()[:-1] if await self._damage_since_kept(shard)]

    async def _start_over_if_strange(self, shard: Shard) -> None:
        if (lost := await shard.lost_head()) is not None:
            raise LedgerDamaged(str(lost))
        if not await shard.follows_log():
            log.warning("shard %s is no fold of this log, and is folded anew", shard.path.name)
            self._listener.forget(shard.ledger.owners())
            shard.start_over()

    def _give_up(self, shard: Shard) -> None:
        """Close a shard that is no longer used; code that still refers to it sees that it is retired."""
        self._listener.forget(shard.ledger.owners())
        shard.retired = True
        shard.close()

    # -- files

    def has(self, partition: int) -> bool:
        """Return whether a partition is this worker's, or may become so at once."""
        assigned = self.assignment.partitions
        return assigned is None or partition in assigned or self._is_open(partition)

    def delete_files(self, partition: int, folders: Iterable[Path]) -> int:
        """Delete the files of a partition's shard in some generations, unless the worker has it; return how many."""
        if self.has(partition):
            return 0
        files = [file for folder in folders for file in folder.glob(f"{path_in(folder, partition).name}*")]
        for file in files:
            file.unlink(missing_ok=True)
        return len(files)

    def open(self, partition: int) -> Shard:
        """Open a partition's shard, as far as it was folded. Raises ShardDamaged, ShardUnavailable."""
        return open_shard(self._folder, self._log, partition, self.partitions, self._mark_dirty)

    def open_generation(self, folder: Path) -> tuple[dict[int, Shard], Shard]:
        """Open another generation of the shards held, and of the global one. They report no changes."""
        shards = {p: open_shard(folder, self._log, p, self.partitions, ignore_changes) for p in self.held()}
        return shards, open_globals(folder, self._log, ignore_changes)

    def switch(self, folder: Path, shards: dict[int, Shard], shared: Shard) -> list[Shard]:
        """Put another generation in the place of this one. Returns the old shards, retired, for the caller to close."""
        old = self._open_shards()
        self._folder = folder
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

    def _is_open(self, partition: int) -> bool:
        """Return whether a partition's file is open here, or about to be."""
        return self.assignment.is_open(partition) or self._opening[partition].locked()

    def _mark_dirty(self, owner: Owner, ids: Sequence[str]) -> None:
        self._listener.mark_dirty(owner, ids)

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

    def of(self, owner: Owner) -> Shard:
        """Return the shard that holds an owner's memories. Raises NotHeld."""
        return self.globals if owner.is_global else self.at(self.partition(owner))

    def partition(self, owner: Owner) -> int:
        """Return the partition of an owner's messages."""
        return int(owner.user_id) if owner.is_partition else partition_of(owner.key, self.partitions)

    def ledger_of(self, owner: Owner) -> tuple[str, int]:
        """Return the topic and partition that hold an owner's decisions."""
        return (GLOBALS.name, 0) if owner.is_global else (LEDGER.name, self.partition(owner))

    def counts(self, owner: Owner) -> bool:
        """Return whether this worker decides about an owner, and counts the memories."""
        return self.partition(owner) in self.assignment.shards

    def require(self, owner: Owner) -> None:
        """Raise NotHeld unless this worker decides about an owner."""
        if not self.counts(owner):
            raise NotHeld(self.partition(owner))

    def damage(self, owner: Owner) -> Damage | None:
        """Return what is wrong with a user's history, None where nothing is. Raises NotHeld."""
        return self.of(owner).ledger.damages.of(name_of(owner))

    def _whole(self, owner: Owner) -> Shard:
        """Return the shard of an owner whose history is whole. Raises NotHeld, HistoryDamaged."""
        shard = self.of(owner)
        if shard.ledger.damages.all() and (damage := shard.ledger.damages.of(name_of(owner))) is not None:
            raise HistoryDamaged(damage)
        return shard

    def state(self, owner: Owner) -> UserState:
        """Return a user's state. Raises NotHeld, HistoryDamaged, ShardDamaged, ShardUnavailable."""
        return self._whole(owner).ledger.state(owner)

    def folded_state(self, owner: Owner) -> UserState:
        """Return a user's state as far as it could be folded, be it whole or not: for who erases the user.

        Raises NotHeld, ShardDamaged, ShardUnavailable.
        """
        return self.of(owner).ledger.state(owner)

    async def load(self, owner: Owner) -> None:
        """Read a user's state into the cache, others having their turn; `state` does it otherwise, in one go.

        Raises NotHeld, HistoryDamaged at once. A shard that is closed or exchanged meanwhile is left to `state`.
        """
        with suppress(sqlite3.ProgrammingError):
            await self._whole(owner).ledger.states.load(owner)

    def owners(self) -> list[Owner]:
        """Return every user that this worker decides about; global owners too, each on one worker of the group.

        Those whose history is damaged are not among them: nothing is decided about them.
        """
        found = [owner for shard in self.all() for owner in shard.ledger.owners() if self.counts(owner)]
        return [owner for owner in found if self.damage(owner) is None] if self.damages() else found

    def damages(self) -> list[Damage]:
        """Return what is wrong with the histories that this worker folds; global ones are every worker's."""
        return [damage for shard in self.all() for damage in shard.ledger.damages.all().values()]

    def require_whole(self, tenant: str | None = None) -> None:
        """Raise HistoryDamaged where the history of a user, or of one of a tenant, is damaged."""
        for damage in self.damages():
            if tenant is None or not damage.user or damage.user.partition("/")[0] == tenant:
                raise HistoryDamaged(damage)

    def known(self, others: Iterable[Owner] = ()) -> list[Owner]:
        """Return whom this worker has anything of, decided or not, and those of some others that are its own."""
        found = (owner for shard in self.all() for owner in (*shard.ledger.owners(), *shard.observations.owners()))
        mine = (owner for owner in others if not owner.is_partition)
        return [owner for owner in dict.fromkeys([*found, *mine]) if self.counts(owner)]

    def erasures(self) -> list[tuple[Owner, str]]:
        """Return each user that this worker decides about and who was erased, and the item that said so last."""
        return [one for shard in self.all() for one in shard.ledger.erasures() if self.counts(one[0])]

    def erased_memories(self) -> list[tuple[Owner, str, str]]:
        """Return the owner and the id of each memory that was erased here, and the item that said so."""
        found = (one for shard in self.all() for one in shard.ledger.erased_memories())
        return [one for one in found if self.counts(one[0])]

    def erased_memory(self, tenant: str, memory_id: str) -> tuple[Owner, str] | None:
        """Return the owner of a tenant's memory that was erased, and the item that said so; None for any other."""
        found = (shard.ledger.erased_memory(memory_id) for shard in self.all())
        return next((one for one in found if one is not None and one[0].tenant == tenant), None)

    async def digests(self, go_on: Callable[[], None] = nothing) -> dict[str, str]:
        """Return the digests over every user that this worker decides about.

        Raises HistoryDamaged, ShardUnavailable, ShardDamaged.
        """
        self.require_whole()
        return await digests_of([shard.committed_file() for shard in self.all()], self.counts, go_on)

    async def record(self, position: Position) -> Record | None:
        """Return a record of the log, or None when the log does not hold it any more, or its user was erased."""
        found = await self._log.read(position.topic, position.partition, position.offset, 1)
        return found[0] if found and found[0].position == position and not found[0].is_erased else None

    # -- folding

    async def up_to(self, topic: str, partition: int, offset: int) -> None:
        """Fold a topic's partition up to `offset`. Raises NotHeld, ShardDamaged, ShardUnavailable.

        A rebuild may put another shard in the place of one that folds; then that one is folded as well.
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
        """Fold everything that the log holds of an owner. Raises as `up_to`."""
        topic, partition = self.ledger_of(owner)
        await self.up_to(topic, partition, await self._log.end(topic, partition))
