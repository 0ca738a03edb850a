"""The index protocol: where similarity search happens. Two legs come back unfused; ranking fuses them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray


ANY_VERSION: Final = 2**31
"""Later than any version of a memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """What the index holds of one active memory: only what does not fade."""

    tenant: str
    user_id: str
    memory_id: str
    version: int
    agent_id: str | None
    """None: visible to every agent of the user."""
    tokens: tuple[str, ...]
    """What our analyser made of the content, in order, with repeats."""
    vector: NDArray[np.float32]
    """Unit length."""
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
    vector: NDArray[np.float32] | None
    embedding_model: str | None
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


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that a leg found: `score` is BM25 (k1 1.2, b 0.75) or the cosine."""

    memory_id: str
    version: int
    score: float


@dataclass(frozen=True, slots=True)
class Legs:
    """Both legs of a hybrid search, each by score descending, then memory_id. Keyword hits have a score above 0."""

    keyword: tuple[Hit, ...]
    semantic: tuple[Hit, ...]


class IndexUnavailable(Exception):
    """The index cannot be reached or is busy: try again later."""


class IndexChanged(IndexUnavailable):
    """The index holds other things than before: it was emptied, or is another one at the same place."""


class IndexGenerations(Protocol):
    """The generations of an index that workers share: complete, one beside the other; one of them is searched."""

    async def known(self) -> tuple[int, list[int]]:
        """Return which one is searched, and all that there are. Raises IndexUnavailable."""
        ...

    def open(self, generation: int) -> Index:
        """Return a generation as an index of its own, made when it is first written to."""
        ...

    async def activate(self, generation: int) -> None:
        """Let a generation be the one that is searched, for every worker at once. Raises IndexUnavailable."""
        ...

    async def drop(self, generation: int) -> None:
        """Delete a generation, if there is one. Raises IndexUnavailable."""
        ...


class Index(Protocol):
    """Finds memories by words and by meaning. Puts and removals may arrive twice and in any order."""

    async def kept_as(self) -> str | None:
        """Return the name of what the index holds, which outlives this process; None: nothing does.

        One that was emptied, or is another one at the same place, has another name. Raises IndexUnavailable.
        """
        ...

    def follows(self, tenant: str, user_id: str) -> bool:
        """Tell whether the user's changes must be put and removed; False: they are taken from the shard when asked."""
        ...

    def let_go(self, tenant: str, user_id: str) -> None:
        """Another worker has the user now: drop what is kept in this process only."""
        ...

    @property
    def generations(self) -> IndexGenerations | None:
        """The generations of what is kept outside this process; None where nothing is."""
        ...

    async def reopen(self) -> None:
        """Look again at what is searched: it may be another generation, and the shards may be others."""
        ...

    async def put(self, entries: Sequence[IndexEntry]) -> None:
        """Store each entry unless the index holds the same memory at the same or a later version."""
        ...

    async def remove(self, tenant: str, user_id: str, memory_ids: Mapping[str, int]) -> None:
        """Drop memories, each unless it is held at a later version than is named; unknown ids are no error."""
        ...

    async def check(self) -> None:
        """Raise IndexUnavailable unless the index answers."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...

    async def search(self, query: IndexQuery) -> Legs:
        """Search one user's memories; an unknown user has empty legs."""
        ...
