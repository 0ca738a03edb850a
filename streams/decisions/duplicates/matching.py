"""Matching: the memories of a user that make the same statement as a given one."""

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
    """A statement to compare with memories: a text with its slot, its agent, and the instant at which it was said."""

    content: str
    agent_id: str | None
    scope: str
    kind: str
    attribute: str | None
    value: str | None
    embedding_model: str
    vector: bytes
    """The vector in its stored form (`stored_vector`)."""
    effective: datetime
    shape: str | None = None
    """The shape that a policy gives the attribute, unless it is a list."""
    subject: str | None = None
    """The subject of the statement, as `subject_of` spells it; None for the user."""

    @property
    def key(self) -> str | None:
        """The key of the stated fact."""
        return key_of(self.subject, self.attribute)

    @property
    def slot(self) -> str | None:
        """The slot of the user's profile that it fills; None for statements about others."""
        return self.attribute if self.subject is None else None

    @property
    def is_single(self) -> bool:
        """Return whether a newer value replaces the older one; in a map, the one with the same name.

        Maps of the user's own profile keep all their values: the profile shows the newest of each name.
        """
        if self.attribute is None:
            return False
        return self.is_by_name or self.shape == ONE or has_one_value(self.subject, self.attribute)

    @property
    def is_by_name(self) -> bool:
        """Return whether each name in a map has one value: in a policy's map, or in any about another person."""
        return self.shape == BY_NAME or (self.subject is not None and self.attribute in MAPS)


def exact(state: UserState, statement: Statement) -> Iterator[Memory]:
    """Yield the memories of any status with the same text, scope and agent (or of no agent), oldest first."""
    same = (state.memories[memory_id] for memory_id in state.by_digest.get(digest(statement.content), ()))
    yield from in_order(m for m in same if _comparable(m, statement))


def same_slot(state: UserState, statement: Statement) -> Iterator[Memory]:
    """Yield the memories of any status that state the same fact with the same value."""
    if statement.key is None or statement.value is None:
        return
    for memory in with_value(state, statement.key, statement.value):
        if _comparable(memory, statement):
            yield memory


def with_value(state: UserState, fact: str, value: str | None) -> list[Memory]:
    """Return the memories that state a fact with a value, in the order of their formation."""
    if value is None or fact not in state.by_attribute:
        return []
    perhaps = found(state, [statement_keys.of_value(fact, value)])
    listed = (state.memories[i] for i in state.by_attribute[fact] if i in perhaps) if perhaps else ()
    return [m for m in listed if m.value is not None and same_value(m.value, value)]


def read_on(state: UserState) -> bool:
    """Index some of the state's texts ahead of a search, which would index all of them; return whether any are left."""
    return state.statements is not None and state.statements.read_on(statement_keys.keys_of)


def found(state: UserState, keys: Iterable[Hashable]) -> set[str]:
    """Return the ids of the state's memories that may have one of the keys."""
    index = state.statements or StatementIndex(state.memories.values())
    return {i for i in index.find(keys, statement_keys.keys_of) if i in state.memories}


def near(state: UserState, statement: Statement, vectors: Mapping[str, bytes], threshold: float) -> list[Memory]:
    """Return the active and forgotten memories of the same kind that are near duplicates, oldest first."""
    return in_order(_near(state, statement, vectors, threshold))


def in_order(memories: Iterable[Memory]) -> list[Memory]:
    """Return memories by the time of their formation, then by id; the state's map has another order."""
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
    """Return whether both may make the same statement. A document makes none: it is found by its key alone.

    Statements about different subjects differ. The exception is a text outside the profile that counts as the user's
    only because its subject was not recognised.
    """
    if DOCUMENT in (memory.kind, statement.kind):
        return False
    subjects = {memory.subject, statement.subject}
    if len(subjects) > 1 and (None not in subjects or memory.slot or statement.slot):
        return False
    return memory.scope == statement.scope and memory.known_to(statement.agent_id)


def cosine(memory: Memory, statement: Statement, vectors: Mapping[str, bytes]) -> float | None:
    """Return the cosine of a memory's and a statement's vector; None if there is none or the models differ."""
    stored = vectors.get(memory.memory_id)
    if stored is None or memory.embedding_model != statement.embedding_model:
        return None
    vector, said = vector_of(stored), vector_of(statement.vector)
    return float(vector @ said) if len(vector) == len(said) else None
