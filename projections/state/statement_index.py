"""An index of the statements of a user's memories, so that a decision examines only those that may matter to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from schemas.vocabulary.words import DOCUMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable
    from datetime import datetime

_DAY_SECONDS: Final = 86_400
_WORN: Final = 4
_FEW: Final = 256
_AT_ONCE: Final = 50


class Saying(Protocol):
    """A source of a statement: a memory. As a protocol, it avoids a cycle of imports: a state has an index."""

    @property
    def memory_id(self) -> str:
        """Its id."""
        ...

    @property
    def kind(self) -> str:
        """Semantic, episodic, or a document."""
        ...

    @property
    def content(self) -> str:
        """Its text."""
        ...

    @property
    def key(self) -> str | None:
        """The key of the fact to which it gives a value."""
        ...

    @property
    def value(self) -> str | None:
        """The value that it gives."""
        ...

    @property
    def occurred_at(self) -> datetime:
        """The time of the event that it describes."""
        ...


class Said(NamedTuple):
    """A present or former statement of a memory."""

    memory_id: str
    content: str
    fact: str | None
    """The key of the fact to which it gives a value."""
    value: str | None
    day: int | None
    """The day on which an episode happened, in days since 1970 (UTC); None for other kinds."""


KeysOf: TypeAlias = "Callable[[Said], Iterable[Hashable]]"


class StatementIndex:
    """Finds a user's memories by keys of their statements. Successive states share one index.

    It grows with every memory that is formed or gets another text or value in any of these states, including drafts
    that are discarded. So it misses none of a state's memories, but may return some that the state lacks, or that
    state something else there: the caller checks the memory itself. Documents are left out: they state nothing.

    The state does not define the keys of a memory. The caller passes the function that does, always the same one, and
    keys are computed at the first search: a fold only adds a note, from any thread. Only one thread may search.
    """

    __slots__ = ("_entries", "_found", "_unread")

    def __init__(self, memories: Iterable[Saying] = ()) -> None:
        self._unread: list[Said] = []
        self._found: dict[int, str | set[str]] = {}
        """The memory, or memories, with a key, by the hash of the key."""
        self._entries = 0
        for memory in memories:
            self.note(memory)

    def note(self, memory: Saying) -> None:
        """Note the present statement of a memory."""
        if memory.kind != DOCUMENT:
            day = day_of(memory.occurred_at) if memory.kind == "episodic" else None
            self._unread.append(Said(memory.memory_id, memory.content, memory.key, memory.value, day))

    def read_on(self, keys_of: KeysOf) -> bool:
        """Compute the keys of some memories, which takes some milliseconds; return whether others are left."""
        for _ in range(min(len(self._unread), _AT_ONCE)):
            said = self._unread.pop()
            added = [self._add(hash(key), said.memory_id) for key in keys_of(said)]
            self._entries += any(added)
        return bool(self._unread)

    def find(self, keys: Iterable[Hashable], keys_of: KeysOf) -> set[str]:
        """Return the memories that have, or had, one of the keys; a few others may be among them."""
        while self.read_on(keys_of):
            pass
        found: set[str] = set()
        for key in keys:
            ids = self._found.get(hash(key))
            if isinstance(ids, str):
                found.add(ids)
            elif ids:
                found |= ids
        return found

    def without(self, memory_id: str) -> StatementIndex:
        """Return the index of a state in which a memory was erased, without its words that are not yet hashed.

        Its id stays under the hashes that it had, until the index is worn.
        """
        if all(said.memory_id != memory_id for said in self._unread):
            return self
        left = StatementIndex()
        left._unread = [said for said in self._unread if said.memory_id != memory_id]
        left._found, left._entries = self._found, self._entries  # both share it: it only grows
        return left

    def is_worn(self, memories: int) -> bool:
        """Return whether most of its entries are of former statements, so that it should be built anew."""
        return self._entries + len(self._unread) > _WORN * memories + _FEW

    def _add(self, key: int, memory_id: str) -> bool:
        ids = self._found.get(key)
        if ids is None:
            self._found[key] = memory_id
        elif isinstance(ids, set):
            if memory_id in ids:
                return False
            ids.add(memory_id)
        elif ids == memory_id:
            return False
        else:
            self._found[key] = {ids, memory_id}
        return True


def day_of(instant: datetime) -> int:
    """Return the day of an instant, in days since 1970 (UTC)."""
    return int(instant.timestamp() // _DAY_SECONDS)
