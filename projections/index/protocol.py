"""The index protocol: what every index promises, and what it may do.

The shards say what is true, and an index holds a copy: the caller (`IndexSync`) puts and removes after a shard has
changed, drops hits whose version is not the shard's, and fills an index anew that has lost what it held. A search
returns two legs, which ranking fuses.

Errors. Any method that is a coroutine may raise IndexUnavailable, and no other exception for a server that is away,
slow, or refuses: the caller then tries the same again, later. What was asked may have been done in part. Only `search`
raises IndexChanged.

Away or lost. An index that outlives the process is away while it cannot answer but keeps what was put: a server that is
down; for an index in a file, a file that is locked, may not be opened, or lies on a disk that is not mounted. That is
IndexUnavailable, and no reason to begin anew. It is lost when its place answers and holds something else: a collection
that was deleted, a file that is gone from its folder or was exchanged. Then `check` makes it anew, with a new identity.

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
"""Later than any version of a memory."""
SCORE_DIGITS: Final = 6
"""Decimal places of a semantic score: equal vectors may differ in the last bit of their product."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """What the index holds of one active memory: only what does not fade."""

    tenant: str
    user_id: str
    memory_id: str
    version: int
    agent_id: str | None
    """None: visible to every agent of the user."""
    tokens: Sequence[str]
    """The analyser's words of the content, in order, with repeats; they may be none. Reading them may take a while."""
    vector: NDArray[np.float32]
    """Unit length. Vectors of several lengths, and of several models of one length, may stand beside each other."""
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
    """The analyser's words of the question; none: no keyword leg."""
    vector: NDArray[np.float32] | None
    """Unit length; None: no semantic leg."""
    embedding_model: str | None
    """Only vectors of this model, and of this length, are compared; None where `vector` is None."""
    limit: int
    """At most so many hits for each leg."""
    agent_id: str | None = None
    """With an agent: its memories and those of no agent. None: all."""
    kind: str | None = None
    category: str | None = None
    memory_type: str | None = None
    source_type: str | None = None
    since: datetime | None = None
    """occurred_at >= since"""
    until: datetime | None = None
    """occurred_at <= until"""
    among: frozenset[str] | None = None
    """Only these memories, by id; what else is found takes no place of theirs."""


class Hit(NamedTuple):
    """A memory that a leg found.

    `score` is BM25 (k1 1.2, b 0.75) with the weights of the user's own memories, or the cosine, rounded to
    SCORE_DIGITS.
    """

    memory_id: str
    version: int
    score: float


class Leg(Sequence[Hit]):
    """What one leg found, as columns. Read as hits it is in their order; the columns are in none."""

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
    """Vectors of one model and length by memory id: rows of a table to which others are appended at most."""

    __slots__ = ("_places", "_rows", "_table", "ids", "model")

    def __init__(self, ids: Sequence[str], table: Vectors, rows: NDArray[np.int64], model: str) -> None:
        """`rows` are those of the table that have the vectors of `ids`, in that order."""
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
    """Both legs of a hybrid search, each by score descending, then memory_id, also among equals at the limit.

    Keyword hits have a score above 0. A late writer may have left a memory at an old version, so that a memory occurs
    at two versions, or after it was removed: the caller drops hits whose version is not the shard's.
    """

    keyword: Sequence[Hit]
    semantic: Sequence[Hit]
    vectors: Mapping[str, Vectors] = field(default_factory=dict, compare=False, repr=False)
    """Those of semantic hits by memory id, where the index has them in memory; the shard has them all."""


class IndexUnavailable(Exception):
    """The index cannot be reached, or is busy: try the same again later. The message names where it is, and why."""


class IndexChanged(IndexUnavailable):
    """The index holds other things than when it was opened: it was emptied, or is another one at the same place.

    `identity` returns the new name from now on; the caller fills the index by it, and searches again.
    """


class IndexGenerations(Protocol):
    """The generations of an index that workers share: complete, one beside the other; one of them is searched."""

    async def known(self) -> tuple[int, list[int]]:
        """Return the generation that is searched, and all there are in ascending order. Raises IndexUnavailable."""
        ...

    def open(self, generation: int) -> Index:
        """Return a generation as an index of its own, made on the server when it is first used.

        It has the identity of the generation that is searched, and no generations of its own are asked for. The caller
        closes it.

        When the generation has been dropped meanwhile, `put`, `remove` and `search` raise IndexUnavailable, and do not
        make it anew: its writer may have been frozen since before the drop. A generation of that number is made again
        by an index that is opened after the drop, or after `reopen`.
        """
        ...

    async def activate(self, generation: int) -> None:
        """Let an existing generation be the one that is searched, by every worker. Raises IndexUnavailable.

        That is raised also where there is no such generation; the one that was searched stays so. This worker's index
        searches it from now on, another worker's after its `reopen`, or sooner.
        """
        ...

    async def drop(self, generation: int) -> None:
        """Delete a generation; one that does not exist is no error. Raises IndexUnavailable.

        The caller activates another one before it drops the one that is searched. Dropped all the same, its contents
        are lost: it is made anew, empty, with another identity, by `check` or the next use.
        """
        ...


class Index(Protocol):
    """Finds memories by words and by meaning.

    Each call may come twice, and calls in any order: a writer may have stood still while another worker had its users.
    So a put or removal goes by the version that it names, and never undoes what is newer; at worst it leaves something
    old beside it. Several workers may have an index of the same server open, each writing for its own users and all of
    them the same global memories.

    Whoever made an index closes it, `IndexSync` for a worker. Nothing is called after `close`.
    """

    @property
    def outlives_process(self) -> bool:
        """Whether what is put outlives this process; it never changes.

        True: it may also be lost or exchanged without this process. `identity` names it, `generations` are what a
        rebuild switches, and the caller repeats what was put shortly before an outage. False: nothing is kept, and
        what a user has is loaded from the shard when it is searched.
        """
        ...

    async def identity(self) -> str | None:
        """Return the name of what the index holds: where it is, and what distinguishes its contents there.

        All workers read the same name, as long as the contents are the same, and `search` and `check` find out when
        they are not. None where nothing outlives this process. Raises IndexUnavailable.
        """
        ...

    def needs_changes(self, tenant: str, user_id: str) -> bool:
        """Return whether a user's changes must be put and removed; False: the next search loads them from the shard."""
        ...

    def release(self, tenant: str, user_id: str) -> None:
        """Drop what this process keeps of a user, whom another worker has now; what outlives it stays."""
        ...

    @property
    def generations(self) -> IndexGenerations | None:
        """The generations on the server; None where nothing outlives this process."""
        ...

    async def reopen(self) -> None:
        """Forget what this process knows: the generation that is searched, and the shards, may be others now.

        Connects to nothing; the next use does.
        """
        ...

    async def put(self, entries: Sequence[IndexEntry]) -> None:
        """Hold each memory at the entry's version, or at the later one that is held. Raises IndexUnavailable.

        When it returns, every index of this server finds the entries, and no older versions that were there before.
        The entries may be of several users, and name a memory twice: the later version stays.

        An equal version that is held may be left as it is only where nothing of it can be lost. The caller puts the
        same version again to heal a server that was killed and has lost part of what it acknowledged: such an index
        must write it once more.

        Identities are not compared here, nor in `remove`: the caller does that before it writes. When the contents have
        changed unnoticed, both write to what is there now, or raise IndexUnavailable; what returned is in the index.
        """
        ...

    async def remove(self, tenant: str, user_id: str, memory_ids: Mapping[str, int]) -> None:
        """Drop memories, each unless it is held at a later version than is named. Raises IndexUnavailable.

        Unknown ids and users are no error. Nothing need be kept of what was removed.
        """
        ...

    async def search(self, query: IndexQuery) -> Legs:
        """Search one user's memories; an unknown user has empty legs. Raises IndexUnavailable, IndexChanged.

        The words are the shard's: an index on a server answers the keyword leg from the user's memories in the shard
        (`remote.local_search`), because a server weighs words by the memories of all users. What its loader raises is
        raised.

        Where the contents are gone it does not answer from what is there by then: it raises IndexChanged, or
        IndexUnavailable while the place itself is missing, which `check` makes anew.
        """
        ...

    async def check(self) -> None:
        """Raise IndexUnavailable unless the index answers; called every few seconds, also while it is written to.

        Makes what is missing on the server (a lost collection is made anew, empty), and reads the identity again: it
        is a new one then.
        """
        ...

    async def close(self) -> None:
        """Close the connections; a second time is no error."""
        ...
