"""A third index, as small as possible, which proves the recipe in docs/contributing/index.md.

Its server is a Notebook in this process, which outlives the indexes that are open on it. `MNEMOLOG_INDEX=notebook://NAME`
names one of them while the registry includes the adapter NOTEBOOK.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from uuid import UUID, uuid4, uuid5

from projections.index.adapter import IndexAdapter, IndexConfig
from projections.index.protocol import IndexChanged, IndexUnavailable, Legs
from projections.index.remote.hits import ordered, semantic_hit
from projections.index.remote.local_search import LocalSearch
from projections.index.remote.object_ids import owner_id
from projections.index.remote.outages import Outages

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from projections.index.protocol import Hit, IndexEntry, IndexQuery, LoadEntries

FILTERS: Final = ("kind", "category", "memory_type", "source_type")


class Notebook:
    """The server: generations of entries by id. It writes an entry only if it has no later version."""

    def __init__(self) -> None:
        self.is_away = False
        self.wipe()

    def wipe(self) -> None:
        """Lose everything, and take another identity."""
        self.identity = str(uuid4())
        self.searched = 1
        self.generations: dict[int, dict[UUID, IndexEntry]] = {1: {}}

    async def answer(self, generation: int | None = None) -> None:
        """Accept a request, perhaps about a generation. Raises ConnectionError if server or generation is missing."""
        await asyncio.sleep(0)
        if self.is_away:
            raise ConnectionError("the notebook is shut")
        if generation is not None and generation not in self.generations:
            raise ConnectionError(f"the notebook has no generation {generation}")

    async def put(self, generation: int, object_id: UUID, entry: IndexEntry) -> None:
        """Write an entry unless a later version exists."""
        await self.answer(generation)
        held = self.generations[generation].get(object_id)
        if held is None or held.version <= entry.version:
            self.generations[generation][object_id] = entry

    async def remove(self, generation: int, object_id: UUID, version: int) -> None:
        """Remove an entry unless a later version exists."""
        await self.answer(generation)
        held = self.generations[generation].get(object_id)
        if held is not None and held.version <= version:
            del self.generations[generation][object_id]

    async def activate(self, generation: int) -> None:
        """Make a generation the one that is searched."""
        await self.answer(generation)
        self.searched = generation

    async def drop(self, generation: int) -> None:
        """Delete a generation if it exists; to delete the one that is searched loses everything."""
        await self.answer()
        if generation == self.searched:
            self.wipe()
        else:
            self.generations.pop(generation, None)


NOTEBOOKS: Final[dict[str, Notebook]] = defaultdict(Notebook)


class NotebookIndex:
    """One generation of a notebook; if none is given, the one that is searched."""

    def __init__(self, config: IndexConfig, load: LoadEntries, generation: int | None = None) -> None:
        """`load` reads the shard's entries for the keyword search."""
        self._config, self._load, self._generation = config, load, generation
        self._server = NOTEBOOKS[_name(config.url)]
        self._identity: str | None = None
        self._local = LocalSearch(load)
        self._outages = Outages(config.url)

    @property
    def outlives_process(self) -> bool:
        """True: a notebook outlives the index, and to the index it could be another process."""
        return True

    async def identity(self) -> str:
        """Return the notebook's name and identity. Raises IndexUnavailable."""
        await self._opened()
        return f"{self._config.url} {self._identity}"

    def needs_changes(self, tenant: str, user_id: str) -> bool:  # noqa: ARG002 - the protocol's
        """Return True for every user."""
        return True

    def release(self, tenant: str, user_id: str) -> None:
        """Drop the user's words and vectors in this process."""
        self._local.release(tenant, user_id)

    @property
    def generations(self) -> NotebookGenerations:
        """The notebook's generations."""
        return NotebookGenerations(self, self._server, self._opened_generation)

    def _opened_generation(self, generation: int) -> NotebookIndex:
        return NotebookIndex(self._config, self._load, generation)

    async def reopen(self) -> None:
        """Drop all words and vectors in this process; the next use reads the identity again."""
        self._identity = None
        await self._local.reopen()

    async def put(self, entries: Sequence[IndexEntry]) -> None:
        """Write each entry unless a later version exists. Raises IndexUnavailable."""
        for entry in entries:
            generation = await self._opened()
            await self.reach(self._server.put(generation, _object_id(entry), entry))
        await self._local.put(entries)

    async def remove(self, tenant: str, user_id: str, memory_ids: Mapping[str, int]) -> None:
        """Remove each memory unless a later version exists. Raises IndexUnavailable."""
        for memory_id, version in memory_ids.items():
            generation = await self._opened()
            object_id = uuid5(owner_id(tenant, user_id), memory_id)
            await self.reach(self._server.remove(generation, object_id, version))
        await self._local.remove(tenant, user_id, memory_ids)

    async def search(self, query: IndexQuery) -> Legs:
        """Search one user's memories. Raises IndexUnavailable, IndexChanged."""
        generation = await self._opened()
        keyword = await self._local.keyword(query)
        await self.reach(self._server.answer())
        if self._server.identity != self._identity:
            self._identity = None
            raise IndexChanged(f"{self._config.url} has lost what it held, and is filled anew: try again")
        await self.reach(self._server.answer(generation))
        return Legs(keyword, _nearest(self._server.generations[generation].values(), query))

    async def check(self) -> None:
        """Raise IndexUnavailable unless the notebook answers; read the identity again."""
        self._identity = None
        await self._opened()
        self._outages.end()

    async def close(self) -> None:
        """Do nothing: a notebook has no connections."""

    async def reach(self, call: Awaitable[None]) -> None:
        """Await a call of the notebook. Raises IndexUnavailable."""
        try:
            await call
        except ConnectionError as error:
            away = IndexUnavailable(f"{self._config.url}: {error}")
            self._outages.begin(away)
            raise away from error

    async def _opened(self) -> int:
        """Return the generation of this index, and create it if it is missing. Raises IndexUnavailable."""
        if self._identity is None:
            await self.reach(self._server.answer())
            self._identity = self._server.identity
            if self._generation is not None:
                self._server.generations.setdefault(self._generation, {})
        return self._server.searched if self._generation is None else self._generation


class NotebookGenerations:
    """Lists, opens, activates and drops a notebook's generations."""

    def __init__(self, index: NotebookIndex, server: Notebook, make: Callable[[int], NotebookIndex]) -> None:
        self._index, self._server, self._make = index, server, make

    async def known(self) -> tuple[int, list[int]]:
        """Return the generation that is searched, and all generations. Raises IndexUnavailable."""
        await self._index.reach(self._server.answer())
        return self._server.searched, sorted(self._server.generations)

    def open(self, generation: int) -> NotebookIndex:
        """Return a generation as an index of its own."""
        return self._make(generation)

    async def activate(self, generation: int) -> None:
        """Make a generation the one that is searched. Raises IndexUnavailable."""
        await self._index.reach(self._server.activate(generation))

    async def drop(self, generation: int) -> None:
        """Delete a generation; one that does not exist is no error. Raises IndexUnavailable."""
        await self._index.reach(self._server.drop(generation))


def _object_id(entry: IndexEntry) -> UUID:
    return uuid5(owner_id(entry.tenant, entry.user_id), entry.memory_id)


def _nearest(entries: Iterable[IndexEntry], query: IndexQuery) -> tuple[Hit, ...]:
    """Return the semantic leg of a query over the entries that pass its filters."""
    if query.vector is None:
        return ()
    hits = [
        semantic_hit(entry.memory_id, entry.version, float(entry.vector @ query.vector))
        for entry in entries
        if _passes(entry, query) and len(entry.vector) == len(query.vector)
    ]
    return tuple(ordered(hits)[: query.limit])


def _passes(entry: IndexEntry, query: IndexQuery) -> bool:
    return (
        (entry.tenant, entry.user_id) == (query.tenant, query.user_id)
        and entry.embedding_model == query.embedding_model
        and (query.agent_id is None or entry.agent_id in (None, query.agent_id))
        and all(getattr(query, name) in (None, getattr(entry, name)) for name in FILTERS)
        and (query.since is None or entry.occurred_at >= query.since)
        and (query.until is None or entry.occurred_at <= query.until)
        and (query.among is None or entry.memory_id in query.among)
    )


def _name(url: str) -> str:
    """Return a notebook's name. Raises ValueError."""
    name = urlsplit(url).hostname
    if not name:
        raise ValueError("must be notebook://NAME")
    return name


async def _probe(config: IndexConfig) -> str:
    server = NotebookIndex(config, lambda _tenant, _user_id: [])
    await server.check()
    return "Notebook 1"


NOTEBOOK: Final = IndexAdapter(
    title="Notebook",
    schemes=("notebook",),
    usage="notebook://NAME",
    parse=_name,
    secret=None,
    package=None,
    make=NotebookIndex,
    probe=_probe,
)
