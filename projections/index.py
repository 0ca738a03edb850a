"""The index protocol: where similarity search happens. Two legs come back unfused; ranking fuses them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray


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


class Index(Protocol):
    """Finds memories by words and by meaning. Puts and removals may arrive twice and in any order."""

    @property
    def kept_as(self) -> str | None:
        """The name under which what was put outlives this process; None: nothing does."""
        ...

    def follows(self, tenant: str, user_id: str) -> bool:
        """Tell whether the user's changes must be put and removed; False: they are taken from the shard when asked."""
        ...

    async def put(self, entries: Sequence[IndexEntry]) -> None:
        """Store each entry unless the index holds the same memory at the same or a later version."""
        ...

    async def remove(self, tenant: str, user_id: str, memory_ids: Sequence[str]) -> None:
        """Drop memories; unknown ids are no error."""
        ...

    async def reset(self, users: Iterable[tuple[str, str]]) -> None:
        """Forget everything about these users and take it from the shards again; searches go on meanwhile.

        `users`, tenant and user_id, are all those of the partitions that are held here.
        """
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
