"""The index protocol: what every index must do, and what it may do.

The shards are the source of truth, and an index holds a copy: the caller (`IndexSync`) puts and removes after a shard
has changed, drops hits whose version is not the shard's, and refills an index that has lost its contents. A search
returns two legs, which ranking fuses.

Errors. Any method that is a coroutine may raise IndexUnavailable, and no other exception for a server that is away,
slow, or refuses: the caller then repeats the call later. The call may have been carried out in part. Only `search`
raises IndexChanged.

Away or lost. An index that outlives the process is away while it cannot answer but keeps what was put: a server that is
down; for an index in a file, a file that is locked, may not be opened, or lies on a disk that is not mounted. That is
IndexUnavailable, and not a reason to start anew. It is lost when its place answers and holds something else: a
collection that was deleted, a file that is missing from its folder or was replaced. Then `check` creates it anew, with
a new identity.

Tests: tests/contract/index_suite.py holds every adapter to this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias, overload

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from numpy.typing import NDArray

    from projections.embedding.embedder import Vectors

    LoadEntries: TypeAlias = Callable[[str, str], Sequence["IndexEntry"]]
    """Returns a user's active memories from the shard, given tenant and user id."""


ANY_VERSION: Final = 2**31
"""A version later than any version of a memory."""
SCORE_DIGITS: Final = 6
"""Decimal places of a semantic score: equal vectors may differ in the last bit of their product."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """The part of an active memory that the index holds: only attributes that do not fade."""

    tenant: str
    user_id: str
    memory_id: str
    version: int
    agent_id: str | None
    """The agent that sees it; None if every agent of the user does."""
    tokens: Sequence[str]
    """The analyser's words of the content, in order, with repeats; possibly empty. Reading them may take a while."""
    vector: NDArray[np.float32]
    """A vector of unit length. An index may hold vectors of several dimensions, and of several models of one
    dimension."""
    embedding_model: str
    kind: str
    category: str
    memory_type: str
    source_type: str
    occurred_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexQuery:
    """One search in one user's memories. A filter that is None does not filter."""

    tenant: str
    user_id: str
    tokens: tuple[str, ...]
    """The analyser's words of the question; if empty, there is no keyword leg."""
    vector: NDArray[np.float32] | None
    """A vector of unit length; None for no semantic leg."""
    embedding_model: str | None
    """Only vectors of this model, and of this length, are compared; None if `vector` is None."""
    limit: int
    """The most hits of each leg."""
    agent_id: str | None = None
    """With an agent, its memories and those of no agent; None for all."""
    kind: str | None = None
    category: str | None = None
    memory_type: str | None = None
    source_type: str | None = None
    since: datetime | None = None
    """occurred_at >= since"""
    until: datetime | None = None
    """occurred_at <= until"""
    among: frozenset[str] | None = None
    """The ids of the only memories to search; others do not count towards the limit."""


class Hit(NamedTuple):
    """A memory that a leg found.

    `score` is BM25 (k1 1.2, b 0.75) with the weights of the user's own memories, or the cosine, rounded to
    SCORE_DIGITS.
    """

    memory_id: str
    version: int
    score: float


class Leg(Sequence[Hit]):
    """The hits of one leg, as columns. As a sequence it is in the order of hits; the columns are in no order."""

    __slots__ = ("_hits", "ids", "scores", "versions")

    def __init__(self, ids: list[str], versions: NDArray[np.int64], scores: NDArray[np.float64]) -> None:
        self.ids = ids
        self.versions = versions
        self.scores = scores
        self._hits: tuple[Hit, ...] | None = None

    @classmethod
    def of(cls, hits: Sequence[Hit]) -> Leg:
        """Return hits as columns."""
        if isinstance(hits, cls):
            return hits
        count = len(hits)
        versions = np.fromiter((hit.version for hit in hits), np.int64, count)
        return cls(
            [hit.memory_id for hit in hits], versions, np.fromiter((hit.score for hit in hits), np.float64, count)
        )

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, place: int | slice) -> Hit | tuple[Hit, ...]:
        return self._ordered()[place]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self._ordered())

    def __eq__(self, other: object) -> bool:
        return self._ordered() == tuple(other) if isinstance(other, Leg | tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._ordered())

    def __repr__(self) -> str:
        return repr(self._ordered())

    def _ordered(self) -> tuple[Hit, ...]:
        if self._hits is None:
            order = sorted(zip((-self.scores).tolist(), self.ids, self.versions.tolist(), strict=True))
            self._hits = tuple(Hit(memory_id, version, -score) for score, memory_id, version in order)
        return self._hits


class VectorRows(Mapping[str, "Vectors"]):
    """Vectors of one model and length by memory id: rows of a table that only grows."""

    __slots__ = ("_places", "_rows", "_table", "ids", "model")

    def __init__(self, ids: Sequence[str], table: Vectors, rows: NDArray[np.int64], model: str) -> None:
        """Take the vectors of `ids`, in that order, from `rows` of the table."""
        self.ids = ids
        self.model = model
        self._table = table
        self._rows = rows
        self._places: dict[str, int] | None = None

    def __getitem__(self, memory_id: str) -> Vectors:
        """Return a memory's vector. Raises KeyError."""
        if self._places is None:
            self._places = dict(zip(self.ids, range(len(self.ids)), strict=True))
        vector: Vectors = self._table[self._rows[self._places[memory_id]]]
        return vector

    def at(self, places: NDArray[np.intp]) -> Vectors:
        """Return the vectors of some of `ids`, by their places there; shape (places, dimensions)."""
        found: Vectors = self._table[self._rows[places]]
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __len__(self) -> int:
        return len(self.ids)


NO_VECTORS: Final[Mapping[str, Vectors]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Legs:
    """Both legs of a hybrid search, each by score descending, then memory_id, also for ties at the limit.

    Keyword hits have a score above 0. A late writer may have left a memory at an old version, so that it occurs at two
    versions, or after its removal: the caller drops hits whose version is not the shard's.
    """

    keyword: Sequence[Hit]
    semantic: Sequence[Hit]
    vectors: Mapping[str, Vectors] = field(default_factory=dict, compare=False, repr=False)
    """The vectors of semantic hits by memory id, if the index has them in memory; the shard has all of them."""


class IndexUnavailable(Exception):
    """The index cannot be reached, or is busy: try the same again later. The message names where it is, and why."""


class IndexChanged(IndexUnavailable):
    """The index has other contents than when it was opened: it was emptied, or is another one at the same place.

    `identity` returns the new name from now on; the caller refills the index, and searches again.
    """


class IndexGenerations(Protocol):
    """The generations of an index that workers share: each is complete, and one of them is searched."""

    async def known(self) -> tuple[int, list[int]]:
        """Return the generation that is searched, and all generations, ascending. Raises IndexUnavailable."""
        ...

    def open(self, generation: int) -> Index:
        """Return a generation as an index of its own, created on the server at its first use.

        It has the identity of the generation that is searched, and its own `generations` are never used. The caller
        closes it.

        When the generation has been dropped meanwhile, `put`, `remove` and `search` raise IndexUnavailable, and do not
        create it anew: its writer may have been frozen since before the drop. Only an index that is opened after the
        drop, or after `reopen`, creates a generation of that number again.
        """
        ...

    async def activate(self, generation: int) -> None:
        """Make an existing generation the one that every worker searches. Raises IndexUnavailable.

        If there is no such generation, that is raised too, and the present one remains. This worker's index searches
        the new one from now on, another worker's after its `reopen`, or sooner.
        """
        ...

    async def drop(self, generation: int) -> None:
        """Delete a generation; a missing one is not an error. Raises IndexUnavailable.

        The caller activates another generation before it drops the searched one. If it does not, the contents are
        lost: `check` or the next use creates the generation anew, empty, with another identity.
        """
        ...


class Index(Protocol):
    """Finds memories by words and by meaning.

    Each call may come twice, and calls in any order: a writer may have been frozen while another worker had its users.
    So a put or removal applies only to versions up to the one that it names, and never undoes a newer one; at worst
    an old version remains as well. Several workers may have an index of the same server open, each writing for its own
    users and all of them the same global memories.

    The creator of an index closes it, `IndexSync` for a worker. No method is called after `close`.
    """

    @property
    def outlives_process(self) -> bool:
        """Whether the contents outlive this process; it never changes.

        If True, they may also be lost or replaced without this process. `identity` names them, a rebuild switches
        `generations`, and the caller repeats the puts from shortly before an outage. If False, nothing is kept, and a
        user's memories are loaded from the shard for a search.
        """
        ...

    async def identity(self) -> str | None:
        """Return the name of the index's contents: their place, and what distinguishes them there.

        All workers read the same name as long as the contents are the same, and `search` and `check` detect when they
        are not. None if nothing outlives this process. Raises IndexUnavailable.
        """
        ...

    def needs_changes(self, tenant: str, user_id: str) -> bool:
        """Return whether a user's changes must be put and removed; else the next search loads them from the shard."""
        ...

    def release(self, tenant: str, user_id: str) -> None:
        """Drop this process's copy of a user whom another worker has now; contents that outlive it stay."""
        ...

    @property
    def generations(self) -> IndexGenerations | None:
        """The generations on the server; None if nothing outlives this process."""
        ...

    async def reopen(self) -> None:
        """Forget this process's knowledge: the searched generation and the shards may be different ones now.

        It does not connect; the next use does.
        """
        ...

    async def put(self, entries: Sequence[IndexEntry]) -> None:
        """Store each memory at the entry's version, unless a later one is held. Raises IndexUnavailable.

        When it returns, every index of this server finds the entries, and no earlier versions that were there before.
        The entries may belong to several users, and name a memory twice: the later version stays.

        An equal version that is held may be left as it is only where nothing of it can be lost. The caller puts the
        same version again to heal a server that was killed and has lost part of what it acknowledged: such an index
        must write it once more.

        Identities are not compared here, nor in `remove`: the caller does that before it writes. If the contents have
        changed unnoticed, both write to the new ones, or raise IndexUnavailable; after a return the write is there.
        """
        ...

    async def remove(self, tenant: str, user_id: str, memory_ids: Mapping[str, int]) -> None:
        """Remove memories, except those held at a later version than the one named. Raises IndexUnavailable.

        Unknown ids and users are not an error. The index need not remember removals.
        """
        ...

    async def search(self, query: IndexQuery) -> Legs:
        """Search one user's memories; an unknown user has empty legs. Raises IndexUnavailable, IndexChanged.

        Words are searched in the shard: an index on a server answers the keyword leg from the user's memories in the
        shard (`remote.local_search`), because a server weighs words by the memories of all users. Errors of its loader
        are passed on.

        If the contents are gone, it does not answer from their replacement: it raises IndexChanged, or
        IndexUnavailable while the place itself is missing, which `check` creates anew.
        """
        ...

    async def check(self) -> None:
        """Raise IndexUnavailable unless the index answers; called every few seconds, also while it is written to.

        Creates what is missing on the server (a lost collection is created anew, empty), and reads the identity again,
        which is then a new one.
        """
        ...

    async def close(self) -> None:
        """Close the connections. Safe to call twice."""
        ...
