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
from projections.shard.errors import ShardUnavailable
from schemas.identity import Owner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from projections.index.changes import IndexSource
    from projections.index.encoding import Encoding
    from projections.index.protocol import Index, IndexGenerations, IndexQuery, Legs, LoadEntries
    from projections.shard.shard import Shard

BATCH_MEMORIES: Final = 500
"""Memories that are written in one call."""


class IndexSync:
    """Writes changes to the index behind the shards, each at least once. What cannot be written waits.

    A change goes through these states:

        mark_dirty           flush             the index was up for SAFE_AFTER_SECONDS
      -------------> pending ------> in flight ------> unconfirmed ------> safe
                        ^                |                  |
                        |                | the write failed | an outage, a restart or a stall was noticed
                        +----------------+------------------+

    Nothing of this is kept on disk but the offset of each ledger before which all changes are safe. A worker that
    starts, comes to hold a shard, or meets another index than before marks everything behind that offset as dirty. It
    is another index when its identity has changed, which is compared before every write and around every search.

    Writers, searchers and two background tasks meet here. `_writing` lets one batch go at a time, because a put must
    not overtake a later removal of the same memory. A writer that waited for the lock finds that its changes were
    written by another one, or writes the next batch, with the changes of all that wait. Methods that are not async run
    to their end on the event loop, and are called under no lock; so a change may be marked while its user is in flight,
    and is then written again.
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
        """Of the index that was written to last; None before the first write, or where nothing is kept."""
        self._has_backlog = False
        """More may be pending than a writer should wait for: after an outage, or when much was missed."""
        self._doubts = 0
        """How often it came into doubt whether the index has what was written to it."""

    # -- what the shards report

    def mark_dirty(self, owner: Owner, ids: Iterable[str]) -> None:
        """Have memories of a user whom the index follows written to it, or removed from it."""
        if self._is_indexed(owner):
            self._pending.add(owner, ids)

    @property
    def is_behind(self) -> bool:
        """Whether any change of the shards is still to be written."""
        return bool(self._pending)

    def mark_missed(self, shard: Shard) -> None:
        """Have all written that the index may have missed before this shard was held here.

        Does nothing before the first write, which finds out which index it is, and then does this for all shards.
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
        """Search the index when it has the user's last change. Raises IndexUnavailable, ShardUnavailable."""
        while True:
            # Compared before the look at what is pending: while that waits, another task may find that the index is
            # another one, and mark as dirty what it missed.
            if await self._is_another_index() or owner in self._pending:
                await self.flush_user(owner)
            asked = self._identity
            legs = await self.index.search(query)
            # The index may have been emptied or exchanged during the search, and was empty then, or is being filled.
            if asked == self._identity and not await self._is_another_index():
                return legs

    async def flush(self) -> None:
        """Write all that is pending. Raises IndexUnavailable, ShardUnavailable; what was not written stays pending."""
        while await self._flush_next():
            pass

    async def flush_user(self, owner: Owner) -> None:
        """Write what is pending of one user, ahead of all others. Raises as `flush`.

        For searches only. Writers use `try_flush`: in that, one call carries the changes of many who wait, and the
        queue gets empty.
        """
        while await self._flush_next(owner) and owner in self._pending:
            pass

    async def try_flush(self) -> None:
        """Write all that is pending, so that a writer finds what it wrote.

        Does nothing while the index is down or has a backlog: a writer does not wait for that.
        """
        with contextlib.suppress(IndexUnavailable, ShardUnavailable):
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
        """Write a batch that was taken, or put it back. Raises as `flush`."""
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
        self._note_written(batch, doubts)

    def _note_written(self, batch: Mapping[Owner, Sequence[str]], doubts: int) -> None:
        """Note a batch that was acknowledged, and that was begun when there had been so many doubts.

        If there are more by now, the index may have been killed in the middle of the batch, and have lost what it had
        of it: the batch is pending again, although every call succeeded.
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
        """Find out which index it is; if it is another one than before, mark all that it may have missed."""
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
        # Set only now: a shard that cannot be read has raised above, and then all of this is to be done again.
        self._identity = identity
        self._unconfirmed.clear()
        for changes in missed:
            self._mark_backlog(changes)

    async def check_health(self) -> None:
        """See whether the index is up; if it was down, or may have been, have unconfirmed writes written again.

        To be called every LOOK_EVERY_SECONDS, also while a write goes on: it takes no lock. A restart that falls
        between two calls is noticed because it takes longer; one that this process slept through is assumed.
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
                # Also when it is up again: writes that it took meanwhile, without answering the check, may be lost.
                self._requeue_unconfirmed()
            elif was_up and not self._pending and not self._writing.locked():
                self._keep_safe_offsets()
            self._requeue_if_stalled()

    def _requeue_if_stalled(self) -> None:
        """Assume that the index was killed when this process has not checked it in time."""
        if self._unconfirmed.has_stalled():
            self._requeue_unconfirmed()
        self._unconfirmed.note_check()

    def _requeue_unconfirmed(self) -> None:
        """Make what was written recently pending again: the index may have been killed, and have lost it."""
        self._has_backlog = True
        self._doubts += 1
        for batch in self._unconfirmed.take_all():
            self._pending.add_all(batch)

    def _keep_safe_offsets(self) -> None:
        """Keep in the shards up to where the index is safe. Nothing is pending or in flight when this is called."""
        if self._identity is not None:
            for shard, offset in self._unconfirmed.confirm(self._source.all()):
                shard.keep_indexed(self._identity, offset)

    def _mark_backlog(self, changes: Mapping[Owner, Iterable[str]]) -> None:
        """Mark what the index has missed; it may be much, and writers do not wait for it."""
        self._has_backlog = self._has_backlog or bool(changes)
        self._pending.add_all(changes)

    # -- generations

    @property
    def generations(self) -> IndexGenerations | None:
        """The generations of an index that outlives this process; None where it does not."""
        return self.index.generations

    async def build(
        self,
        generation: int,
        owners: Sequence[Owner],
        go_on: Callable[[], None] = lambda: None,
        encoding: Encoding | None = None,
    ) -> None:
        """Fill a generation of the index with these users; from now on every change is written to it as well.

        It gets the vectors of an encoding, which stays open until `drop_built`, or those that serve. Does nothing where
        the index is made from the shards when it is searched. `go_on` is called before each user and raises what ends
        it. Raises IndexUnavailable.
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
        """Synchronise with shards of another generation, which have just taken the place of the former ones."""
        if self.index.generations is None:
            async with self._writing:
                self._pending.clear()
                await self.index.reopen()

    async def drop_built(self) -> None:
        """Write to one generation only again, whichever is searched by now."""
        if self._next.is_open:
            async with self._writing:
                await self._next.drop()
                await self.index.reopen()

    async def close(self) -> None:
        """Close the connections to the index."""
        await self.drop_built()
        await self.index.close()
