"""Time travel: the state of a user at a past effective time, folded from the user's own copy of the ledger."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from projections.evolve import apply_all, events_of
from projections.memory import ACTIVE, SUPERSEDED, UserState
from schemas.attributes import is_single
from schemas.events import MemoryFormed, TickApplied

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from projections.memory import Memory
    from schemas.decision import Decision
    from schemas.identity import Owner


def state_at(owner: Owner, decisions: Iterable[Decision], as_of: datetime) -> UserState:
    """Fold what was effective at `as_of`, in the order of the ledger: a past time with what is known today."""
    state = UserState(owner=owner)
    for decision in decisions:
        for event in events_of(decision):
            if isinstance(event, TickApplied) or event.envelope.occurred_at > as_of:
                continue
            if isinstance(event, MemoryFormed):
                late = event.superseded_by is not None and event.superseded_by not in state.memories
                said = replace(event, superseded_by=None) if late else event
                state = apply_all(state, (said,), decision.envelope.recorded_at)
            elif event.memory_id in state.memories:
                state = apply_all(state, (event,), decision.envelope.recorded_at)
    return _newest_in_slots(state)


def _newest_in_slots(state: UserState) -> UserState:
    """Let the newest value hold each single slot: what superseded the others was said after the instant, or late."""
    memories = state.memories
    for attribute, ids in state.by_attribute.items():
        held: dict[tuple[str, str | None], list[Memory]] = {}
        for memory in (memories[i] for i in ids):
            if is_single(attribute) and memory.kind == "semantic" and memory.status == ACTIVE:
                held.setdefault((memory.scope, memory.agent_id), []).append(memory)
        for values in held.values():
            *older, newest = sorted(values, key=lambda m: (m.said_at, m.memory_id))
            for memory in older:
                past = replace(memory, status=SUPERSEDED, superseded_by=newest.memory_id)
                memories = memories.set(memory.memory_id, past)
    return replace(state, memories=memories)
