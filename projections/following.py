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

    from projections.index import Index, IndexEntry
    from projections.shard import Shard
    from schemas.identity import Owner

TOLD_AT_ONCE: Final = 500
"""Memories that the index is told of in one call."""
SAFE_AFTER_SECONDS: Final = 30.0
"""An index that is killed may lose what it acknowledged so recently; Weaviate does, of vectors, for about 3 s."""
LOOK_EVERY_SECONDS: Final = 2.0
"""Shorter than any index takes to start, so that no restart goes unnoticed."""


class Following:
    """Tells the index of changes, each at least once. What it cannot be told of waits, and nothing is forgotten."""

    def __init__(
        self,
        index: Index,
        split: Callable[[Owner, Sequence[str]], tuple[list[IndexEntry], list[str]]],
        shards: Callable[[], Sequence[Shard]],
    ) -> None:
        """`split` returns a user's named memories as entries of those that are active, and the ids of the others."""
        self._index = index
        self._split = split
        self._shards = shards
        self._behind: dict[Owner, dict[str, None]] = {}
        self._told: deque[tuple[float, Mapping[Owner, Sequence[str]]]] = deque()
        self._reached: deque[tuple[float, list[tuple[Shard, int]]]] = deque()
        self._telling = asyncio.Lock()
        self._lags = False

    def note(self, owner: Owner, ids: Iterable[str]) -> None:
        """Note that memories have changed."""
        self._behind.setdefault(owner, {}).update(dict.fromkeys(ids))

    def note_missed(self) -> None:
        """Note what the index may have missed: before this process began, or because it is another index."""
        if self._index.kept_as is not None:
            for shard in self._shards():
                self._note_all(shard.ledger.memories_since(shard.indexed(self._index.kept_as)))

    async def tell(self) -> None:
        """Bring the index to where the shards are. Raises IndexUnavailable; then nothing is forgotten."""
        async with self._telling:  # a put must not overtake a later removal
            while some := self._take():
                try:
                    await self._tell(some)
                except BaseException:
                    self._note_all(some)
                    self._doubt()
                    raise
                if self._index.kept_as is not None:
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
        if self._index.kept_as is not None:
            try:
                await self._index.check()
            except IndexUnavailable:
                self._doubt()
            else:
                if not self._behind and not self._telling.locked():
                    self._keep_reached()

    async def rebuild(self, owners: Sequence[Owner]) -> None:
        """Fill the index anew from the shards. Raises IndexUnavailable; then it is told of everything bit by bit."""
        async with self._telling:
            behind, self._behind = self._behind, {}
            self._lags = True  # decisions do not wait for it
            try:
                await self._index.reset([(owner.tenant, owner.user_id) for owner in owners])
            except BaseException:
                self._note_all(behind)
                self.note_missed()
                raise
            self._lags = False

    def _take(self) -> dict[Owner, list[str]]:
        """Take off the list what the index is told next, about as much as one call holds."""
        some: dict[Owner, list[str]] = {}
        count = 0
        for owner in list(self._behind):
            if count >= TOLD_AT_ONCE:
                break
            ids = list(self._behind.pop(owner))
            if self._index.follows(owner.tenant, owner.user_id):
                some[owner] = ids
                count += len(ids)
        return some

    async def _tell(self, changed: Mapping[Owner, Sequence[str]]) -> None:
        entries: list[IndexEntry] = []
        for owner, ids in changed.items():
            active, gone = self._split(owner, ids)
            entries += active
            if gone:
                await self._index.remove(owner.tenant, owner.user_id, gone)
        await self._index.put(entries)

    def _doubt(self) -> None:
        """Note again what the index was told recently: it may have been killed."""
        self._lags = True
        while self._told:
            self._note_all(self._told.popleft()[1])
        self._reached.clear()

    def _keep_reached(self) -> None:
        """Keep in the shards how far the index safely is; after a kill of everything it is told from there."""
        if self._index.kept_as is None:
            return
        now = time.monotonic()
        self._reached.append((now, [(shard, shard.offset(shard.ledger_topic)) for shard in self._shards()]))
        while self._told and self._told[0][0] < now - SAFE_AFTER_SECONDS:
            self._told.popleft()
        safe: list[tuple[Shard, int]] = []
        while self._reached and self._reached[0][0] < now - SAFE_AFTER_SECONDS:
            safe = self._reached.popleft()[1]
        for shard, offset in safe:
            shard.keep_indexed(self._index.kept_as, offset)

    def _note_all(self, changed: Mapping[Owner, Iterable[str]]) -> None:
        for owner, ids in changed.items():
            self.note(owner, ids)
