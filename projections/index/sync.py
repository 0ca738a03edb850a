"""Index synchronisation: a write-behind queue that brings every change of the shards to the index."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Final

from projections.index.backlog import PendingChanges
from projections.index.changes import ChangeReader, write
from projections.index.durability import UnconfirmedWrites
from projections.index.next_generation import NextGeneration
from projections.index.protocol import IndexUnavailable
from projections.shard.errors import ShardDamaged, ShardUnavailable
from schemas.identity import Owner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from projections.index.changes import IndexSource
    from projections.index.encoding import Encoding
    from projections.index.protocol import Index, IndexGenerations, IndexQuery, Legs, LoadEntries
    from projections.shard.shard import Shard

BATCH_MEMORIES: Final = 500
"""The most memories written in one call."""


class IndexSync:
    """Writes changes of the shards to the index, each at least once. A change that cannot be written waits.

    A change goes through these states:

        mark_dirty           flush             the index was up for SAFE_AFTER_SECONDS
      -------------> pending ------> in flight ------> unconfirmed ------> safe
                        ^                |                  |
                        |                | the write failed | an outage, a restart or a stall was noticed
                        +----------------+------------------+

    Only the offset of each ledger before which all changes are safe is kept on disk. A worker that starts, newly holds
    a shard, or finds another index than before marks everything after that offset as dirty. It is another index if its
    identity has changed, which is compared before every write and around every search.

    Writers, searchers and two background tasks use this concurrently. `_writing` allows one batch at a time, because a
    put must not overtake a later removal of the same memory. A writer that waited for the lock finds that another one
    has written its changes, or writes the next batch, with the changes of all that wait. Methods that are not async run
    to their end on the event loop, and are called without a lock; so a change may be marked while its user is in
    flight, and is then written again.
    """

    def __init__(
        self,
        make_index: Callable[[LoadEntries], Index],
        source: IndexSource,
        *,
        batch_memories: int = BATCH_MEMORIES,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Synchronise an index with the shards held; the opener of the shards reports their changes here."""
        self.index = make_index(lambda tenant, user_id: source.entries(Owner(tenant, user_id)))
        self._source = source
        self._batch_memories = batch_memories
        self._pending = PendingChanges()
        self._unconfirmed = UnconfirmedWrites(monotonic)
        self._reader = ChangeReader(source)
        self._next = NextGeneration(self.index, self._reader)
        self._writing = asyncio.Lock()
        self._identity: str | None = None
        """The identity of the index that was written to last; None before the first write, or if nothing is kept."""
        self._has_backlog = False
        """Whether more may be pending than a writer should wait for: after an outage, or when much was missed."""
        self._doubts = 0
        """How often it became doubtful whether the index still has its recent writes."""

    # -- what the shards report

    def mark_dirty(self, owner: Owner, ids: Iterable[str]) -> None:
        """Queue changed memories of a user, if the index needs that user's changes."""
        if self._is_indexed(owner):
            self._pending.add(owner, ids)

    @property
    def is_behind(self) -> bool:
        """Whether any change of the shards is still to be written."""
        return bool(self._pending)

    def mark_missed(self, shard: Shard) -> None:
        """Queue every change that the index may have missed before this shard was held here.

        Does nothing before the first write, which identifies the index, and then does this for all shards.
        """
        if self._identity is not None:
            self._mark_backlog(shard.ledger.memories_since(shard.indexed(self._identity)))

    def forget(self, owners: Iterable[Owner]) -> None:
        """Forget users whose partition another worker has now."""
        for owner in owners:
            self._pending.discard(owner)
            self.index.release(owner.tenant, owner.user_id)

    # -- writing and searching

    async def search(self, owner: Owner, query: IndexQuery) -> Legs:
        """Search the index once it has the user's last change. Raises IndexUnavailable, ShardUnavailable."""
        while True:
            # Compared before the check for pending changes: while the comparison waits, another task may find that
            # the index is another one, and mark as dirty what it missed.
            if await self._is_another_index() or owner in self._pending:
                await self.flush_user(owner)
            asked = self._identity
            legs = await self.index.search(query)
            # The index may have been emptied or replaced during the search, and was empty or only partly filled.
            if asked == self._identity and not await self._is_another_index():
                return legs

    async def flush(self) -> None:
        """Write all pending changes. Raises IndexUnavailable, ShardUnavailable; unwritten changes stay pending."""
        while await self._flush_next():
            pass

    async def flush_user(self, owner: Owner) -> None:
        """Write the pending changes of one user, ahead of all others. Raises as `flush`.

        For searches only. Writers use `try_flush`, in which one call carries the changes of many waiting writers, and
        the queue gets empty.
        """
        while await self._flush_next(owner) and owner in self._pending:
            pass

    async def try_flush(self) -> None:
        """Write all pending changes, so that a writer can find its own writes.

        Does nothing while the index is down or has a backlog: a writer does not wait for that. Damage to a shard, which
        may be another one than the writer's, concerns whoever folds it.
        """
        with contextlib.suppress(IndexUnavailable, ShardUnavailable, ShardDamaged):
            while not self._has_backlog and await self._flush_next():
                pass

    async def _flush_next(self, owner: Owner | None = None) -> bool:
        """Write the next batch, of one user if one is named; return whether there was any."""
        async with self._writing:
            await self._recognise_index()
            batch = self._pending.take(self._batch_memories, owner, self._source.is_held, self._is_indexed)
            if batch:
                await self._write_batch(batch)
            elif owner is None:
                self._has_backlog = False
                self._keep_safe_offsets()
            return bool(batch)

    async def _write_batch(self, batch: Mapping[Owner, Sequence[str]]) -> None:
        """Write a batch from the queue, or put it back on an error. Raises as `flush`."""
        doubts = self._doubts
        self._pending.begin(batch)
        try:
            changes = await self._reader.read(batch)
            await write(self.index, changes)
            await self._next.write(batch, changes)
        except asyncio.CancelledError:  # the caller was cancelled, which says nothing about the index
            self._pending.add_all(batch)
            raise
        except BaseException:
            self._pending.add_all(batch)
            self._requeue_unconfirmed()
            raise
        finally:
            self._pending.end()
        self._pending.add_all({owner: ids for owner, ids in batch.items() if owner not in changes})
        self._note_written({owner: ids for owner, ids in batch.items() if owner in changes}, doubts)

    def _note_written(self, batch: Mapping[Owner, Sequence[str]], doubts: int) -> None:
        """Note an acknowledged batch; `doubts` is the number of doubts when it began.

        If there are more by now, the index may have been killed in the middle of the batch, and have lost a part of
        it: the batch is pending again, although every call succeeded.
        """
        if self._doubts != doubts:
            self._pending.add_all(batch)
        elif self.index.outlives_process:
            self._unconfirmed.add(batch)

    def _is_indexed(self, owner: Owner) -> bool:
        return self.index.needs_changes(owner.tenant, owner.user_id)

    # -- which index it is, and whether it is up

    async def _is_another_index(self) -> bool:
        return self.index.outlives_process and await self.index.identity() != self._identity

    async def _recognise_index(self) -> None:
        """Identify the index; if it is another one than before, mark all changes that it may have missed."""
        try:
            if not await self._is_another_index():
                return
            identity = await self.index.identity()
        except IndexUnavailable:
            self._has_backlog = True
            raise
        missed = []
        if identity is not None:
            missed = [shard.ledger.memories_since(shard.indexed(identity)) for shard in self._source.all()]
        # Set only now: a shard that cannot be read has raised above, and then all of this must be repeated.
        self._identity = identity
        self._unconfirmed.clear()
        for changes in missed:
            self._mark_backlog(changes)

    async def check_health(self) -> None:
        """Check whether the index is up; if it was down, or may have been, queue unconfirmed writes again.

        To be called every LOOK_EVERY_SECONDS, also during a write: it takes no lock. A restart between two calls is
        noticed because it takes longer than that; if this process was frozen, a restart is assumed.
        """
        if self.index.outlives_process:
            self._requeue_if_stalled()
            was_up = self._unconfirmed.is_up
            try:
                await self.index.check()
            except IndexUnavailable:
                self._unconfirmed.is_up = False
            else:
                self._unconfirmed.is_up = True
            if was_up != self._unconfirmed.is_up:
                # Also when it is up again: writes that it accepted meanwhile, without answering the check, may be lost.
                self._requeue_unconfirmed()
            elif was_up and not self._pending and not self._writing.locked():
                self._keep_safe_offsets()
            self._requeue_if_stalled()

    def _requeue_if_stalled(self) -> None:
        """Assume that the index was killed if this process has not checked it in time."""
        if self._unconfirmed.has_stalled():
            self._requeue_unconfirmed()
        self._unconfirmed.note_check()

    def _requeue_unconfirmed(self) -> None:
        """Queue recent writes again: the index may have been killed, and have lost them."""
        self._has_backlog = True
        self._doubts += 1
        for batch in self._unconfirmed.take_all():
            self._pending.add_all(batch)

    def _keep_safe_offsets(self) -> None:
        """Store in the shards the offsets up to which the index is safe. No change may be pending or in flight."""
        if self._identity is not None:
            for shard, offset in self._unconfirmed.confirm(self._source.all()):
                shard.keep_indexed(self._identity, offset)

    def _mark_backlog(self, changes: Mapping[Owner, Iterable[str]]) -> None:
        """Queue changes that the index has missed; there may be many, and writers do not wait for them."""
        self._has_backlog = self._has_backlog or bool(changes)
        self._pending.add_all(changes)

    # -- generations

    @property
    def generations(self) -> IndexGenerations | None:
        """The generations of an index that outlives this process; None if it does not."""
        return self.index.generations

    async def build(
        self,
        generation: int,
        owners: Sequence[Owner],
        go_on: Callable[[], None] = lambda: None,
        encoding: Encoding | None = None,
    ) -> None:
        """Fill a generation of the index with these users; from now on every change is written to it as well.

        It gets the vectors of an encoding, which stays open until `drop_built`, or else the serving ones. Does nothing
        if the index is loaded from the shards for each search. `go_on` is called before each user; an exception from it
        ends the build. Raises IndexUnavailable.
        """
        generations = self.index.generations
        if generations is None:
            return
        go_on()
        index = await self._next.open(generations, generation, encoding)
        for owner in owners:
            async with self._writing:
                go_on()
                if not self._source.is_held(owner):
                    raise IndexUnavailable("partitions have moved between workers meanwhile: rebuild again")
                entries = list(self._source.entries(owner, encoding))  # read once, and used twice
                doubts = self._doubts
                await index.put(entries)
                self._note_written({owner: [entry.memory_id for entry in entries]}, doubts)

    async def switch(self) -> None:
        """Synchronise with shards of another generation, which have just replaced the former ones."""
        if self.index.generations is None:
            async with self._writing:
                self._pending.clear()
                await self.index.reopen()

    async def drop_built(self) -> None:
        """Write to the searched generation only again."""
        if self._next.is_open:
            async with self._writing:
                await self._next.drop()
                await self.index.reopen()

    async def close(self) -> None:
        """Close the connections to the index."""
        await self.drop_built()
        await self.index.close()
