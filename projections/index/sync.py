"""Keeps the index after the shards: what changed, what it was told, and what it may have lost."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Final

from projections.index.durability import UnconfirmedWrites
from projections.index.protocol import IndexUnavailable
from projections.shard.errors import ShardUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from projections.index.protocol import Index, IndexEntry, IndexGenerations, IndexQuery, Legs
    from projections.shard.shard import Shard
    from schemas.identity import Owner

TOLD_AT_ONCE: Final = 500
"""Memories that the index is told of in one call."""


class IndexSync:
    """Tells the index of changes, each at least once. What it cannot be told of waits, and nothing is forgotten."""

    def __init__(
        self,
        index: Index,
        split: Callable[[Owner, Sequence[str]], tuple[list[IndexEntry], dict[str, int]]],
        entries: Callable[[Owner], Sequence[IndexEntry]],
        shards: Callable[[], Sequence[Shard]],
        is_held: Callable[[Owner], bool],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`split` returns a user's named memories: entries of those that are active, the others' ids and versions.

        `entries` returns those of all active memories of a user, `shards` those that are held.
        """
        self.index = index
        self._split = split
        self._entries = entries
        self._shards = shards
        self._is_held = is_held
        self._kept_as: str | None = None
        """What the index was found to hold when it was told last."""
        self._beside: Index | None = None
        """Another generation, which is being built and follows the shards as well."""
        self._number_beside = 0
        self._behind: dict[Owner, dict[str, None]] = {}
        self._being_told: frozenset[Owner] = frozenset()
        self._lately = UnconfirmedWrites(monotonic)
        self._doubts = 0
        """How often it was in doubt whether the index has what it was told."""
        self._telling = asyncio.Lock()
        self._lags = False

    def note(self, owner: Owner, ids: Iterable[str]) -> None:
        """Note that memories have changed."""
        self._behind.setdefault(owner, {}).update(dict.fromkeys(ids))

    def note_missed(self, shard: Shard) -> None:
        """Note what the index may have missed before this shard was held here; if it is known, else when it is."""
        if self._kept_as is not None:
            self._note_missed(shard.ledger.memories_since(shard.indexed(self._kept_as)))

    def let_go(self, owners: Iterable[Owner]) -> None:
        """Forget users whose partition another worker has now."""
        for owner in owners:
            self._behind.pop(owner, None)
            self.index.release(owner.tenant, owner.user_id)

    async def search(self, owner: Owner, query: IndexQuery) -> Legs:
        """Search the index when it has been told of the user's last change. Raises IndexUnavailable."""
        while True:
            # Asked first: while it waits, somebody else may find that the index is another, and begin to fill it.
            if await self._is_another() or owner in self._behind or owner in self._being_told:
                await self.tell_of(owner)
            asked = self._kept_as
            legs = await self.index.search(query)
            if asked == self._kept_as and not await self._is_another():  # else it was empty, or is being filled
                return legs

    async def tell(self) -> None:
        """Bring the index to where the shards are. Raises IndexUnavailable, ShardUnavailable: nothing is forgotten."""
        while await self._tell_next():
            pass

    async def tell_of(self, owner: Owner) -> None:
        """Bring the index to where a user's shard is, for that user alone. Raises as `tell`.

        It goes before what `tell` still has to tell. Not for those who write: they are to wait until all was told, so
        that it comes to that, and what many have written is told in one call.
        """
        while await self._tell_next(owner) and (owner in self._behind or owner in self._being_told):
            pass

    async def tell_if_it_answers(self) -> None:
        """Bring the index to where the shards are, so that who has written finds it; not one that lags behind."""
        with contextlib.suppress(IndexUnavailable, ShardUnavailable):
            while not self._lags and await self._tell_next():
                pass

    async def _tell_next(self, owner: Owner | None = None) -> bool:
        """Tell the index of what is next, of one user if one is named; return whether there was anything."""
        async with self._telling:  # a put must not overtake a later removal; who waits comes next
            await self._recognise()
            some = self._take(list(self._behind) if owner is None else [owner])
            if some:
                self._being_told, doubts = frozenset(some), self._doubts
                try:
                    await self._tell(some)
                except asyncio.CancelledError:  # which says nothing about the index
                    self._note_all(some)
                    raise
                except BaseException:
                    self._note_all(some)
                    self._doubt()
                    raise
                finally:
                    self._being_told = frozenset()
                self._note_told(some, doubts)
            elif owner is None:
                self._lags = False
                self._keep_reached()
            return bool(some)

    async def look(self) -> None:
        """See whether the index answers; if not, it is in doubt.

        To be called every LOOK_EVERY_SECONDS, also while it is being told.
        """
        if self._outlives:
            self._notice_if_it_stood_still()
            was_seen = self._lately.is_seen
            try:
                await self.index.check()
            except IndexUnavailable:
                self._lately.is_seen = False
            else:
                self._lately.is_seen = True
            if was_seen != self._lately.is_seen:  # also of what it took while it did not answer in time
                self._doubt()
            elif was_seen and not self._behind and not self._telling.locked():
                self._keep_reached()
            self._notice_if_it_stood_still()

    def _notice_if_it_stood_still(self) -> None:
        """Doubt when this process did not look in time: the index may have been killed meanwhile."""
        if self._lately.has_stood_still():
            self._doubt()
        self._lately.looks()

    @property
    def _outlives(self) -> bool:
        """What is put outlives this process, and may be lost or exchanged without it."""
        return self.index.outlives_process

    async def _is_another(self) -> bool:
        return self._outlives and await self.index.identity() != self._kept_as

    async def _recognise(self) -> None:
        """Find out what the index holds; note all that it may have missed if that is not what was told last."""
        try:
            if not await self._is_another():
                return
            kept_as = await self.index.identity()
        except IndexUnavailable:
            self._lags = True
            raise
        missed = []
        if kept_as is not None:
            missed = [shard.ledger.memories_since(shard.indexed(kept_as)) for shard in self._shards()]
        self._kept_as = kept_as  # not before all that it missed is known: it is not asked for again
        self._lately.forget()
        for changed in missed:
            self._note_missed(changed)

    # -- generations

    @property
    def generations(self) -> IndexGenerations | None:
        """The generations of an index that outlives this process."""
        return self.index.generations

    async def build(self, generation: int, owners: Sequence[Owner], go_on: Callable[[], None] = lambda: None) -> None:
        """Fill a generation of the index with these users, beside the one that is searched; both follow from now on.

        Does nothing where the index is made from the shards when it is searched. `go_on` is called before each user
        and raises what ends it. Raises IndexUnavailable.
        """
        generations = self.index.generations
        if generations is None:
            return
        go_on()
        self._beside, self._number_beside = (beside := generations.open(generation)), generation
        await beside.check()  # now it is there, whether anybody has memories or not
        for owner in owners:
            async with self._telling:
                go_on()
                if not self._is_held(owner):
                    raise IndexUnavailable("partitions have moved between workers meanwhile: rebuild again")
                entries, doubts = self._entries(owner), self._doubts
                await beside.put(entries)
                self._note_told({owner: [entry.memory_id for entry in entries]}, doubts)

    async def switch(self) -> None:
        """Follow shards of another generation."""
        if self.index.generations is None:
            async with self._telling:
                self._behind.clear()
                await self.index.reopen()

    async def drop_built(self) -> None:
        """Follow with one generation only again, whichever is searched by now."""
        if self._beside is not None:
            async with self._telling:
                beside, self._beside = self._beside, None
                if beside is not None:  # it may have been found deleted while this waited
                    await beside.close()
                await self.index.reopen()

    async def close(self) -> None:
        """Let go of connections."""
        await self.drop_built()
        await self.index.close()

    def _take(self, owners: Iterable[Owner]) -> dict[Owner, list[str]]:
        """Take off the list what the index is told next of these users, as much as one call holds."""
        some: dict[Owner, list[str]] = {}
        count = 0
        for owner in owners:
            if count >= TOLD_AT_ONCE:
                break
            if owner not in self._behind or not self._is_held(owner):
                continue  # the user is moving between workers: whoever comes to hold the shard sees to it
            waiting = self._behind.pop(owner)
            if self.index.needs_changes(owner.tenant, owner.user_id):
                some[owner] = list(waiting)[: TOLD_AT_ONCE - count]
                count += len(some[owner])
                if left := list(waiting)[len(some[owner]) :]:
                    self._behind[owner] = dict.fromkeys(left)
        return some

    async def _tell(self, changed: Mapping[Owner, Sequence[str]]) -> None:
        split = {owner: self._split(owner, ids) for owner, ids in changed.items()}
        await _put_and_remove(self.index, split)
        if (beside := self._beside) is not None:
            try:
                await _put_and_remove(beside, split)
            except IndexUnavailable:
                if not await self._beside_is_deleted():
                    raise
                # who froze in a rebuild that was given up, and slept through the next one, was not told
                self._beside = None
                await beside.close()

    async def _beside_is_deleted(self) -> bool:
        generations = self.index.generations
        return generations is not None and self._number_beside not in (await generations.known())[1]

    def _doubt(self) -> None:
        """Note again what the index was told recently: it may have been killed."""
        self._lags = True
        self._doubts += 1
        for some in self._lately.take_back():
            self._note_all(some)

    def _keep_reached(self) -> None:
        """Keep in the shards how far the index safely is; after a kill of everything it is told from there."""
        if self._kept_as is not None:
            for shard, offset in self._lately.reaches(self._shards()):
                shard.keep_indexed(self._kept_as, offset)

    def _note_told(self, some: Mapping[Owner, Sequence[str]], doubts: int) -> None:
        """Note what the index has been told since there were so many doubts."""
        if self._doubts != doubts:  # it may have been killed in the middle, and have lost the first half
            self._note_all(some)
        elif self._outlives:
            self._lately.note(some)

    def _note_missed(self, changed: Mapping[Owner, Iterable[str]]) -> None:
        """Note what the index has missed; it may be much, and who writes does not wait for all of it."""
        self._lags = self._lags or bool(changed)
        self._note_all(changed)

    def _note_all(self, changed: Mapping[Owner, Iterable[str]]) -> None:
        for owner, ids in changed.items():
            self.note(owner, ids)


async def _put_and_remove(index: Index, changed: Mapping[Owner, tuple[list[IndexEntry], dict[str, int]]]) -> None:
    """Remove what is gone, and put what is active."""
    for owner, (_, gone) in changed.items():
        if gone:
            await index.remove(owner.tenant, owner.user_id, gone)
    await index.put([entry for entries, _ in changed.values() for entry in entries])
