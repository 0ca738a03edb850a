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
"""The limit for tables of some hundred memories at most, each of which is loaded within milliseconds."""


class EmbeddedIndex:
    """BM25 and exact cosine over one user's memories. A user's table is loaded at the first search and kept up to date.

    Nothing is stored: dropping a table is always safe, the next search loads it again. So when the tables need more
    than `max_bytes`, the least recently searched ones are dropped; the one in use is kept however large it is.

    A search of a loaded user reads one state, to its end on the event loop; for a user with many memories, it first
    yields to the event loop. It takes about as long as one matrix product over the user's vectors; a load takes about
    15 microseconds a memory, plus the time of the loader. Long texts are tokenised between other work: others are
    answered during a load, and during a put of many entries.

    The shard must hold a change before it is put or removed here, or a load in between would not see it. A change
    during a load applies to the loaded table. Removals are not remembered, so a put that arrives late, after a removal,
    brings the memory back: the reader drops hits whose version is not the shard's.
    """

    def __init__(self, load: LoadEntries, *, max_bytes: int = DEFAULT_BYTES, small_bytes: int = SMALL_BYTES) -> None:
        """Load a user's active memories with `load(tenant, user_id)`, whose errors `search` passes on."""
        self._load = load
        self._tables: UserCache[tuple[str, str], UserTable] = UserCache(small_bytes, max_bytes)
        self._loading: dict[tuple[str, str], _Loading] = {}

    @property
    def nbytes(self) -> int:
        """The estimated memory of all tables."""
        return self._tables.nbytes

    @property
    def outlives_process(self) -> bool:
        """Return False: nothing outlives this process."""
        return False

    async def identity(self) -> None:
        """Return None: nothing outlives this process."""
        return

    def needs_changes(self, tenant: str, user_id: str) -> bool:
        """Return whether the user's table is loaded, or is being loaded."""
        return (tenant, user_id) in self._tables or (tenant, user_id) in self._loading

    async def put(self, entries: Sequence[IndexEntry]) -> None:
        """Store each entry unless the same or a later version is held; entries of users not loaded are ignored."""
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
        """Remove memories, except those held at a later version; unknown ids and users are not an error."""
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
            await asyncio.sleep(0)  # a question may search several times, and scan all memories in between
        table = await self._table(user)
        return Legs((), ()) if table is None else table.search(query)

    async def _table(self, user: tuple[str, str]) -> UserTable | None:
        """Return a user's table, loading it if necessary, or None for a user without memories."""
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
        """Return None: nothing outlives this process."""
        return

    def release(self, tenant: str, user_id: str) -> None:
        """Drop the user's table."""
        self._drop((tenant, user_id))

    async def reopen(self) -> None:
        """Drop all tables: each is loaded again at its next search."""
        self._tables.clear()
        self._loading.clear()

    async def check(self) -> None:
        """Do nothing: it is in this process."""

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    def _settle(self, user: tuple[str, str]) -> None:
        """Drop a worn table, or else pack it and measure it again."""
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
    """A user's table during its load, and the removals that came meanwhile."""

    def __init__(self, table: UserTable) -> None:
        self.table = table
        self.ended = asyncio.Event()
        self._removed: dict[str, int] = {}

    async def put(self, entries: Sequence[IndexEntry]) -> None:
        """Put the entries from the shard, except those removed since."""
        share = TimeSlice()
        for entry in entries:
            await share.pause()
            if self._removed.get(entry.memory_id, -1) < entry.version:
                self.table.put(entry)

    def remove(self, memory_ids: Mapping[str, int]) -> None:
        """Remove memories, including those that are still to be put."""
        for memory_id, version in memory_ids.items():
            self._removed[memory_id] = max(version, self._removed.get(memory_id, -1))
            self.table.remove(memory_id, version)
