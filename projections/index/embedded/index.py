"""The embedded index: exact search in memory, over tables that are a cache of the shard."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from projections.index.embedded.table import UserTable
from projections.index.protocol import Legs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from projections.index.protocol import IndexEntry, IndexQuery, LoadEntries

DEFAULT_BYTES: Final = 1536 * 1024 * 1024


class EmbeddedIndex:
    """BM25 and exact cosine over one user's memories. A user's table is loaded at the first search and kept up to date.

    Nothing is stored: dropping a table is always safe, the next search loads it again. So when the tables need more
    than `max_bytes`, those searched longest ago are dropped; the one in use is kept however large it is.

    Every method runs to its end on the event loop, without waiting: a search reads one state, and needs no lock. It
    takes about as long as one matrix product over the user's vectors; a load about 15 microseconds a memory, besides
    what the loader takes.

    The shard must hold a change before it is put or removed here, or a load in between would not see it. Of what was
    removed nothing is kept, so a put that arrives after it, late, brings the memory back: the reader drops hits whose
    version is not the shard's.
    """

    def __init__(self, load: LoadEntries, *, max_bytes: int = DEFAULT_BYTES) -> None:
        """`load(tenant, user_id)` returns the user's active memories from the shard; what it raises, search raises."""
        self._load = load
        self._max_bytes = max_bytes
        self._tables: OrderedDict[tuple[str, str], UserTable] = OrderedDict()
        self._sizes: dict[tuple[str, str], int] = {}
        self._bytes = 0

    @property
    def nbytes(self) -> int:
        """Estimate of the memory that all tables use."""
        return self._bytes

    @property
    def outlives_process(self) -> bool:
        """Nothing does."""
        return False

    async def identity(self) -> None:
        """Return None: nothing outlives this process."""
        return

    def needs_changes(self, tenant: str, user_id: str) -> bool:
        """Return whether the user's table is loaded."""
        return (tenant, user_id) in self._tables

    async def put(self, entries: Sequence[IndexEntry]) -> None:
        """Store each entry unless the same or a later version is held; nothing for users that are not loaded."""
        changed = set()
        for entry in entries:
            user = (entry.tenant, entry.user_id)
            table = self._tables.get(user)
            if table is not None:
                table.put(entry)
                changed.add(user)
        for user in changed:
            self._settle(user)

    async def remove(self, tenant: str, user_id: str, memory_ids: Mapping[str, int]) -> None:
        """Drop memories, each unless it is held at a later version; unknown ids and users are no error."""
        user = (tenant, user_id)
        table = self._tables.get(user)
        if table is not None:
            for memory_id, version in memory_ids.items():
                table.remove(memory_id, version)
            self._settle(user)

    async def search(self, query: IndexQuery) -> Legs:
        """Search one user's memories; an unknown user has empty legs."""
        user = (query.tenant, query.user_id)
        table = self._tables.get(user)
        if table is None:
            entries = self._load(*user)
            if not entries:
                return Legs((), ())
            table = UserTable(len(entries))
            for entry in entries:
                table.put(entry)
            self._tables[user] = table
            self._measure(user)
        self._tables.move_to_end(user)
        legs = table.search(query)
        self._evict()
        return legs

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
        self._sizes.clear()
        self._bytes = 0

    async def check(self) -> None:
        """Do nothing: it is in this process."""

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    def _settle(self, user: tuple[str, str]) -> None:
        """Drop a worn table and count the others, then make room: the tables of several users may have changed."""
        if user not in self._tables:
            return
        if self._tables[user].is_worn:
            self._drop(user)
        else:
            self._measure(user)
        self._evict()

    def _measure(self, user: tuple[str, str]) -> None:
        size = self._tables[user].nbytes
        self._bytes += size - self._sizes.get(user, 0)
        self._sizes[user] = size

    def _evict(self) -> None:
        while self._bytes > self._max_bytes and len(self._tables) > 1:
            self._drop(next(iter(self._tables)))

    def _drop(self, user: tuple[str, str]) -> None:
        self._tables.pop(user, None)
        self._bytes -= self._sizes.pop(user, 0)
