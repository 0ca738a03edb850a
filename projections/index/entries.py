"""Index entries, built from the memories of a shard."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Final, overload

from projections.embedding.stored_vector import vector_of, vectors_of
from projections.index.encoding import Chosen
from projections.index.protocol import ANY_VERSION, IndexEntry
from projections.state.memory import ACTIVE
from projections.text.analyser import TokensOf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from projections.embedding.embedder import Vectors
    from projections.index.encoding import Encoding
    from projections.shard.ledger import LedgerFold
    from projections.state.memory import Memory
    from schemas.identity import Owner


READ_AT_ONCE: Final = 32
"""The number of vectors read together, which takes one to two milliseconds if the file is encrypted."""


class Entries(Sequence["IndexEntry"]):
    """The entries of the user's present active memories; their vectors are read during the iteration.

    So the caller may yield to the event loop between two entries. A memory that is erased meanwhile has no entry.
    """

    def __init__(self, owner: Owner, ledger: Callable[[], LedgerFold]) -> None:
        """Read from the ledger of the user that `ledger` returns; its errors are passed on."""
        self._owner = owner
        self._ledger = ledger
        active = (m for m in ledger().state(owner).memories.values() if m.status == ACTIVE)
        self._active = sorted(active, key=attrgetter("memory_id"))
        """The memories in the order of their vectors in the file, so that no page is read twice."""

    def __len__(self) -> int:
        return len(self._active)

    def __iter__(self) -> Iterator[IndexEntry]:
        memories = iter(self._active)
        while some := list(islice(memories, READ_AT_ONCE)):
            vectors = self._ledger().vectors(self._owner).among([m.memory_id for m in some])
            known = [memory for memory in some if memory.memory_id in vectors]
            unit = vectors_of([vectors[memory.memory_id] for memory in known])
            for memory, vector in zip(known, unit, strict=True):
                yield _entry(self._owner, memory, vector, memory.embedding_model)

    @overload
    def __getitem__(self, place: int) -> IndexEntry: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[IndexEntry]: ...

    def __getitem__(self, place: int | slice) -> IndexEntry | Sequence[IndexEntry]:
        return list(self)[place]


def index_entry(owner: Owner, memory: Memory, vector: bytes, model: str | None = None) -> IndexEntry:
    """Return the entry of a memory with its stored vector, which is from the memory's own encoder unless `model` is."""
    return _entry(owner, memory, vector_of(vector), model or memory.embedding_model)


def _entry(owner: Owner, memory: Memory, vector: Vectors, model: str) -> IndexEntry:
    return IndexEntry(
        tenant=owner.tenant,
        user_id=owner.user_id,
        memory_id=memory.memory_id,
        version=memory.text_version,
        agent_id=memory.indexed_agent_id,
        tokens=TokensOf(memory.content),
        vector=vector,
        embedding_model=model,
        kind=memory.kind,
        category=memory.category,
        memory_type=memory.memory_type,
        source_type=memory.source_type,
        occurred_at=memory.occurred_at,
    )


def entries_of(owner: Owner, ledger: LedgerFold, encoding: Encoding | None = None) -> list[IndexEntry]:
    """Return the entries of all active memories of a user, with an encoding's vectors if it has them."""
    chosen = Chosen(owner, ledger.vectors(owner).all(), encoding)
    active = (m for m in ledger.state(owner).memories.values() if m.status == ACTIVE)
    return [index_entry(owner, m, *chosen.of(m)) for m in active]


def split(
    owner: Owner, ledger: LedgerFold, ids: Sequence[str], encoding: Encoding | None = None
) -> tuple[list[IndexEntry], dict[str, int]]:
    """Return entries of those memories that are active, and the version at which each of the others is gone.

    A memory that the shard does not know is gone at every version.
    """
    memories = ledger.state(owner).memories
    named = {memory_id: memories.get(memory_id) for memory_id in ids}
    active = [m for m in named.values() if m is not None and m.status == ACTIVE]
    chosen = Chosen(owner, ledger.vectors(owner).among([m.memory_id for m in active]), encoding)
    gone = {i: m.version if m else ANY_VERSION for i, m in named.items() if m is None or m.status != ACTIVE}
    return [index_entry(owner, m, *chosen.of(m)) for m in active], gone
