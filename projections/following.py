"""Keeps the index after the shards: what changed, what it was told, and what it may have lost."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from typing import TYPE_CHECKING, Final

from projections.index import IndexUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from projections.index import Index, IndexEntry, IndexGenerations, IndexQuery, Legs
    from projections.shard import Shard
    from schemas.identity import Owner

TOLD_AT_ONCE: Final = 500
"""Memories that the index is told of in one call."""
SAFE_AFTER_SECONDS: Final = 30.0
"""An index that is killed may lose what it acknowledged so recently; Weaviate does, of vectors, for about 3 s."""
LOOK_EVERY_SECONDS: Final = 2.0
"""Shorter than any index takes to start, so that no restart goes unnoticed."""
UNSEEN_SECONDS: Final = 3 * LOOK_EVERY_SECONDS
"""Who has not looked for so long stood still, and may have missed a restart."""


class Following:
    """Tells the index of changes, each at least once. What it cannot be told of waits, and nothing is forgotten."""

    def __init__(
        self,
        index: Index,
        split: Callable[[Owner, Sequence[str]], tuple[list[IndexEntry], dict[str, int]]],
        entries: Callable[[Owner], Sequence[IndexEntry]],
        shards: Callable[[], Sequence[Shard]],
        is_held: Callable[[Owner], bool],
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
        self._looked = time.monotonic()
        self._told: deque[tuple[float, Mapping[Owner, Sequence[str]]]] = deque()
        self._reached: deque[tuple[float, list[tuple[Shard, int]]]] = deque()
        self._telling = asyncio.Lock()
        self._lags = False

    def note(self, owner: Owner, ids: Iterable[str]) -> None:
        """Note that memories have changed."""
        self._behind.setdefault(owner, {}).update(dict.fromkeys(ids))

    def note_missed(self, shard: Shard) -> None:
        """Note what the index may have missed before this shard was held here; if it is known, else when it is."""
        if self._kept_as is not None:
            self._note_all(shard.ledger.memories_since(shard.indexed(self._kept_as)))

    def let_go(self, owners: Iterable[Owner]) -> None:
        """Forget users whose partition another worker has now."""
        for owner in owners:
            self._behind.pop(owner, None)
            self.index.let_go(owner.tenant, owner.user_id)

    async def search(self, owner: Owner, query: IndexQuery) -> Legs:
        """Search the index when it has been told of the user's last change. Raises IndexUnavailable."""
        while True:
            # Asked first: while it waits, somebody else may find that the index is another, and begin to fill it.
            if await self._is_another() or owner in self._behind or owner in self._being_told:
                await self.tell()
            asked = self._kept_as
            legs = await self.index.search(query)
            if asked == self._kept_as and not await self._is_another():  # else it was empty, or is being filled
                return legs

    async def tell(self) -> None:
        """Bring the index to where the shards are. Raises IndexUnavailable; then nothing is forgotten."""
        async with self._telling:  # a put must not overtake a later removal
            await self._recognise()
            while some := self._take():
                self._being_told = frozenset(some)
                try:
                    await self._tell(some)
                except BaseException:
                    self._note_all(some)
                    self._doubt()
                    raise
                finally:
                    self._being_told = frozenset()
                if self._kept_as is not None:
                    self._told.append((time.monotonic(), some))
            self._lags = False
            self._keep_reached()

    async def tell_if_it_answers(self) -> None:
        """Bring the index to where the shards are, so that who has written finds it; not one that lags behind."""
        if not self._lags:
            with contextlib.suppress(IndexUnavailable):
                await self.tell()

    async def look(self) -> None:
        """See whether the index answers, to be called every LOOK_EVERY_SECONDS; if not, it is in doubt."""
        if self._outlives:
            since, self._looked = time.monotonic() - self._looked, time.monotonic()
            if since > UNSEEN_SECONDS:  # this process stood still: the index may have been killed meanwhile
                self._doubt()
            try:
                await self.index.check()
            except IndexUnavailable:
                self._doubt()
            else:
                if not self._behind and not self._telling.locked():
                    self._keep_reached()

    @property
    def _outlives(self) -> bool:
        """What is put outlives this process, and may be lost or exchanged without it."""
        return self.index.generations is not None

    async def _is_another(self) -> bool:
        return self._outlives and await self.index.kept_as() != self._kept_as

    async def _recognise(self) -> None:
        """Find out what the index holds; note all that it may have missed if that is not what was told last."""
        try:
            if not await self._is_another():
                return
            self._kept_as = await self.index.kept_as()
        except IndexUnavailable:
            self._lags = True
            raise
        self._told.clear()
        self._reached.clear()
        for shard in self._shards():
            self.note_missed(shard)

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
                await beside.put(self._entries(owner))

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
                await beside.close()
                await self.index.reopen()

    async def close(self) -> None:
        """Let go of connections."""
        await self.drop_built()
        await self.index.close()

    def _take(self) -> dict[Owner, list[str]]:
        """Take off the list what the index is told next, about as much as one call holds."""
        some: dict[Owner, list[str]] = {}
        count = 0
        for owner in list(self._behind):
            if count >= TOLD_AT_ONCE:
                break
            if not self._is_held(owner):
                continue  # the user is moving between workers: whoever comes to hold the shard sees to it
            ids = list(self._behind.pop(owner))
            if self.index.follows(owner.tenant, owner.user_id):
                some[owner] = ids
                count += len(ids)
        return some

    async def _tell(self, changed: Mapping[Owner, Sequence[str]]) -> None:
        split = {owner: self._split(owner, ids) for owner, ids in changed.items()}
        await _tell_of(self.index, split)
        if (beside := self._beside) is not None:
            try:
                await _tell_of(beside, split)
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
        while self._told:
            self._note_all(self._told.popleft()[1])
        self._reached.clear()

    def _keep_reached(self) -> None:
        """Keep in the shards how far the index safely is; after a kill of everything it is told from there."""
        if self._kept_as is None:
            return
        now = time.monotonic()
        self._reached.append((now, [(shard, shard.offset(shard.ledger_topic)) for shard in self._shards()]))
        while self._told and self._told[0][0] < now - SAFE_AFTER_SECONDS:
            self._told.popleft()
        safe: list[tuple[Shard, int]] = []
        while self._reached and self._reached[0][0] < now - SAFE_AFTER_SECONDS:
            safe = self._reached.popleft()[1]
        for shard, offset in safe:
            shard.keep_indexed(self._kept_as, offset)

    def _note_all(self, changed: Mapping[Owner, Iterable[str]]) -> None:
        for owner, ids in changed.items():
            self.note(owner, ids)


async def _tell_of(index: Index, changed: Mapping[Owner, tuple[list[IndexEntry], dict[str, int]]]) -> None:
    """Remove what is gone, and put what is active."""
    for owner, (_, gone) in changed.items():
        if gone:
            await index.remove(owner.tenant, owner.user_id, gone)
    await index.put([entry for entries, _ in changed.values() for entry in entries])
