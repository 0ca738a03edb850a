"""Plans: values that become true on a later day, such as a job that starts on Monday, and their beginning."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from projections.state.evolve import BEGUN
from projections.state.memory import ACTIVE
from schemas.messages.decision import MAX_CHANGES
from schemas.messages.events import MemoryRevised
from schemas.vocabulary.attributes import STATES
from streams.decisions import slots, statements

if TYPE_CHECKING:
    from projections.state.memory import Memory, UserState
    from schemas.messages.inbox import Candidate
    from streams.decisions.draft import Draft

PLANNED, PRESENT = "schedule", "fact"
"""The categories of a plan, and of a plan that has begun."""
MOVED: Final = "its day was moved"
_ROOM: Final = 20
"""The most events that one plan leads to: each holder of its slot is superseded."""


def begins_at(occurred_on: str) -> datetime:
    """Return the instant at which a candidate's day begins, or its time of day if one was said."""
    return datetime.fromisoformat(occurred_on).replace(tzinfo=UTC)


def dated(candidate: Candidate, said_at: datetime) -> Candidate:
    """Return a candidate as a present value or as a plan, depending on whether its day was still to come when said.

    A plan does not fill a slot yet, and has the category of plans and a lasting memory type. Without a day or a value,
    it is not a plan.
    """
    named = candidate.becomes or (candidate.attribute if candidate.attribute in STATES else None)
    if named is None or (candidate.becomes and candidate.attribute not in (None, candidate.becomes)):
        return replace(candidate, becomes=None) if candidate.becomes else candidate
    if candidate.occurred_on is None or candidate.value is None or candidate.kind != "semantic":
        return without(candidate) if candidate.becomes else candidate
    if begins_at(candidate.occurred_on) <= said_at:
        return replace(candidate, attribute=named, becomes=None) if candidate.becomes else candidate
    return replace(candidate, attribute=None, becomes=named, category=PLANNED, memory_type="long_term")


def without(candidate: Candidate) -> Candidate:
    """Return a candidate without its plan: only the user or the subject of a statement can plan a value."""
    return replace(candidate, becomes=None, value=None if candidate.attribute is None else candidate.value)


def moved(state: UserState, memory_id: str) -> list[Memory]:
    """Return the earlier plans for the same value, which a plan moves to another day."""
    plan = state.memories[memory_id]
    if plan.becomes is None or not plan.confirmed:
        return []
    return [
        m
        for m in state.memories.values()
        if _is_open(m)
        and m.memory_id != memory_id
        and (m.becomes, m.subject, m.scope) == (plan.becomes, plan.subject, plan.scope)
        and slots.holds(m, plan.value)
        and m.known_to(plan.agent_id)
        and m.said_at <= plan.said_at
    ]


def begin(draft: Draft, as_of: datetime, *, keeps: bool) -> bool:
    """Draft the beginning of the plans whose day has come by an instant: their values hold from that day on.

    If the profile `keeps` its values, a plan for another value stays a plan. Return False if the draft is full.
    """
    due = [m for m in draft.state.memories.values() if _is_due(m, as_of)]
    for plan in sorted(due, key=lambda m: (m.occurred_at, m.memory_id)):
        if draft.is_full or len(draft.events) + _ROOM > MAX_CHANGES:
            return False
        _begin(draft, draft.state.memories[plan.memory_id], as_of, keeps=keeps)
    return True


def _is_open(memory: Memory) -> bool:
    return memory.status == ACTIVE and memory.becomes is not None and memory.attribute is None


def _is_due(memory: Memory, as_of: datetime) -> bool:
    return (
        _is_open(memory)
        and bool(memory.value)
        and memory.confirmed
        and memory.status_at(as_of) == ACTIVE
        and max(memory.formed_at, memory.occurred_at) <= as_of
    )


def _begin(draft: Draft, plan: Memory, as_of: datetime, *, keeps: bool) -> None:
    begins, attribute = plan.occurred_at, plan.becomes
    said = replace(statements.of_memory(plan, plan.content, begins), attribute=attribute)
    held = slots.occupants(draft.state, said)
    present = slots.present(held, as_of)
    known = [m for m in present if slots.holds(m, plan.value)]
    if known:
        slots.supersede(draft, [plan], known[-1].memory_id, begins, "it has begun, and is known")
        return
    if keeps and present:
        return
    newer = slots.newer_than(held, begins)
    draft.add(
        MemoryRevised(
            envelope=draft.envelope(begins),
            memory_id=plan.memory_id,
            reason=BEGUN,
            attribute=attribute,
            category=PRESENT,
            last_accessed_at=max(plan.last_accessed_at, begins),
            source_ids=[],
            pieces=[],
        )
    )
    draft.say(plan.memory_id, "revised", f"its day has come: it says the present {attribute}", plan.memory_id)
    if newer is not None:
        slots.supersede(draft, [draft.state.memories[plan.memory_id]], newer.memory_id, newer.said_at)
    else:
        slots.supersede(draft, present, plan.memory_id, begins)
