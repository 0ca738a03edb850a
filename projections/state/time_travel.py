"""Time travel: the state of a user at a past effective time, folded from the user's own copy of the ledger."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from projections.state.evolve import apply_all, events_about, events_of
from projections.state.memory import ACTIVE, SUPERSEDED, UserState
from schemas.messages.events import MEMORY_EVENTS, MemoryFormed, MemoryImported, MemorySuperseded
from schemas.vocabulary.attributes import OPPOSITES, plain_value
from schemas.vocabulary.facts import has_one_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from projections.state.memory import Memory
    from schemas.identity import Owner
    from schemas.messages.decision import Decision
    from schemas.messages.events import MemoryEvent


BEGINNINGS: Final = (MemoryFormed, MemoryImported)


def state_at(owner: Owner, decisions: Iterable[Decision], as_of: datetime) -> UserState:
    """Return the fold of the events effective at `as_of`, in the ledger's order: a past time as known today."""
    state, ever, ended = UserState(owner=owner), set[str](), set[str]()
    replaced_later: dict[str, str] = {}
    for recorded_at, event in _memory_events(decisions):
        begins = isinstance(event, BEGINNINGS)
        if begins:
            ever.add(event.memory_id)
        if isinstance(event, (*BEGINNINGS, MemorySuperseded)) and event.superseded_by:
            ended.add(event.memory_id)
        if event.envelope.occurred_at > as_of or not (begins or event.memory_id in state.memories):
            continue
        if isinstance(event, BEGINNINGS) and event.superseded_by and event.superseded_by not in state.memories:
            if isinstance(event, MemoryImported):  # its successor may come after it, or never
                replaced_later[event.memory_id] = event.superseded_by
            event = _present(event)  # noqa: PLW2901 - the same, as it was then
        state = apply_all(state, (event,), recorded_at)
    for memory_id, by in replaced_later.items():
        memory = state.memories[memory_id]
        if memory.status == ACTIVE and (by in state.memories or by not in ever):
            past = replace(memory, status=SUPERSEDED, superseded_by=by)
            state = replace(state, memories=state.memories.set(memory_id, past))
    return _one_of_opposites(_newest_in_slots(state), ended)


def _memory_events(decisions: Iterable[Decision]) -> Iterator[tuple[datetime | None, MemoryEvent]]:
    """Yield the events about memories, each with its log time, in the order of the ledger."""
    for decision in decisions:
        for event in events_of(decision):
            if isinstance(event, MEMORY_EVENTS):
                yield decision.envelope.recorded_at, event


def _present(event: MemoryFormed | MemoryImported) -> MemoryFormed | MemoryImported:
    """Return the event of a memory that was formed superseded, as if it were active."""
    if isinstance(event, MemoryImported):
        return replace(event, status=ACTIVE, superseded_by=None)
    return replace(event, superseded_by=None)


def _newest_in_slots(state: UserState) -> UserState:
    """Return the state with only the newest value active in each slot of a single value.

    The memories that superseded the others were stated after the instant, or late.
    """
    memories = state.memories
    for ids in state.by_attribute.values():
        held: dict[tuple[str, str | None], list[Memory]] = {}
        for memory in (memories[i] for i in ids):
            if memory.stated is None or not has_one_value(memory.subject, memory.stated):
                continue
            if memory.kind == "semantic" and memory.status == ACTIVE:
                held.setdefault((memory.scope, memory.agent_id), []).append(memory)
        for values in held.values():
            *older, newest = sorted(values, key=lambda m: (m.said_at, m.memory_id))
            for memory in older:
                past = replace(memory, status=SUPERSEDED, superseded_by=newest.memory_id)
                memories = memories.set(memory.memory_id, past)
    return replace(state, memories=memories)


def _one_of_opposites(state: UserState, ended: set[str]) -> UserState:
    """Return the state with only the latest of opposite statements about a thing active, liked or disliked.

    Only memories that the ledger ends at some time are ended: if the profile keeps all values, both lists accumulate.
    """
    memories = state.memories
    held: dict[tuple[str, str | None, str | None, str], list[Memory]] = {}
    for memory in (memories[i] for ids in state.by_attribute.values() for i in ids):
        if memory.attribute in OPPOSITES and memory.kind == "semantic" and memory.value and memory.status == ACTIVE:
            whose = (memory.scope, memory.agent_id, memory.subject)
            held.setdefault((*whose, plain_value(memory.value)), []).append(memory)
    for said in held.values():
        *older, newest = sorted(said, key=lambda m: (m.said_at, m.memory_id))
        for memory in older:
            if memory.memory_id in ended and memory.attribute != newest.attribute:
                past = replace(memory, status=SUPERSEDED, superseded_by=newest.memory_id)
                memories = memories.set(memory.memory_id, past)
    return replace(state, memories=memories)


def life_of(memory_id: str, decisions: Iterable[Decision]) -> list[tuple[datetime | None, MemoryEvent]]:
    """Return the events about one memory, each with its log time, in the order of the ledger."""
    return [
        (decision.envelope.recorded_at, event) for decision in decisions for event in events_about(decision, memory_id)
    ]


def memory_at(owner: Owner, life: Iterable[tuple[datetime | None, MemoryEvent]], as_of: datetime) -> Memory | None:
    """Return a memory as it was at an instant, or None before it was formed."""
    state, found = UserState(owner=owner), None
    for recorded_at, event in life:
        if event.envelope.occurred_at <= as_of and (found is not None or isinstance(event, BEGINNINGS)):
            state = apply_all(state, (event,), recorded_at)
            found = state.memories[event.memory_id]
    return found
