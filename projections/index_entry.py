"""What the index holds of a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from projections.analyser import tokens
from projections.index import IndexEntry

if TYPE_CHECKING:
    from projections.memory import Memory
    from schemas.identity import Owner


def index_entry(owner: Owner, memory: Memory, vector: bytes) -> IndexEntry:
    """Return what the index holds of a memory."""
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
