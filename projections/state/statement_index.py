"""An index of what a user's memories say, so that a decision looks at those that may matter to it, and at no others."""

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
    """What says something: a memory, which has a state that has the index."""

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
        """Of which fact it gives a value."""
        ...

    @property
    def value(self) -> str | None:
        """The value that it gives."""
        ...

    @property
    def occurred_at(self) -> datetime:
        """When what it tells of happened."""
        ...


class Said(NamedTuple):
    """What a memory says, or said once."""

    memory_id: str
    content: str
    fact: str | None
    """Of which it gives the value: the fact's key."""
    value: str | None
    day: int | None
    """Of an episode: the day on which it happened, in days since 1970 (UTC)."""


KeysOf: TypeAlias = "Callable[[Said], Iterable[Hashable]]"


class StatementIndex:
    """Finds a user's memories by keys of what they say. The states that follow from one another share one.

    It grows with every memory that is formed or given another text or value, in whichever of these states, also in a
    draft that comes to nothing: so it misses none of a state's memories, and may find some that are not in it, or say
    something else there. Who asks looks at the memory. Documents are left out: they say nothing.

    What keys a memory has is no matter of the state. Who looks for some brings the function, always the same one, and
    it is asked when somebody first looks: folding costs no more than a note, from any thread. One thread looks.
    """

    __slots__ = ("_entries", "_found", "_unread")

    def __init__(self, memories: Iterable[Saying] = ()) -> None:
        """Take the memories that there are."""
        self._unread: list[Said] = []
        self._found: dict[int, str | set[str]] = {}
        """By the hash of a key the memory, or the memories, that have it."""
        self._entries = 0
        for memory in memories:
            self.note(memory)

    def note(self, memory: Saying) -> None:
        """Take what a memory says now."""
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
        """Return the index of a state in which a memory was erased: the words that nobody has looked at yet are gone.

        Its id stays under the hashes that it had, until the index is worn.
        """
        if all(said.memory_id != memory_id for said in self._unread):
            return self
        left = StatementIndex()
        left._unread = [said for said in self._unread if said.memory_id != memory_id]
        left._found, left._entries = self._found, self._entries  # one for both: it only grows
        return left

    def is_worn(self, memories: int) -> bool:
        """Return whether most of it is of what is said no more: making it anew is worth it."""
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
