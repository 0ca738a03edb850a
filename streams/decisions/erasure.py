"""Decisions about the erasure of a user, and of one memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projections.state.erased_words import ERASED
from projections.state.evolve import is_cut_off
from projections.state.memory import ACTIVE
from schemas.log import Position
from schemas.messages.erasure import MemoryErased, UserErased
from schemas.vocabulary.refusals import Refusal

if TYPE_CHECKING:
    from datetime import datetime

    from projections.state.memory import UserState
    from schemas.messages.erasure import EraseMemory, EraseUser
    from schemas.messages.inbox import CoveredPiece, Extraction
    from streams.decisions.draft import Draft


def decide_erasure(draft: Draft, item: EraseUser) -> None:
    """Erase the user: the fold then keeps nothing of earlier decisions."""
    memories = draft.state.memories.values()
    count = len(memories)
    draft.add(
        UserErased(
            envelope=draft.envelope(),
            cut=item.cut,
            key_ids=item.key_ids,
            erased_at=draft.position.recorded_at,
            observations=item.observations,
            memories=count,
            active=sum(memory.status == ACTIVE for memory in memories),
        )
    )
    draft.say("0", "erased", f"{count} memories, and everything else that was known of the user")


def decide_memory_erasure(draft: Draft, item: EraseMemory) -> None:
    """Erase a memory, whatever its status. Other memories from the same observations stay."""
    memory = draft.state.memories.get(item.memory_id)
    if memory is None:
        draft.say(item.memory_id, "refused", Refusal.UNKNOWN.because("no such memory"))
        return
    others = (one for one in draft.state.memories.values() if one is not memory)
    # The memory may have been repeated after the command: those observations are erased with it, too.
    event_ids = list(dict.fromkeys([*item.event_ids, *memory.event_ids]))
    sources = frozenset(event_ids)
    draft.add(
        MemoryErased(
            envelope=draft.envelope(),
            memory_id=memory.memory_id,
            event_ids=event_ids,
            letters=item.letters,
            kept=sorted(one.memory_id for one in others if not sources.isdisjoint(one.event_ids)),
            erased_at=draft.position.recorded_at,
            was_active=memory.status == ACTIVE,
        )
    )
    # The removal of the words leaves this record unchanged: the shard identifies the log by it while it is the last.
    draft.say(memory.memory_id, "erased", ERASED, memory.memory_id)


def is_erased(state: UserState, item: Extraction) -> bool:
    """Return whether an answer covers any words that were logged before the user was erased.

    The part from after the erasure is extracted again separately (`Resumption`).
    """
    return state.erased_at is not None and any(_is_erased(state, state.erased_at, piece) for piece in item.covered)


def _is_erased(state: UserState, erased_at: datetime, piece: CoveredPiece) -> bool:
    if piece.position is None:  # written by an older version
        return piece.recorded_at <= erased_at
    position = Position.of(piece.position)
    return is_cut_off(state, position.topic, position.offset)
