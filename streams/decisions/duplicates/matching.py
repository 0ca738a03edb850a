"""Matching: the memories of a user that say what a statement says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from projections.embedding.stored_vector import vector_of
from projections.state.memory import ACTIVE, FORGOTTEN
from projections.state.statement_index import StatementIndex
from schemas.text import digest
from schemas.vocabulary.attributes import BY_NAME, MAPS, ONE, same_value
from schemas.vocabulary.facts import has_one_value, key_of
from schemas.vocabulary.words import DOCUMENT
from streams.decisions.duplicates import statement_keys
from streams.decisions.duplicates.equivalence import content_words
from streams.decisions.duplicates.similarity import keywords, near_duplicate
from streams.decisions.duplicates.word_cache import WordCache

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping
    from datetime import datetime

    from projections.state.memory import Memory, UserState

cached_keywords: Final = WordCache(keywords)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What is compared with memories: a text with its slot, its agent, and the instant at which it was said."""

    content: str
    agent_id: str | None
    scope: str
    kind: str
    attribute: str | None
    value: str | None
    embedding_model: str
    vector: bytes
    """As it is stored (`stored_vector`)."""
    effective: datetime
    shape: str | None = None
    """The shape that a policy gives the attribute, where it is no list."""
    subject: str | None = None
    """Whom or what it is about, as `subject_of` spells it; None for the user."""

    @property
    def key(self) -> str | None:
        """The key of the fact that it states."""
        return key_of(self.subject, self.attribute)

    @property
    def slot(self) -> str | None:
        """The slot of the user's profile that it fills; what is about others fills none."""
        return self.attribute if self.subject is None else None

    @property
    def is_single(self) -> bool:
        """Return whether a newer value takes the place of the older one; in a map, that of its name.

        Maps of the user's own profile hold what they have: the profile shows the newest of a name.
        """
        if self.attribute is None:
            return False
        return self.is_by_name or self.shape == ONE or has_one_value(self.subject, self.attribute)

    @property
    def is_by_name(self) -> bool:
        """Return whether each name in a map has one value: in one of a policy, and in any about somebody else."""
        return self.shape == BY_NAME or (self.subject is not None and self.attribute in MAPS)


def exact(state: UserState, statement: Statement) -> Iterator[Memory]:
    """Yield the memories of any status with the same text, scope and agent (or of no agent), oldest first."""
    same = (state.memories[memory_id] for memory_id in state.by_digest.get(digest(statement.content), ()))
    yield from in_order(m for m in same if _comparable(m, statement))


def same_slot(state: UserState, statement: Statement) -> Iterator[Memory]:
    """Yield the memories of any status of the same fact with the same value."""
    if statement.key is None or statement.value is None:
        return
    for memory in with_value(state, statement.key, statement.value):
        if _comparable(memory, statement):
            yield memory


def with_value(state: UserState, fact: str, value: str | None) -> list[Memory]:
    """Return the memories of a fact with a value, in the order of forming."""
    if value is None or fact not in state.by_attribute:
        return []
    perhaps = found(state, [statement_keys.of_value(fact, value)])
    listed = (state.memories[i] for i in state.by_attribute[fact] if i in perhaps) if perhaps else ()
    return [m for m in listed if m.value is not None and same_value(m.value, value)]


def read_on(state: UserState) -> bool:
    """Read some of the texts that looks find memories by; return whether others are left: a look reads all of them."""
    return state.statements is not None and state.statements.read_on(statement_keys.keys_of)


def found(state: UserState, keys: Iterable[Hashable]) -> set[str]:
    """Return the ids of the state's memories that may have one of the keys, in no order."""
    index = state.statements or StatementIndex(state.memories.values())
    return {i for i in index.find(keys, statement_keys.keys_of) if i in state.memories}


def near(state: UserState, statement: Statement, vectors: Mapping[str, bytes], threshold: float) -> list[Memory]:
    """Return the active and forgotten memories of the same kind that are near duplicates, oldest first."""
    return in_order(_near(state, statement, vectors, threshold))


def in_order(memories: Iterable[Memory]) -> list[Memory]:
    """Return memories by the time of forming, then by id: the state's map has another order."""
    return sorted(memories, key=lambda m: (m.formed_at, m.memory_id))


def _near(state: UserState, statement: Statement, vectors: Mapping[str, bytes], threshold: float) -> Iterator[Memory]:
    words = content_words(statement.content)  # `equivalence` would reject all others
    for memory_id in found(state, [statement_keys.of_words(words)]):
        memory = state.memories[memory_id]
        if (
            memory.status not in (ACTIVE, FORGOTTEN)
            or memory.kind != statement.kind
            or not _comparable(memory, statement)
            or content_words(memory.content) != words
        ):
            continue
        if memory.attribute and statement.attribute and memory.attribute != statement.attribute:
            continue
        if near_duplicate(memory.content, statement.content, cosine(memory, statement, vectors), threshold):
            yield memory


def first_active(memories: Iterable[Memory], instant: datetime) -> Memory | None:
    """Return the first memory that is active at the instant."""
    return next((m for m in memories if m.status_at(instant) == ACTIVE), None)


def _comparable(memory: Memory, statement: Statement) -> bool:
    """Return whether one may say what the other says; a document says nothing, and is found by its key alone.

    What is about two says two things, but for a text that is about the user only because nobody told it apart.
    """
    if DOCUMENT in (memory.kind, statement.kind):
        return False
    subjects = {memory.subject, statement.subject}
    if len(subjects) > 1 and (None not in subjects or memory.slot or statement.slot):
        return False
    return memory.scope == statement.scope and memory.known_to(statement.agent_id)


def cosine(memory: Memory, statement: Statement, vectors: Mapping[str, bytes]) -> float | None:
    """Return the cosine of a memory's vector and a statement's; None where they are of two models."""
    stored = vectors.get(memory.memory_id)
    if stored is None or memory.embedding_model != statement.embedding_model:
        return None
    vector, said = vector_of(stored), vector_of(statement.vector)
    return float(vector @ said) if len(vector) == len(said) else None
