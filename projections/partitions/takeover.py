"""The takeover: an assigned partition's shard is opened, folded and held, and given up when another worker has it."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Protocol

from projections.partitions.catch_up import CatchUp
from projections.partitions.fold_process import FoldProcesses
from projections.partitions.generation import path_in
from projections.partitions.log_comparison import LogComparison
from projections.partitions.sender import ShardSender
from projections.shard.errors import ShardDamaged, is_damaged
from projections.shard.rows.damage import LedgerDamaged

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from projections.partitions.assignment import Assignment, Lease
    from projections.partitions.generation import Generation
    from projections.partitions.receiver import ShardReceiver
    from projections.shard.shard import Shard
    from schemas.identity import Owner
    from schemas.log import Log

log = logging.getLogger("mnemolog.shard")


class ShardListener(Protocol):
    """A follower of the shards: `IndexSync`. Its methods run to their end on the event loop, without waiting."""

    def mark_dirty(self, owner: Owner, ids: Iterable[str]) -> None:
        """Note that memories have changed; a shard has just folded the change."""
        ...

    def mark_missed(self, shard: Shard) -> None:
        """Note that a shard is about to be held."""
        ...

    def forget(self, owners: Iterable[Owner]) -> None:
        """Note that the shard of these users has been closed."""
        ...


class NoListener:
    """A listener that ignores every change."""

    def mark_dirty(self, owner: Owner, ids: Iterable[str]) -> None:
        """Do nothing."""

    def mark_missed(self, shard: Shard) -> None:
        """Do nothing."""

    def forget(self, owners: Iterable[Owner]) -> None:
        """Do nothing."""


class HeldShards(Protocol):
    """The shards that a takeover adds to: `Shards`. Each attribute has its present value."""

    partitions: int
    assignment: Assignment
    generation: Generation
    globals: Shard
    listener: ShardListener


class Takeover:
    """Takes over the partitions that this worker is assigned: each is held when its shard is folded to the log's end.

    A partition whose ledger is not what was appended is not held.
    """

    def __init__(self, shards: HeldShards, log: Log) -> None:
        """Start with no partition; those taken over are held in the assignment of `shards`."""
        self._shards = shards
        self._assignment = shards.assignment
        self._opening: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        """The locks held while a partition is opened and folded: nothing else may use its file then."""
        self.comparison = LogComparison()
        self._refolded: set[int] = set()
        """The partitions whose damaged ledger this process has folded anew, to check whether the log is whole again."""
        self.sender = ShardSender(lambda partition: path_in(shards.generation.folder, partition), self._is_open)
        self.receiver: ShardReceiver | None = None
        """The receiver that fetches shards from other workers; None if there are no others."""
        self.fold_processes = FoldProcesses(log, shards.partitions)
        self._unforgotten: set[Path] = set()
        """The files that were given up before the listener could be told whose they were."""
        self._globals_opened = False
        self._globals_opening = asyncio.Lock()

    def assign(self, partitions: Collection[int]) -> None:
        """Set the assigned partitions, release all others, and close their shards."""
        self._globals_opened = False  # the log may have been restored meanwhile: they are compared with it again
        for shard in self._assignment.assign(partitions):
            self._give_up(shard)

    async def hold(self, partition: int, lease: Lease | None = None) -> None:
        """Fold a partition that was assigned to this worker (under a lease, by default the present one), and hold it.

        Returns without holding it when the lease ends meanwhile. Raises ShardDamaged, ShardUnavailable.
        """
        lease = lease or self._assignment.lease(partition)
        async with self._opening[partition]:  # the shard may still be folding under an earlier lease
            if not lease.is_valid:
                return
            await self.sender.revoke(partition)
            # Taken off the resting ones while it folds, perhaps in a thread, so that no assignment closes it meanwhile.
            opened = partial(self._shards.generation.open, partition)
            shard = self._whole_file(self._assignment.take(partition), opened)
            try:
                await self._start_over_if_strange(shard)
                is_held = partition in self._assignment.shards  # then others may be reading the shard
                if self.receiver is not None and not is_held:  # noqa: SIM102 - the second asks other workers
                    if await self.receiver.replace_if_ahead(shard, lease, self._give_up):
                        shard = self._shards.generation.open(partition)
                if not is_held:
                    await self._assignment.until_released(lease, self.fold_processes.fold(shard))
                if not lease.is_valid:
                    return
                await CatchUp(shard).run()
                await self.fold_globals()
                await self._require_whole(shard)  # last: heads may have come while it waited
            finally:  # also when this is cancelled, or the lease has ended: it is open, and may soon be held again
                self._assignment.put_back(partition, shard)
            if lease.is_valid:
                self._mark_missed(shard)
                self._assignment.hold(partition, shard)

    async def fold_globals(self) -> None:
        """Fold global memories, which other workers decide as well. Raises ShardDamaged, ShardUnavailable."""
        async with self._globals_opening:
            shard = self._whole_file(self._shards.globals, self._shards.generation.open_globals)
            if shard is not self._shards.globals:
                self._shards.globals, self._globals_opened = shard, False
            if not self._globals_opened:
                await self._start_over_if_strange(self._shards.globals)
                await self._shards.globals.catch_up()
                await self._require_whole(self._shards.globals)
                self._mark_missed(self._shards.globals)
                self._globals_opened = True
                self._assignment.hold_globals()
        await self._shards.globals.catch_up()

    def _mark_missed(self, shard: Shard) -> None:
        """Report that a shard is about to be held; one whose damaged file was given up is forgotten first."""
        if shard.path in self._unforgotten:
            self._unforgotten.remove(shard.path)
            self._shards.listener.forget(shard.ledger.owners())
        self._shards.listener.mark_missed(shard)

    async def contradicted(self) -> list[int]:
        """Return the partitions held that heads kept elsewhere contradict; all, or -1, where it is global memories."""
        held = self._assignment.shards
        if await self.comparison.damage_since_kept(self._shards.globals):
            return self._assignment.held() or [-1]
        return [number for number, shard in sorted(held.items()) if await self.comparison.damage_since_kept(shard)]

    async def _require_whole(self, shard: Shard) -> None:
        """Raise LedgerDamaged if the ledger of a shard's partition is not what was appended.

        A shard that has found damage is first folded anew, once: the log may have been mended since.
        """
        number = -1 if shard is self._shards.globals else shard.partition
        damage = await self.comparison.damage(shard)
        if number not in self._refolded and (damage or shard.ledger.damages.all()):
            self._refolded.add(number)
            self._start_over(shard)
            await CatchUp(shard).run()
            damage = await self.comparison.damage(shard)
        if damage is not None:
            raise LedgerDamaged(str(damage))

    async def _start_over_if_strange(self, shard: Shard) -> None:
        if (lost := await self.comparison.lost_head(shard)) is not None:
            raise LedgerDamaged(str(lost))
        if not await self.comparison.follows_log(shard):
            log.warning("shard %s is no fold of this log, and is folded anew", shard.path.name)
            self._start_over(shard)

    def _start_over(self, shard: Shard) -> None:
        self._shards.listener.forget(shard.ledger.owners())
        shard.start_over()

    def _whole_file(self, shard: Shard | None, opened: Callable[[], Shard]) -> Shard:
        """Return a shard, opened anew if its file is damaged, and empty then. Raises ShardDamaged, ShardUnavailable."""
        if shard is not None and not shard.retired:
            if not is_damaged(shard.path):
                return shard
            self._give_up(shard)
        return opened()

    def _give_up(self, shard: Shard) -> None:
        """Close a shard that is no longer used; code that still refers to it sees that it is retired."""
        try:
            self._shards.listener.forget(shard.ledger.owners())
        except ShardDamaged:  # who its users are is known when it is folded anew
            self._unforgotten.add(shard.path)
        shard.retired = True
        shard.close()

    def has(self, partition: int) -> bool:
        """Return whether a partition is this worker's, or may become its own at any moment."""
        assigned = self._assignment.partitions
        return assigned is None or partition in assigned or self._is_open(partition)

    def _is_open(self, partition: int) -> bool:
        """Return whether a partition's file is open here, or about to be."""
        return self._assignment.is_open(partition) or self._opening[partition].locked()
