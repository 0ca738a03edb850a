"""The assignment: the partitions that this worker has, since when, and the shards of those that it holds.

A partition goes through these states. A held partition answers queries; only a ready one may be decided upon.

    elsewhere --assign--> assigned --hold--> held, ready --release--> resting --hold--> held, ready
                                                                         |
                                                                         +--assign without it--> elsewhere

A partition that is assigned again with no release in between stays held, but it is not ready until it has been folded
again: another worker may have had it in the meantime, and decided.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from projections.blocking_work import run_to_end
from projections.shard.rows.damage import LedgerDamaged

if TYPE_CHECKING:
    from collections.abc import Collection, Coroutine, Iterable, Mapping

    from projections.shard.rows.damage import Damage
    from projections.shard.shard import Shard

MOVE_SECONDS: Final = 10.0
"""How long a partition may take to come before a worker that holds others counts as ready without it."""


class NotHeld(Exception):
    """Another worker holds the partition, or none does while it moves, or until an operator has mended something."""

    def __init__(self, partition: int, hindrance: str | None = None) -> None:
        super().__init__(
            f"partition {partition} is held by another worker, or is moving: ask again in a moment"
            if hindrance is None
            else f"partition {partition} is not answered yet: {hindrance}"
        )
        self.partition = partition


class HistoryDamaged(NotHeld):
    """The log's history of a user, or of a whole partition, is not what was appended: no request for it is answered."""

    def __init__(self, damage: Damage) -> None:
        Exception.__init__(self, str(damage))
        self.partition = damage.partition


def first_hindered(partitions: Iterable[int], hindrances: Mapping[int, str]) -> NotHeld | None:
    """Return the error of the lowest of some partitions that has a hindrance, or None if none of them has."""
    hindered = sorted(hindrances.keys() & set(partitions))
    return NotHeld(hindered[0], hindrances[hindered[0]]) if hindered else None


class Delivered(Protocol):
    """A record as an agent received it."""

    def is_current(self) -> bool:
        """Return whether no rebalance has come since the record was delivered."""
        ...


@dataclass(frozen=True, slots=True)
class Lease:
    """A worker's right to one partition, which ends when the partition is released.

    Work that waits must check its lease before it goes on. After a release the partition may even have been assigned
    to this worker again: the lease has ended all the same, because another worker may have decided in between.
    """

    partition: int
    number: int
    """How often the partition had been released when the lease was taken."""
    _releases: Counter[int] = field(repr=False, compare=False)

    @property
    def is_valid(self) -> bool:
        """Return whether the partition has not been released since the lease was taken."""
        return self._releases[self.partition] == self.number

    def is_current(self, delivery: Delivered) -> bool:
        """Return whether a record of the partition may still be worked on, now that the worker has waited.

        If not, it is delivered again, to the partition's next worker, after the records that precede it.
        """
        return self.is_valid and delivery.is_current()


class Assignment:  # noqa: PLR0904 - six of them are questions
    """The partitions that one worker has.

    Every method but the two that wait runs to its end on the event loop without waiting. What a caller has read
    here is therefore true until its next `await`, and no longer: that is what a lease is for.
    """

    def __init__(self, move_seconds: float = MOVE_SECONDS) -> None:
        """Start with nothing assigned: partitions are moving."""
        self._move_seconds = move_seconds
        self.partitions: frozenset[int] | None = None
        """The partitions assigned to this worker, whether or not they are held yet; None while partitions move."""
        self.shards: dict[int, Shard] = {}
        """The shards held, by partition."""
        self.hindrances: dict[int, str] = {}
        """The fault that an operator must mend before a partition, or the global shard, can be held; see `hinder`."""
        self.refused: set[int] = set()
        """The partitions whose ledger is not what was appended, until they are held; negative for the global shard."""
        self.resting: dict[int, Shard] = {}
        """Released shards, kept open: after most rebalances the same worker gets them again."""
        self._assigned_at = 0.0
        """When `partitions` was set, in seconds of the monotonic clock."""
        self._ready: set[int] = set()
        """The held partitions whose shards were folded to the log's end since they were assigned."""
        self._releases: Counter[int] = Counter()
        self._leases: dict[int, Lease] = {}
        """The present lease of each partition for which one was taken."""
        self._has_globals = False
        self._changed = asyncio.Event()

    def assign(self, partitions: Collection[int]) -> list[Shard]:
        """Set the assigned partitions and release all others; return the shards of those, which no longer rest."""
        self.partitions = frozenset(partitions)
        self._assigned_at = time.monotonic()
        self.refused = {one for one in self.refused if one in self.partitions or one < 0}
        for partition in self.shards.keys() - self.partitions:
            self.release(partition)
        unassigned = [self.resting.pop(partition) for partition in self.resting.keys() - self.partitions]
        self._notify()
        return unassigned

    def unassign(self) -> None:
        """Note that partitions move: which ones this worker will have is not known."""
        self.partitions = None
        self._notify()

    def take(self, partition: int) -> Shard | None:
        """Return a partition's shard if it is open, for a caller that folds it. It is not ready in the meantime."""
        self._ready.discard(partition)
        return self.shards.get(partition) or self.resting.pop(partition, None)

    def put_back(self, partition: int, shard: Shard) -> None:
        """Let a shard that was taken rest, unless it is held or was replaced."""
        if partition not in self.shards and not shard.retired:
            self.resting[partition] = shard

    def hold(self, partition: int, shard: Shard) -> None:
        """Hold a partition, and let it be decided upon. The caller has folded the shard.

        A rebuild may have switched while the caller folded a shard that was held: then the new generation's stays.
        """
        if partition not in self.shards or not shard.retired:
            self.shards[partition] = self.resting.pop(partition, shard)
        self._ready.add(partition)
        self.refused.discard(partition)
        self._notify()

    def hold_globals(self) -> None:
        """Note that the shard of global memories, which every worker holds, has been folded."""
        self._has_globals = True
        self.refused = {one for one in self.refused if one >= 0}
        self._notify()

    def release(self, partition: int) -> None:
        """End the leases of a partition: from now on another worker may decide about its users."""
        self._releases[partition] += 1
        self._leases.pop(partition, None)
        self._ready.discard(partition)
        shard = self.shards.pop(partition, None)
        if shard is not None:
            self.resting[partition] = shard
        self._notify()

    def replace(self, shards: dict[int, Shard]) -> None:
        """Hold the shards of another generation; no lease ends."""
        self.shards = shards
        self.resting.clear()

    def held(self) -> list[int]:
        """Return the partitions held, in order."""
        return sorted(self.shards)

    def shard(self, partition: int) -> Shard:
        """Return the shard of a partition held. Raises NotHeld."""
        try:
            return self.shards[partition]
        except KeyError:
            raise NotHeld(partition, self.hindrances.get(partition)) from None

    def unready(self) -> frozenset[int]:
        """Return the assigned partitions that may not be decided upon yet."""
        return (self.partitions or frozenset()) - self._ready

    def is_open(self, partition: int) -> bool:
        """Return whether a partition's shard is open, held or resting."""
        return partition in self.shards or partition in self.resting

    def lease(self, partition: int) -> Lease:
        """Return the present lease of a partition; it can be taken before the partition is held."""
        lease = self._leases.get(partition)
        if lease is None:
            lease = self._leases[partition] = Lease(partition, self._releases[partition], self._releases)
        return lease

    def leases(self) -> dict[int, int]:
        """Return the lease number of each partition held. While they stay equal, no partition has come or gone."""
        return {partition: self._releases[partition] for partition in self.held()}

    async def wait_until_ready(self, partition: int) -> None:
        """Wait until a partition may be decided upon. Raises NotHeld if it is released, or is another worker's."""
        lease = self.lease(partition)
        while partition not in self._ready:
            is_elsewhere = self.partitions is not None and partition not in self.partitions
            if is_elsewhere or not lease.is_valid:
                raise NotHeld(partition)
            await self._changed.wait()

    async def until_released(self, lease: Lease, work: Coroutine[Any, Any, None]) -> None:
        """Run the work until it is done or the lease ends. Work that is cancelled has stopped when this returns."""
        working = asyncio.ensure_future(work)
        try:
            while lease.is_valid and not working.done():
                changed = asyncio.ensure_future(self._changed.wait())
                await asyncio.wait([working, changed], return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
        finally:
            if not working.done():
                working.cancel()
                await run_to_end(asyncio.wait([working]))
        if not working.cancelled():
            working.result()

    @property
    def is_settled(self) -> bool:
        """Return whether every assigned partition is ready, and the global memories have been folded."""
        return self._has_globals and self.partitions is not None and self.partitions <= self._ready

    @property
    def is_ready(self) -> bool:
        """Return whether requests are answered for every assigned partition or, after `move_seconds`, for any.

        A large shard may be folded for minutes after another worker has died. A load balancer that took this worker
        away for so long would take away the users of its other partitions, too.
        """
        if self.is_settled or self.partitions is None or not self._has_globals:
            return self.is_settled
        return bool(self._ready) and time.monotonic() - self._assigned_at > self._move_seconds

    def hinder(self, partition: int, error: Exception | None) -> None:
        """Set the hindrance of a partition, for which a start then does not wait; None clears it."""
        if error is None:
            self.hindrances.pop(partition, None)
        else:
            self.hindrances[partition] = str(error)
            if isinstance(error, LedgerDamaged):
                self.refused.add(partition)
        self._notify()

    async def changed(self) -> None:
        """Wait until the assignment changes."""
        await self._changed.wait()

    async def wait_until_answered(self) -> None:
        """Wait until requests are answered for every assigned partition without a hindrance, and for one at least.

        If all partitions, or the global memories, have a hindrance, this waits until that is mended.
        """
        while not self.is_settled:
            others = self.unready()
            if self._ready and self._has_globals and others and others <= self.hindrances.keys():
                return
            await self._changed.wait()

    def _notify(self) -> None:
        """Wake all waiters. Each checks its condition again, which may no longer hold by the time it runs."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
