"""What a user's state already knows of a text: the duplicate rules applied to memories."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from projections.state.memory import ACTIVE, FORGOTTEN
from schemas.text import digest
from schemas.vocabulary.attributes import same_value
from streams.decisions.duplicates.equivalence import skeleton
from streams.decisions.duplicates.similarity import keywords, near_duplicate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from projections.state.memory import Memory, UserState

cached_keywords = lru_cache(maxsize=1 << 16)(keywords)


@lru_cache(maxsize=1 << 16)
def _content_words(text: str) -> tuple[str, ...]:
    """Return what two statements must share, word for word and in order, to be near duplicates."""
    return skeleton(text).words


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What is compared: a text with its slot, its owner's agent, and the instant at which it is said."""

    content: str
    agent_id: str | None
    scope: str
    kind: str
    attribute: str | None
    value: str | None
    embedding_model: str
    vector: bytes
    """Little-endian float32."""
    effective: datetime


def exact(state: UserState, said: Statement) -> Iterator[Memory]:
    """Yield the memories of any status with the same text, scope and agent (or of no agent), oldest first."""
    same = (state.memories[memory_id] for memory_id in state.by_digest.get(digest(said.content), ()))
    yield from in_order(m for m in same if _comparable(m, said))


def same_slot(state: UserState, said: Statement) -> Iterator[Memory]:
    """Yield the memories of any status whose attribute has the same value."""
    if said.attribute is None or said.value is None:
        return
    for memory_id in state.by_attribute.get(said.attribute, ()):
        memory = state.memories[memory_id]
        if _comparable(memory, said) and memory.value is not None and same_value(memory.value, said.value):
            yield memory


def near(state: UserState, said: Statement, vectors: Mapping[str, bytes], threshold: float) -> list[Memory]:
    """Return active and forgotten memories of the same kind that say nearly the same, oldest first."""
    return in_order(_near(state, said, vectors, threshold))


def in_order(found: Iterable[Memory]) -> list[Memory]:
    """Return memories by the time of forming, then by id: the map that holds them has an order of its own."""
    return sorted(found, key=lambda m: (m.formed_at, m.memory_id))


def _near(state: UserState, said: Statement, vectors: Mapping[str, bytes], threshold: float) -> Iterator[Memory]:
    statement = _content_words(said.content) if state.memories else ()
    for memory in state.memories.values():
        if _content_words(memory.content) != statement:
            continue  # the second check would refuse it: asked first, because it is one comparison for each memory
        if memory.status not in (ACTIVE, FORGOTTEN) or memory.kind != said.kind or not _comparable(memory, said):
            continue
        if memory.attribute and said.attribute and memory.attribute != said.attribute:
            continue
        if near_duplicate(memory.content, said.content, _cosine(memory, said, vectors), threshold):
            yield memory


def first_active(found: Iterable[Memory], instant: datetime) -> Memory | None:
    """Return the first memory that is active at the instant."""
    return next((m for m in found if m.status_at(instant) == ACTIVE), None)


def _comparable(memory: Memory, said: Statement) -> bool:
    return memory.scope == said.scope and memory.known_to(said.agent_id)


def _cosine(memory: Memory, said: Statement, vectors: Mapping[str, bytes]) -> float | None:
    known = vectors.get(memory.memory_id)
    if known is None or memory.embedding_model != said.embedding_model or len(known) != len(said.vector):
        return None
    return float(np.frombuffer(known, "<f4") @ np.frombuffer(said.vector, "<f4"))
