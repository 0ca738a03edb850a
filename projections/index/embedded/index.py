"""The embedded index: exact search in memory, over tables that are a cache of the shard."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from projections.index.embedded.table import UserTable
from projections.index.protocol import Legs
from projections.turns import MANY_MEMORIES, TimeSlice
from projections.user_cache import UserCache

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from projections.index.protocol import IndexEntry, IndexQuery, LoadEntries

DEFAULT_BYTES: Final = 1536 << 20
SMALL_BYTES: Final = 96 << 20
"""Of tables of some hundred memories at most: each is loaded within milliseconds."""


class EmbeddedIndex:
    """BM25 and exact cosine over one user's memories. A user's table is loaded at the first search and kept up to date.

    Nothing is stored: dropping a table is always safe, the next search loads it again. So when the tables need more
    than `max_bytes`, those searched longest ago are dropped; the one in use is kept however large it is.

    A search of a loaded user reads one state, to its end on the event loop; where that has many memories, others
    have their turn before. It takes about as long as one matrix product over the user's vectors; a load about 15
    microseconds a memory, besides what the loader takes. Long texts are taken apart between other work: others are
    answered during a load, and during a put of many.

    The shard must hold a change before it is put or removed here, or a load in between would not see it. A change
    during a load holds for what is loaded. Of what was removed nothing is kept, so a put that arrives after it, late,
    brings the memory back: the reader drops hits whose version is not the shard's.
    """

    def __init__(self, load: LoadEntries, *, max_bytes: int = DEFAULT_BYTES, small_bytes: int = SMALL_BYTES) -> None:
        """`load(tenant, user_id)` returns the user's active memories from the shard; what it raises, search raises."""
        self._load = load
        self._tables: UserCache[tuple[str, str], UserTable] = UserCache(small_bytes, max_bytes)
        self._loading: dict[tuple[str, str], _Loading] = {}

    @property
    def nbytes(self) -> int:
        """Estimate of the memory that all tables use."""
        return self._tables.nbytes

    @property
    def outlives_process(self) -> bool:
        """Nothing does."""
        return False

    async def identity(self) -> None:
        """Return None: nothing outlives this process."""
        return

    def needs_changes(self, tenant: str, user_id: str) -> bool:
        """Return whether the user's table is loaded, or is being loaded."""
        return (tenant, user_id) in self._tables or (tenant, user_id) in self._loading

    async def put(self, entries: Sequence[IndexEntry]) -> None:
        """Store each entry unless the same or a later version is held; nothing for users that are not loaded."""
        changed = set()
        share = TimeSlice()
        for entry in entries:
            user = (entry.tenant, entry.user_id)
            loading = self._loading.get(user)
            table = self._tables.peek(user) if loading is None else loading.table
            if table is not None:
                await share.pause()
                table.put(entry)
                changed.add(user)
        for user in changed:
            self._settle(user)

    async def remove(self, tenant: str, user_id: str, memory_ids: Mapping[str, int]) -> None:
        """Drop memories, each unless it is held at a later version; unknown ids and users are no error."""
        user = (tenant, user_id)
        if (loading := self._loading.get(user)) is not None:
            loading.remove(memory_ids)
        table = self._tables.peek(user)
        if table is not None:
            for memory_id, version in memory_ids.items():
                table.remove(memory_id, version)
            self._settle(user)

    async def search(self, query: IndexQuery) -> Legs:
        """Search one user's memories; an unknown user has empty legs."""
        user = (query.tenant, query.user_id)
        known = self._tables.peek(user)
        if known is not None and len(known) >= MANY_MEMORIES:
            await asyncio.sleep(0)  # a question may search several times, and look at all of them in between
        table = await self._table(user)
        return Legs((), ()) if table is None else table.search(query)

    async def _table(self, user: tuple[str, str]) -> UserTable | None:
        """Return a user's table, loaded if it is not, or None for a user without memories."""
        while (table := self._tables.get(user)) is None:
            if (other := self._loading.get(user)) is not None:
                await other.ended.wait()
                continue
            entries = self._load(*user)
            if not entries:
                return None
            loading = self._loading[user] = _Loading(UserTable(len(entries)))
            try:
                await loading.put(entries)
                if self._loading.get(user) is loading:  # else it was dropped meanwhile
                    loading.table.pack()
                    self._tables.put(user, loading.table, loading.table.nbytes)
            finally:
                if self._loading.get(user) is loading:
                    del self._loading[user]
                loading.ended.set()
        return table

    @property
    def generations(self) -> None:
        """There are none: nothing outlives this process."""
        return

    def release(self, tenant: str, user_id: str) -> None:
        """Drop the user's table."""
        self._drop((tenant, user_id))

    async def reopen(self) -> None:
        """Drop all tables: each is loaded again when it is asked for."""
        self._tables.clear()
        self._loading.clear()

    async def check(self) -> None:
        """Do nothing: it is in this process."""

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    def _settle(self, user: tuple[str, str]) -> None:
        """Drop a worn table, and count another one anew."""
        table = self._tables.peek(user)
        if table is None:
            return
        if table.is_worn:
            self._drop(user)
        else:
            table.pack()
            self._tables.resize(user, table.nbytes)

    def _drop(self, user: tuple[str, str]) -> None:
        self._loading.pop(user, None)
        self._tables.pop(user)


class _Loading:
    """A user's table while it is loaded, and what was removed meanwhile."""

    def __init__(self, table: UserTable) -> None:
        self.table = table
        self.ended = asyncio.Event()
        self._removed: dict[str, int] = {}

    async def put(self, entries: Sequence[IndexEntry]) -> None:
        """Put what the shard had, except for what was removed since."""
        share = TimeSlice()
        for entry in entries:
            await share.pause()
            if self._removed.get(entry.memory_id, -1) < entry.version:
                self.table.put(entry)

    def remove(self, memory_ids: Mapping[str, int]) -> None:
        """Remove memories, also those that are still to be put."""
        for memory_id, version in memory_ids.items():
            self._removed[memory_id] = max(version, self._removed.get(memory_id, -1))
            self.table.remove(memory_id, version)
