"""Decisions about the erasure of a user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projections.state.memory import ACTIVE
from schemas.messages.erasure import UserErased

if TYPE_CHECKING:
    from projections.state.memory import UserState
    from schemas.messages.erasure import EraseUser
    from schemas.messages.inbox import Extraction
    from streams.decisions.draft import Draft


def decide_erasure(draft: Draft, item: EraseUser) -> None:
    """Make the user unknown: the fold keeps nothing of what was decided before."""
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


def is_erased(state: UserState, item: Extraction) -> bool:
    """Return whether an answer is of words that were logged before the user was erased, if only in part."""
    return state.erased_at is not None and any(piece.recorded_at <= state.erased_at for piece in item.covered)
