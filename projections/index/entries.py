"""Index entries, made from memories of a shard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from projections.index.protocol import ANY_VERSION, IndexEntry
from projections.state.memory import ACTIVE
from projections.text.analyser import tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.shard.ledger import LedgerFold
    from projections.state.memory import Memory
    from schemas.identity import Owner


def index_entry(owner: Owner, memory: Memory, vector: bytes) -> IndexEntry:
    """Return the entry of a memory; `vector` is float32, little-endian."""
    return IndexEntry(
        tenant=owner.tenant,
        user_id=owner.user_id,
        memory_id=memory.memory_id,
        version=memory.text_version,
        agent_id=memory.indexed_agent_id,
        tokens=tuple(tokens(memory.content)),
        vector=np.frombuffer(vector, "<f4"),
        embedding_model=memory.embedding_model,
        kind=memory.kind,
        category=memory.category,
        memory_type=memory.memory_type,
        source_type=memory.source_type,
        occurred_at=memory.occurred_at,
    )


def entries_of(owner: Owner, ledger: LedgerFold) -> list[IndexEntry]:
    """Return the entries of all active memories of a user."""
    known = ledger.vectors(owner).all()
    active = (m for m in ledger.state(owner).memories.values() if m.status == ACTIVE)
    return [index_entry(owner, m, known[m.memory_id]) for m in active]


def split(owner: Owner, ledger: LedgerFold, ids: Sequence[str]) -> tuple[list[IndexEntry], dict[str, int]]:
    """Return entries of the active ones of these memories, and at which version each of the others is gone.

    One that the shard does not know is gone at every version.
    """
    state, vectors = ledger.state(owner), ledger.vectors(owner)
    named = {memory_id: state.memories.get(memory_id) for memory_id in ids}
    active = [m for m in named.values() if m is not None and m.status == ACTIVE]
    gone = {i: m.version if m else ANY_VERSION for i, m in named.items() if m is None or m.status != ACTIVE}
    return [index_entry(owner, m, vectors[m.memory_id]) for m in active], gone
