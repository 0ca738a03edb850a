"""Search in a state that is not the present one, by an index made for one question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projections.index.embedded.index import EmbeddedIndex
from projections.index.entries import index_entry
from projections.state.memory import ACTIVE

if TYPE_CHECKING:
    from projections.index.encoding import Chosen
    from projections.index.protocol import IndexQuery, Legs
    from projections.state.memory import UserState
    from schemas.identity import Owner


async def search_state(owner: Owner, state: UserState, vectors: Chosen, query: IndexQuery) -> Legs:
    """Search the memories that are active in a state."""
    entries = [index_entry(owner, m, *vectors.of(m)) for m in state.memories.values() if m.status == ACTIVE]
    return await EmbeddedIndex(lambda _tenant, _user: entries).search(query)
