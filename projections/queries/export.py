"""The lines of an export: a user's memories and their history, one JSON object each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from projections.queries.filters import Filters
from projections.queries.history import described
from projections.queries.views import memory_view
from projections.state.evolve import apply_all, events_of
from projections.state.memory import ACTIVE, UserState
from schemas.identity import OURS
from schemas.instant import instant
from schemas.messages.events import MEMORY_EVENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from projections.partitions.shards import Shards
    from projections.state.memory import Memory
    from schemas.identity import Owner
    from schemas.messages.decision import Decision


NO_FILTERS: Final = Filters()
REMINDER: Final = "Reminder"
PERIODIC_WAKE: Final = "PeriodicWake"
"""The types of the lines about future wakes."""
AT_ONCE: Final = 20
"""How many decisions are read at once: each may hold 1,000 events."""


def export_of(shards: Shards, owner: Owner, now: datetime, filters: Filters = NO_FILTERS) -> Iterator[dict[str, Any]]:
    """Return the lines of a user's export, restricted to the memories that pass the filters.

    The export ends without its last line if the user or any memory is erased while it is read. Raises NotHeld, at once
    or while the export is read if the user's partition moves.
    """
    state, partition = shards.state(owner), 0 if owner.is_global else shards.partition(owner)

    def decisions(after: int) -> list[tuple[int, Decision]]:
        return list(shards.of(owner).ledger.decisions(owner, after, AT_ONCE))

    def lines() -> Iterator[dict[str, Any]]:
        last = state
        for line in export_lines(state, now, decisions, partition, filters):
            if (present := shards.state(owner)) is not last:
                if _is_erased(state, present):
                    return
                last = present
            yield line

    return lines()


def _is_erased(state: UserState, present: UserState) -> bool:
    """Return whether the user or a memory of an earlier state has been erased since."""
    gone = any(memory_id not in present.memories for memory_id in state.memories)
    return gone or present.erased_at != state.erased_at


def export_lines(
    state: UserState,
    now: datetime,
    decisions: Callable[[int], Sequence[tuple[int, Decision]]],
    partition: int,
    filters: Filters = NO_FILTERS,
) -> Iterator[dict[str, Any]]:
    """Yield the memories as of now, the future wakes, every event about the memories in order, then a count.

    `decisions` returns the user's next decisions after a version, each with its offset, and [] after the last. If the
    decisions of the state are erased meanwhile, the export stops without the count. With filters, it consists of the
    memories that pass and their events, without wakes.
    """
    chosen = [memory for memory in state.memories.values() if filters.passes(memory, state.owner, now)]
    memories = sorted(chosen, key=lambda m: place_of(m, now))
    ids = {memory.memory_id for memory in memories}
    for memory in memories:
        yield memory_line(state.owner, memory, now)
    wakes = list(wake_lines(state)) if filters == NO_FILTERS else []
    yield from wakes
    then, events = UserState(owner=state.owner), 0
    while then.version < state.version and (some := decisions(then.version)):
        for offset, decision in some:
            if then.version == state.version:
                break
            if decision.version > state.version:
                return
            for event in events_of(decision):
                if not isinstance(event, MEMORY_EVENTS):
                    continue
                before = then.memories.get(event.memory_id)
                then = apply_all(then, (event,), decision.envelope.recorded_at)
                after = then.memories[event.memory_id]
                if event.memory_id not in ids:
                    continue
                events += 1
                entry = described(event, decision, before=before, after=after, partition=partition, offset=offset)
                yield {"type": entry["type"], "memory_id": event.memory_id} | entry
            then = replace(then, version=decision.version)
    yield {
        "type": "Exported",
        "user_id": state.owner.user_id,
        "exported_at": instant(now),
        "memories": len(memories),
        "reminders": sum(line["type"] == REMINDER for line in wakes),
        "events": events,
    }


def place_of(memory: Memory, now: datetime) -> tuple[object, ...]:
    """Return the sort key of a memory in an export, so that an import in this order never merges two memories.

    Active memories come first, so that the current value of a slot precedes the values that it replaced. Among memories
    with the same text, those without an agent follow those with one, and those that state less precede those that state
    more.
    """
    says = (memory.stated is not None, memory.value is not None)
    return (memory.status_at(now) != ACTIVE, memory.agent_id is None, *says, memory.formed_at, memory.memory_id)


def memory_line(owner: Owner, memory: Memory, now: datetime) -> dict[str, Any]:
    """Return the line of a memory: its view, with the stored status and the other fields that an import needs."""
    return {
        "type": "Memory",
        "source_system": OURS,
        **memory_view(owner, memory, now),
        "status": memory.status,
        "said_at": instant(memory.said_at),
        "restored_at": instant(memory.restored_at),
        "forgotten_at": instant(memory.forgotten_at),
    }


def wake_lines(state: UserState) -> Iterator[dict[str, Any]]:
    """Yield the pending reminders, the next one first, and the periodic wake unless it comes from the settings.

    `command_id` is the id of the original command. An import into the system of origin repeats that command, which has
    no effect the second time.
    """
    whose = {"source_system": OURS, "user_id": state.owner.user_id}
    for each in sorted(state.wakes.reminders.values(), key=lambda one: (one.due_at, one.reminder_id)):
        yield {
            "type": REMINDER,
            **whose,
            "agent_id": each.envelope.agent_id,
            "command_id": each.envelope.causation_id,
            "reminder_id": each.reminder_id,
            "due_at": instant(each.due_at),
            "content": each.content.text,
            "channel": each.channel,
        }
    how = state.wakes.configured
    if how is not None and how.text is not None and how.settings_id is None:
        yield {
            "type": PERIODIC_WAKE,
            **whose,
            "agent_id": how.envelope.agent_id,
            "command_id": how.envelope.causation_id,
            "every_seconds": how.every_seconds,
            "text": how.text.text,
            "query": how.query and how.query.text,
            "memory_limit": how.memory_limit,
        }
