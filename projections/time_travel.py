"""Time travel: the state of a user at a past effective time, folded from the user's own copy of the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projections.evolve import apply_all, events_of
from projections.memory import UserState
from schemas.events import MemoryFormed, TickApplied

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from schemas.decision import Decision
    from schemas.identity import Owner


def state_at(owner: Owner, decisions: Iterable[Decision], as_of: datetime) -> UserState:
    """Fold what was effective at `as_of`, in the order of the ledger: a past time with what is known today."""
    state = UserState(owner=owner)
    for decision in decisions:
        for event in events_of(decision):
            if isinstance(event, TickApplied) or event.envelope.occurred_at > as_of:
                continue
            if isinstance(event, MemoryFormed) or event.memory_id in state.memories:
                state = apply_all(state, (event,), decision.envelope.recorded_at)
    return state
