"""Search in a state other than the present one, by an index built for one question."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from projections.index.embedded.index import EmbeddedIndex
from projections.index.encoding import Chosen
from projections.index.entries import READ_AT_ONCE, index_entry
from projections.state.memory import ACTIVE
from projections.turns import in_turns

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from projections.index.encoding import Encoding
    from projections.index.protocol import IndexEntry, IndexQuery, Legs
    from projections.shard.ledger import LedgerFold
    from projections.state.memory import UserState
    from schemas.identity import Owner


async def search_state(
    owner: Owner, state: UserState, ledger: Callable[[], LedgerFold], encoding: Encoding | None, query: IndexQuery
) -> Legs:
    """Search the memories that are active in a state; one that was erased since is not found.

    `ledger` returns the user's ledger, and its errors are passed on. Reading the vectors yields to the event loop.
    """
    entries = await in_turns(_entries(owner, state, ledger, encoding))
    return await EmbeddedIndex(lambda _tenant, _user: entries).search(query)


def _entries(
    owner: Owner, state: UserState, ledger: Callable[[], LedgerFold], encoding: Encoding | None
) -> Generator[None, None, list[IndexEntry]]:
    """Return the entries of the active memories of a state, in steps, by id, which is the order of the file."""
    active = sorted((m for m in state.memories.values() if m.status == ACTIVE), key=attrgetter("memory_id"))
    logged, found = dict[str, bytes](), list["IndexEntry"]()
    chosen = Chosen(owner, logged, encoding)
    for begin in range(0, len(active), READ_AT_ONCE):
        some = active[begin : begin + READ_AT_ONCE]
        logged |= ledger().vectors(owner).among([memory.memory_id for memory in some])
        found += [index_entry(owner, memory, *chosen.of(memory)) for memory in some if memory.memory_id in logged]
        yield
    return found
