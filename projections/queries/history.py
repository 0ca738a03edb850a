"""The history of a memory: every event about it and the changes that each made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from projections.queries.views import memory_view
from projections.state.evolve import apply_all, events_about
from projections.state.memory import UserState
from schemas.instant import instant
from schemas.messages.events import MemoryDecayed, MemoryExpired, MemoryFormed, MemoryImported
from schemas.topics import GLOBALS, LEDGER

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from projections.state.memory import Memory
    from schemas.identity import Owner
    from schemas.messages.decision import Decision
    from schemas.messages.events import MemoryEvent

LOCAL = ("strength",)
"""Displayed values that are computed and not changed by an event."""


def history(
    owner: Owner, memory_id: str, decisions: Iterable[tuple[int, Decision]], partition: int
) -> Generator[None, None, list[dict[str, Any]]]:
    """Return every event about a memory, the oldest first, in steps; `decisions` are (ledger offset, decision)."""
    state, found = UserState(owner=owner), []
    for offset, decision in decisions:
        yield
        for event in events_about(decision, memory_id):
            before = state.memories.get(memory_id)
            state = apply_all(state, (event,), decision.envelope.recorded_at)
            found.append(
                described(
                    event,
                    decision,
                    before=before,
                    after=state.memories[memory_id],
                    partition=partition,
                    offset=offset,
                )
            )
    return found


def described(
    event: MemoryEvent,
    decision: Decision,
    *,
    before: Memory | None,
    after: Memory,
    partition: int,
    offset: int,
) -> dict[str, Any]:
    """Return the JSON form of an event about a memory, with its changes, its reason and its ledger position."""
    owner = decision.envelope.owner
    topic = GLOBALS.name if owner.is_global else LEDGER.name
    was, became = _changed(owner, before, after)
    return {
        "type": type(event).__name__,
        "event_id": event.envelope.event_id,
        "occurred_at": instant(event.envelope.occurred_at),
        "recorded_at": instant(decision.envelope.recorded_at),
        "position": f"{topic}:{partition}:{offset}",
        "causation_id": event.envelope.causation_id,
        "by": event.envelope.by,
        "before": was,
        "after": became,
        "reason": _reason(event, decision),
        "tick": _tick(event),
    }


def _changed(owner: Owner, before: Memory | None, after: Memory) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return the fields that differ, before and after; None and all fields if the memory was formed."""
    now = memory_view(owner, after, after.last_accessed_at) | {
        "status": after.status,
        "stored_strength": after.strength,
    }
    if before is None:
        return None, {k: v for k, v in now.items() if k not in LOCAL}
    was = memory_view(owner, before, before.last_accessed_at)
    was |= {"status": before.status, "stored_strength": before.strength}
    names = [k for k in now if k not in LOCAL and now[k] != was[k]]
    return {k: was[k] for k in names}, {k: now[k] for k in names}


def _tick(event: MemoryEvent) -> str | None:
    """Return the id of the tick over all partitions; `tick_id` is that of the user's partition."""
    if not isinstance(event, (MemoryDecayed, MemoryExpired)):
        return None
    return event.envelope.correlation_id or event.tick_id


def _reason(event: MemoryEvent, decision: Decision) -> str:
    reason = getattr(event, "reason", None)
    named = next((o.reason for o in decision.outcomes if o.memory_id == event.memory_id), None)
    if isinstance(event, MemoryImported):
        return f"imported from {event.source_system}: {event.source_memory} of {event.source_user}"
    if isinstance(event, MemoryFormed):
        return named or "new"
    return reason or named or getattr(event, "policy", None) or type(event).__name__
